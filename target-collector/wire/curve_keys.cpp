#include "target-collector/wire/curve_keys.h"

#include <zmq.h>

#include <array>
#include <utility>

namespace perfleet {

Result<SecretKey> make_secret_key(std::string name) {
    std::array<char, kCurveKeyTextSize + 1> public_text{};
    std::array<char, kCurveKeyTextSize + 1> secret_text{};
    if (zmq_curve_keypair(public_text.data(), secret_text.data()) != 0) {
        return Error{ErrorCode::kUnsupported, std::string{"can't make a key: "} + zmq_strerror(zmq_errno())};
    }
    return SecretKey{std::move(name), public_text.data(), secret_text.data()};
}

}  // namespace perfleet
