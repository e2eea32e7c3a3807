// The keys of a target on boards with a device tree: 64 bytes in flash, as `perfleet keygen --raw` writes them,
// apart from the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet::sel4 {

// Call it once. `page`: where the flash is mapped; `tree`: the device tree, which has random bytes of this start. Stops
// with a message if one of them is missing.
[[nodiscard]] ZmtpMechanism& find_boot_keys(std::uint64_t page, std::span<const std::byte> tree);

}  // namespace perfleet::sel4
