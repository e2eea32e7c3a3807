#include "target-collector/bare-metal/target_keys.h"

#include <array>
#include <cstring>
#include <new>

#include "target-collector/curve/curve_client.h"
#include "target-collector/small/small_collector.h"

namespace perfleet::bare_metal {
namespace {

alignas(CurveClient) std::byte client_memory[sizeof(CurveClient)];
std::array<std::byte, SmallCollector::kRingSizeBytes + ZmtpMechanism::kSealedOverheadBytes> sealed;

}  // namespace

TargetKeys open_keys(std::span<const std::byte> keys, std::span<const std::byte> seed) {
    static constexpr std::string_view kNoSeed = "no random bytes in the device tree: without them keys protect nothing";
    static constexpr std::string_view kNoKeys = "no keys at their address: -device loader,file=NAME.raw,addr=…";
    curve::Key random{};
    if (seed.size() < random.size()) {
        return {nullptr, kNoSeed};
    }
    std::memcpy(random.data(), seed.data(), random.size());
    const auto read = CurveClient::read_keys(keys);
    if (!read) {
        return {nullptr, kNoKeys};
    }
    return {new (client_memory) CurveClient{*read, random, sealed}, {}};
}

}  // namespace perfleet::bare_metal
