#include "target-collector/sel4/kernel/boot_keys.h"

#include <array>
#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/device_memory.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/target_keys.h"

namespace perfleet::sel4 {

ZmtpMechanism& find_boot_keys(std::uint64_t page, std::span<const std::byte> tree) {
    std::array<std::byte, bare_metal::kTargetKeysSizeBytes> keys{};
    for (std::size_t at = 0; at < keys.size(); at += sizeof(std::uint32_t)) {
        const std::uint32_t word = bare_metal::read_device(page + at);
        std::memcpy(&keys[at], &word, sizeof word);
    }
    const auto seed = bare_metal::find_seed(tree);
    const bare_metal::TargetKeys opened = bare_metal::open_keys(keys, seed.ok() ? *seed : std::span<const std::byte>{});
    if (opened.mechanism == nullptr) {
        perfleet_panic("keys=on", 0, opened.error.data());
    }
    return *opened.mechanism;
}

}  // namespace perfleet::sel4
