// Finds the least and the greatest value of an encoded column without writing the column out. Used to check untrusted
// rows; costs a third of decoding them.
//
// Freestanding; takes about 14 KiB of stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/codec.h"
#include "schemas/vocabulary/result.h"

namespace perfleet {

struct ValueBounds {
    std::uint64_t min = ~0ULL;  // the initial values if there are no values
    std::uint64_t max = 0;

    friend constexpr bool operator==(const ValueBounds&, const ValueBounds&) = default;
};

// Bounds of the `value_count` values that decode_integers() would give. The faults are the same.
[[nodiscard]] Checked<ValueBounds> bounds_of_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                                                      std::size_t value_count);

// If all values lie within `limits`, returns bounds within `limits`, else the exact bounds. Cheaper, because it skips
// values that can't be outside.
[[nodiscard]] Checked<ValueBounds> bounds_within(Codec codec, std::span<const std::byte> bytes_untrusted,
                                                 std::size_t value_count, ValueBounds limits);

}  // namespace perfleet
