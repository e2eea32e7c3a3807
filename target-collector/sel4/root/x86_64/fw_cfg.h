// QEMU's firmware configuration (QEMU, docs/specs/fw_cfg): named files, read through two I/O ports.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "target-collector/sel4/root/boot/objects.h"

namespace perfleet::sel4 {

// The beginning of that file; empty: it doesn't exist, or this isn't QEMU.
[[nodiscard]] std::string_view read_fw_cfg(Objects& objects, std::string_view name, std::span<char> into);

}  // namespace perfleet::sel4
