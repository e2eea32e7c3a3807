// Integers in bytes, little-endian whatever the machine.
//
// Freestanding.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace perfleet {

template <class Integer>
void store_little_endian(std::byte* at, Integer value) {
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(at, &value, sizeof value);
    } else {
        auto rest = static_cast<std::make_unsigned_t<Integer>>(value);
        for (std::size_t i = 0; i < sizeof value; ++i) {
            at[i] = static_cast<std::byte>((rest >> (8 * i)) & 0xff);
        }
    }
}

template <class Integer>
[[nodiscard]] Integer load_little_endian(const std::byte* at) {
    if constexpr (std::endian::native == std::endian::little) {
        Integer value{};
        std::memcpy(&value, at, sizeof value);
        return value;
    } else {
        std::make_unsigned_t<Integer> value = 0;
        for (std::size_t i = 0; i < sizeof value; ++i) {
            value = static_cast<std::make_unsigned_t<Integer>>(
                value | static_cast<std::make_unsigned_t<Integer>>(
                            std::make_unsigned_t<Integer>{static_cast<std::uint8_t>(at[i])} << (8 * i)));
        }
        return static_cast<Integer>(value);
    }
}

}  // namespace perfleet
