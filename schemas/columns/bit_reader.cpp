#include "schemas/columns/bit_reader.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "schemas/columns/bit_writer.h"

namespace perfleet {
namespace {

constexpr std::size_t kGroupValues = 64;  // in `width` words of 64 bits

std::uint64_t load_u64(const std::byte* at) {
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&value, at, 8);
    } else {
        for (unsigned i = 0; i < 8; ++i) {
            value |= static_cast<std::uint64_t>(at[i]) << (8 * i);
        }
    }
    return value;
}

// One value of a group; its words and shifts are compile-time constants.
template <unsigned kWidth, std::size_t kIndex>
std::uint64_t value_in_group(const std::byte* from) {
    constexpr std::size_t kBit = kIndex * kWidth;
    constexpr std::size_t kWord = kBit / 64;
    constexpr unsigned kShift = kBit % 64;
    if constexpr (kWidth == 64) {
        return load_u64(from + 8 * kIndex);
    } else if constexpr (kShift + kWidth <= 64) {
        return (load_u64(from + 8 * kWord) >> kShift) & low_bits(kWidth);
    } else {
        return (load_u64(from + 8 * kWord) >> kShift | load_u64(from + 8 * kWord + 8) << (64 - kShift)) &
               low_bits(kWidth);
    }
}

template <unsigned kWidth, std::size_t... kIndices>
void unpack_indices(const std::byte* from, std::uint64_t* into, std::index_sequence<kIndices...> /*all*/) {
    ((into[kIndices] = value_in_group<kWidth, kIndices>(from)), ...);
}

template <unsigned kWidth>
void unpack_group(const std::byte* from, std::uint64_t* into) {
    unpack_indices<kWidth>(from, into, std::make_index_sequence<kGroupValues>{});
}

using UnpackGroup = void (*)(const std::byte* from, std::uint64_t* into);

template <unsigned... kWidths>
constexpr std::array<UnpackGroup, sizeof...(kWidths)> unpackers_of(
    std::integer_sequence<unsigned, kWidths...> /*all*/) {
    return {unpack_group<kWidths + 1>...};
}

// Indexed by width − 1.
constexpr std::array<UnpackGroup, 64> kUnpackers = unpackers_of(std::make_integer_sequence<unsigned, 64>{});

std::uint64_t load_bits(std::span<const std::byte> bytes, std::size_t bit, unsigned width) {
    const std::size_t first = bit / 8;
    const unsigned shift = bit % 8;
    if (first + 8 <= bytes.size()) {
        std::uint64_t value = load_u64(bytes.data() + first) >> shift;
        if (shift + width > 64) {
            value |= static_cast<std::uint64_t>(bytes[first + 8]) << (64 - shift);
        }
        return value & low_bits(width);
    }
    std::uint64_t value = 0;
    for (std::size_t i = first; i < bytes.size(); ++i) {
        value |= static_cast<std::uint64_t>(bytes[i]) << (8 * (i - first));
    }
    return (value >> shift) & low_bits(width);
}

}  // namespace

std::span<const std::byte> BitReader::take_packed(unsigned width, std::size_t count) {
    if (width > 64) {
        fail(ErrorCode::kInvalid, width);
        return {};
    }
    const auto bytes = take(packed_size_bytes(count, width));
    const std::size_t last_bits = count * width % 8;
    if (!failed_ && last_bits != 0 && (static_cast<unsigned>(bytes.back()) >> last_bits) != 0) {
        fail(ErrorCode::kInvalid, static_cast<std::uint64_t>(bytes.back()));
    }
    return failed_ ? std::span<const std::byte>{} : bytes;
}

void BitReader::packed(unsigned width, std::span<std::uint64_t> values) {
    const auto bytes = take_packed(width, values.size());
    if (failed_) {
        return;
    }
    if (width == 0) {
        for (auto& value : values) {
            value = 0;
        }
        return;
    }
    const UnpackGroup unpack = kUnpackers[width - 1];
    std::size_t i = 0;
    for (; i + kGroupValues <= values.size(); i += kGroupValues) {
        unpack(bytes.data() + i / 8 * width, values.data() + i);
    }
    for (; i < values.size(); ++i) {
        values[i] = load_bits(bytes, i * width, width);
    }
}

}  // namespace perfleet
