#include "schemas/columns/patched_chunk.h"

#include <array>

namespace perfleet {

void read_patched_chunk(BitReader& reader, std::span<std::uint64_t> values, std::uint64_t& previous) {
    const unsigned first = reader.byte();
    const bool is_difference = (first & kPatchedDifferencesBit) != 0;
    const unsigned width = first & ~kPatchedDifferencesBit;
    const std::size_t exception_count = reader.byte();
    const std::uint64_t coded_center = reader.varint();
    const std::uint64_t center = is_difference ? unzigzag(coded_center) : coded_center;
    if (exception_count > 0 && (exception_count > values.size() || width >= 64)) {
        reader.fail(ErrorCode::kInvalid, exception_count);
    }
    reader.packed(width, values);
    if (reader.failed()) {
        return;
    }
    if (exception_count > 0) {
        const auto places = reader.take(exception_count);
        const unsigned high_width = reader.byte();
        if (high_width == 0 || high_width > 64 - width) {
            reader.fail(ErrorCode::kInvalid, high_width);
        }
        std::array<std::uint64_t, kPatchedChunkValues> high;
        reader.packed(high_width, std::span{high}.first(exception_count));
        for (std::size_t i = 0; i < exception_count && !reader.failed(); ++i) {
            const auto place = static_cast<std::size_t>(places[i]);
            if (place >= values.size() || (i > 0 && places[i] <= places[i - 1]) || high[i] == 0) {
                reader.fail(ErrorCode::kInvalid, place);
                return;
            }
            values[place] |= high[i] << width;
        }
        if (reader.failed()) {
            return;
        }
    }
    if (is_difference) {
        std::uint64_t value = previous;
        for (auto& out : values) {
            value += center + unzigzag(out);
            out = value;
        }
    } else {
        for (auto& out : values) {
            out = center + unzigzag(out);
        }
    }
    previous = values.back();
}

}  // namespace perfleet
