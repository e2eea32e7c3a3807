// Reads integers of either byte order from bytes of unknown length, with a bound on everything: past the end it reads
// zeros, and failed() is true.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace perfleet {

class ByteCursor {
public:
    // `is_foreign`: the bytes were written by a machine of the other byte order.
    ByteCursor(std::span<const std::byte> bytes, bool is_foreign) : rest_{bytes}, is_foreign_{is_foreign} {}

    template <class T>
    [[nodiscard]] T take() {
        static_assert(std::is_unsigned_v<T>);
        if (rest_.size() < sizeof(T)) {
            fail();
            return 0;
        }
        T value;
        std::memcpy(&value, rest_.data(), sizeof(T));
        rest_ = rest_.subspan(sizeof(T));
        return is_foreign_ ? swapped(value) : value;
    }
    // Integers as wide as their variables.
    template <class... Integers>
    void read(Integers&... values) {
        ((values = take<Integers>()), ...);
    }
    [[nodiscard]] std::uint16_t u16() { return take<std::uint16_t>(); }
    [[nodiscard]] std::uint32_t u32() { return take<std::uint32_t>(); }
    [[nodiscard]] std::uint64_t u64() { return take<std::uint64_t>(); }

    [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t size_bytes) {
        if (size_bytes > rest_.size()) {
            fail();
            return {};
        }
        const auto taken = rest_.first(static_cast<std::size_t>(size_bytes));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }
    void skip(std::uint64_t size_bytes) { (void)bytes(size_bytes); }

    // Up to a NUL, which is taken, too, or to the end.
    [[nodiscard]] std::string_view text() { return text(rest_.size()); }
    // Text in a field of this size, up to a NUL.
    [[nodiscard]] std::string_view field(std::uint64_t size_bytes) {
        const auto all = bytes(size_bytes);
        if (all.empty()) {
            return {};
        }
        const auto* const first = reinterpret_cast<const char*>(all.data());
        return {first, ::strnlen(first, all.size())};
    }
    // As features have it: u32 length of the field, then the field.
    [[nodiscard]] std::string_view sized_text() {
        const std::uint32_t size_bytes = u32();
        return field(size_bytes);
    }

    [[nodiscard]] std::span<const std::byte> rest() const { return rest_; }
    [[nodiscard]] bool failed() const { return has_failed_; }
    [[nodiscard]] bool is_foreign() const { return is_foreign_; }

private:
    std::string_view text(std::size_t size_bytes_max) {
        if (rest_.empty()) {
            return {};
        }
        const auto* const first = reinterpret_cast<const char*>(rest_.data());
        const std::size_t size = ::strnlen(first, size_bytes_max);
        rest_ = rest_.subspan(std::min(size + 1, rest_.size()));
        return {first, size};
    }
    void fail() {
        has_failed_ = true;
        rest_ = {};
    }
    template <class T>
    static T swapped(T value) {
        if constexpr (sizeof(T) == 8) {
            return __builtin_bswap64(value);
        } else if constexpr (sizeof(T) == 4) {
            return __builtin_bswap32(value);
        } else if constexpr (sizeof(T) == 2) {
            return __builtin_bswap16(value);
        } else {
            return value;
        }
    }

    std::span<const std::byte> rest_;
    bool is_foreign_;
    bool has_failed_ = false;
};

}  // namespace perfleet
