// Hashes an imported run's content into its session id, so that it is imported once.
#pragma once

#include <cstdint>
#include <string_view>

namespace perfleet {

// FNV-1a over length-prefixed fields, from its own start value: two of them make 128 bits.
class RunHash {
public:
    explicit RunHash(std::uint64_t start) : value_{0xcbf29ce484222325ULL ^ start} {}

    void integer(std::uint64_t value) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            value_ = (value_ ^ ((value >> shift) & 0xffU)) * 0x100000001b3ULL;
        }
        value_ ^= value_ >> 29;
    }
    void text(std::string_view text) {
        integer(text.size());
        for (const char c : text) {
            value_ = (value_ ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
        }
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_;
};

}  // namespace perfleet
