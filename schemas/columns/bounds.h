// The least and the greatest value of an encoded column, found without writing
// the column out: what whoever admits foreign rows has to know, at a third of
// the cost of decoding them.
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
    std::uint64_t min = ~0ULL;  // as they are here when there are no values
    std::uint64_t max = 0;

    friend constexpr bool operator==(const ValueBounds&, const ValueBounds&) = default;
};

// Of the `value_count` values that decode_integers() would give. Fails where,
// and as, that fails.
[[nodiscard]] Checked<ValueBounds> bounds_of_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                                                      std::size_t value_count);

// Whether all of them lie within `limits`: if so, bounds that lie there, too,
// else the exact ones. Cheaper, for values that can't be outside aren't looked
// at.
[[nodiscard]] Checked<ValueBounds> bounds_within(Codec codec, std::span<const std::byte> bytes_untrusted,
                                                 std::size_t value_count, ValueBounds limits);

}  // namespace perfleet
