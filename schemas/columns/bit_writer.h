// Appends bytes, varints and packed values to memory whose size was checked before.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "schemas/columns/bit_width.h"

namespace perfleet {

constexpr std::uint64_t zigzag(std::uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }

constexpr std::uint64_t unzigzag(std::uint64_t code) { return (code >> 1) ^ (0 - (code & 1)); }

constexpr std::size_t varint_size_bytes(std::uint64_t value) { return (std::size_t{bit_width(value | 1)} + 6) / 7; }

constexpr std::size_t packed_size_bytes(std::size_t value_count, unsigned width) {
    return (value_count * width + 7) / 8;
}

constexpr std::uint64_t low_bits(unsigned width) { return width == 64 ? ~0ULL : (1ULL << width) - 1; }

class BitWriter {
public:
    explicit BitWriter(std::byte* at) : at_{at} {}

    void byte(std::uint8_t value) { *at_++ = static_cast<std::byte>(value); }

    void varint(std::uint64_t value) {
        while (value >= 0x80) {
            byte(static_cast<std::uint8_t>(value | 0x80));
            value >>= 7;
        }
        byte(static_cast<std::uint8_t>(value));
    }

    // Values of `width` bits, low bit first; the last byte is filled up with zeros. next(i) gives the i-th value, of
    // which no bit above `width` is set.
    template <class Next>
    void packed(std::size_t value_count, unsigned width, Next next) {
        std::uint64_t pending = 0;
        unsigned pending_bits = 0;
        for (std::size_t i = 0; i < value_count; ++i) {
            const std::uint64_t value = next(i);
            pending |= value << pending_bits;
            if (pending_bits + width >= 64) {
                store_u64(pending);
                const unsigned used = 64 - pending_bits;
                pending = used == 64 ? 0 : value >> used;
                pending_bits = pending_bits + width - 64;
            } else {
                pending_bits += width;
            }
        }
        for (; pending_bits > 0; pending_bits -= pending_bits < 8 ? pending_bits : 8) {
            byte(static_cast<std::uint8_t>(pending));
            pending >>= 8;
        }
    }

    [[nodiscard]] std::byte* at() const { return at_; }

private:
    void store_u64(std::uint64_t value) {
        if constexpr (std::endian::native == std::endian::little) {
            std::memcpy(at_, &value, 8);
            at_ += 8;
        } else {
            for (unsigned i = 0; i < 8; ++i) {
                byte(static_cast<std::uint8_t>(value >> (8 * i)));
            }
        }
    }

    std::byte* at_;
};

}  // namespace perfleet
