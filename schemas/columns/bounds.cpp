#include "schemas/columns/bounds.h"

#include <array>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/visit_column.h"

namespace perfleet {
namespace {

void add(std::span<const std::uint64_t> values, ValueBounds& bounds) {
    std::uint64_t min = bounds.min;
    std::uint64_t max = bounds.max;
    for (const std::uint64_t value : values) {
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    bounds = {min, max};
}

// The bounds of the values that are used, each looked at once however often it is there.
Checked<ValueBounds> bounds_of_dictionary(std::span<const std::byte> bytes_untrusted, std::size_t value_count) {
    BitReader reader{bytes_untrusted};
    ValueBounds bounds;
    if (value_count != 0) {
        std::array<bool, kDictionaryValuesMax> used{};
        DictionaryRuns runs{reader, value_count};
        while (runs.next()) {
            for (const std::uint64_t index : runs.indices()) {
                used[index] = true;
            }
        }
        for (std::size_t i = 0; i < runs.values().size(); ++i) {
            if (used[i]) {
                add(runs.values().subspan(i, 1), bounds);
            }
        }
    }
    if (reader.failed()) {
        return reader.fault();
    }
    if (reader.left_bytes() != 0) {
        return Fault{ErrorCode::kInvalid, bytes_untrusted.size() - reader.left_bytes(), reader.left_bytes()};
    }
    return bounds;
}

}  // namespace

Checked<ValueBounds> bounds_of_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                                        std::size_t value_count) {
    if (codec == Codec::kDictionary) {
        return bounds_of_dictionary(bytes_untrusted, value_count);
    }
    ValueBounds bounds;
    const auto visited = visit_column(
        codec, bytes_untrusted, value_count, [&](std::span<const std::uint64_t> values) { add(values, bounds); },
        [&](std::uint64_t, std::uint64_t value) {
            add({&value, 1}, bounds);
        });
    if (!visited.ok()) {
        return visited.error();
    }
    return bounds;
}

}  // namespace perfleet
