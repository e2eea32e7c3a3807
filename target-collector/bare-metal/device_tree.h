// The one thing that is read from the device tree that QEMU lays down: fresh random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/result.h"

namespace perfleet::bare_metal {

inline constexpr std::uint64_t kDeviceTreeAddress = 0x4000'0000;
inline constexpr std::size_t kDeviceTreeSizeBytesMax = 1U << 20;

// The value of the property `/chosen/rng-seed` in a flattened device tree (Devicetree Specification 0.4, chapter 5): at
// least 16 bytes. Faults: kInvalid (no device tree, or a broken one), kNotFound.
[[nodiscard]] Checked<std::span<const std::byte>> find_seed(std::span<const std::byte> tree_untrusted);

}  // namespace perfleet::bare_metal
