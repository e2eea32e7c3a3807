#include "target-collector/bare-metal/target_keys.h"

namespace perfleet::bare_metal {

TargetKeys open_keys(std::span<const std::byte> /*keys*/, std::span<const std::byte> /*seed*/) {
    static constexpr std::string_view kNotBuilt =
        "no keys: this image was built without libsodium (-DPERFLEET_LIBSODIUM)";
    return {nullptr, kNotBuilt};
}

}  // namespace perfleet::bare_metal
