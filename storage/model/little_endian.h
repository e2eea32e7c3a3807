// Integers as little-endian bytes, on any machine, for stored formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace perfleet {

template <class Integer>
void append_little_endian(std::string& bytes, Integer value) {
    static_assert(std::is_unsigned_v<Integer>);
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
        bytes.push_back(static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * i))));
    }
}

// Reads sizeof(Integer) bytes at `at`, which the caller knows to be there.
template <class Integer>
[[nodiscard]] Integer load_little_endian(const char* at) {
    static_assert(std::is_unsigned_v<Integer>);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    }
    return static_cast<Integer>(value);
}

}  // namespace perfleet
