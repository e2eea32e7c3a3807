// Reads QEMU's device tree: properties of `/chosen`, among them fresh random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/result.h"

namespace perfleet::bare_metal {

inline constexpr std::uint64_t kDeviceTreeAddress = 0x4000'0000;
inline constexpr std::size_t kDeviceTreeSizeBytesMax = 1U << 20;

// The value of a property of `/chosen`, of at least `size_bytes_min` bytes, in a flattened device tree (Devicetree
// Specification 0.4, chapter 5). Faults: kInvalid (no device tree, or a broken one), kNotFound.
[[nodiscard]] Checked<std::span<const std::byte>> find_chosen(std::span<const std::byte> tree_untrusted,
                                                              std::string_view property, std::size_t size_bytes_min);

// `rng-seed`: at least 16 bytes.
[[nodiscard]] Checked<std::span<const std::byte>> find_seed(std::span<const std::byte> tree_untrusted);

}  // namespace perfleet::bare_metal
