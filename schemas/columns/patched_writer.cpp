#include "schemas/columns/bit_width.h"
#include "schemas/columns/patched_chunk.h"

#include <array>

namespace perfleet {
namespace {

constexpr std::size_t kProbes = 15;  // odd: there is a middle one

// The parameters of a chunk. Its values are zigzag differences from the centre.
struct Plan {
    std::uint64_t center = 0;
    unsigned width = 0;
    unsigned high_width = 0;  // of the upper bits of exceptions, above `width`
    std::size_t exception_count = 0;
    std::size_t size_bytes = 0;
};

// The median of a few values: robust against outliers. A bad centre only makes the chunk larger.
std::uint64_t center_of(std::span<const std::uint64_t> values) {
    std::array<std::uint64_t, kProbes> probes{};
    const std::size_t count = values.size() < kProbes ? values.size() : kProbes;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t value = values[i * values.size() / count];
        std::size_t at = i;
        for (; at > 0 && static_cast<std::int64_t>(probes[at - 1] - value) > 0; --at) {
            probes[at] = probes[at - 1];
        }
        probes[at] = value;
    }
    return probes[count / 2];
}

Plan plan_of(std::span<const std::uint64_t> values, bool is_difference) {
    Plan plan;
    plan.center = center_of(values);
    std::array<std::uint16_t, 65> counts{};  // number of values by width
    for (const std::uint64_t value : values) {
        ++counts[bit_width(zigzag(value - plan.center))];
    }
    unsigned widest = 64;
    while (widest > 0 && counts[widest] == 0) {
        --widest;
    }
    std::size_t least_bits = ~std::size_t{0};
    std::size_t exceptions = 0;
    for (unsigned width = widest;; --width) {
        const std::size_t bits =
            (values.size() * width + 7) / 8 * 8 +
            (exceptions == 0 ? 0 : 8 + exceptions * 8 + (exceptions * (widest - width) + 7) / 8 * 8);
        if (bits < least_bits) {
            least_bits = bits;
            plan.width = width;
            plan.exception_count = exceptions;
        }
        exceptions += counts[width];
        if (width == 0 || exceptions * 2 > values.size()) {
            break;
        }
    }
    plan.high_width = plan.exception_count == 0 ? 0 : widest - plan.width;
    plan.size_bytes = 2 + varint_size_bytes(is_difference ? zigzag(plan.center) : plan.center) + least_bits / 8;
    return plan;
}

// A chunk planned in both ways, and which of them is smaller.
struct PlannedChunk {
    PlannedChunk(std::span<const std::uint64_t> values, std::uint64_t previous, PatchedChunkBuffer buffer)
        : differences{buffer.first(values.size())} {
        for (std::size_t i = 0; i < values.size(); ++i) {
            differences[i] = values[i] - (i == 0 ? previous : values[i - 1]);
        }
        const auto of_values = plan_of(values, false);
        plan = plan_of(differences, true);
        is_difference = plan.size_bytes < of_values.size_bytes;
        plan = is_difference ? plan : of_values;
    }

    std::span<std::uint64_t> differences;
    Plan plan;
    bool is_difference = false;
};

}  // namespace

std::size_t patched_chunk_size_bytes(std::span<const std::uint64_t> values, std::uint64_t previous,
                                     PatchedChunkBuffer differences) {
    return PlannedChunk{values, previous, differences}.plan.size_bytes;
}

bool write_patched_chunk(std::span<const std::uint64_t> values, std::uint64_t& previous, std::size_t size_bytes_max,
                         PatchedChunkBuffer differences, BitWriter& writer) {
    const PlannedChunk chunk{values, previous, differences};
    const Plan& plan = chunk.plan;
    const bool is_difference = chunk.is_difference;
    const std::span<const std::uint64_t> coded = is_difference ? chunk.differences : values;
    if (plan.size_bytes > size_bytes_max) {
        return false;
    }
    previous = values.back();
    writer.byte(static_cast<std::uint8_t>(plan.width | (is_difference ? kPatchedDifferencesBit : 0)));
    writer.byte(static_cast<std::uint8_t>(plan.exception_count));
    writer.varint(is_difference ? zigzag(plan.center) : plan.center);
    const std::uint64_t mask = low_bits(plan.width);
    if (plan.width > 0) {
        writer.packed(coded.size(), plan.width, [&](std::size_t i) { return zigzag(coded[i] - plan.center) & mask; });
    }
    if (plan.exception_count == 0) {
        return true;
    }
    std::array<std::uint8_t, kPatchedChunkValues> places;
    std::size_t place_count = 0;
    for (std::size_t i = 0; i < coded.size(); ++i) {
        if (zigzag(coded[i] - plan.center) > mask) {
            places[place_count++] = static_cast<std::uint8_t>(i);
            writer.byte(static_cast<std::uint8_t>(i));
        }
    }
    writer.byte(static_cast<std::uint8_t>(plan.high_width));
    writer.packed(place_count, plan.high_width,
                  [&](std::size_t i) { return zigzag(coded[places[i]] - plan.center) >> plan.width; });
    return true;
}

}  // namespace perfleet
