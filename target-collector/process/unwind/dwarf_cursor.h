// Reads DWARF numbers from untrusted bytes. After the end or a malformed number it has failed and returns 0.
//
// Borrows the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace perfleet {

class DwarfCursor {
public:
    explicit DwarfCursor(std::span<const std::byte> bytes) : rest_{bytes} {}

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool at_end() const { return failed_ || rest_.empty(); }
    [[nodiscard]] std::span<const std::byte> rest() const { return failed_ ? std::span<const std::byte>{} : rest_; }

    template <class Value>
    Value fixed() {
        Value value{};
        const auto bytes = take(sizeof(Value));
        if (!bytes.empty()) {
            std::memcpy(&value, bytes.data(), sizeof(Value));
        }
        return value;
    }

    std::uint64_t uleb() { return leb(false); }
    std::int64_t sleb() { return static_cast<std::int64_t>(leb(true)); }

    std::span<const std::byte> take(std::uint64_t size_bytes) {
        if (failed_ || size_bytes > rest_.size()) {
            failed_ = true;
            return {};
        }
        const auto taken = rest_.first(static_cast<std::size_t>(size_bytes));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

private:
    std::uint64_t leb(bool is_signed) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            const auto byte = fixed<std::uint8_t>();
            if (failed_) {
                return 0;
            }
            if (shift < 64) {
                value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            }
            if ((byte & 0x80U) == 0) {
                const bool is_negative = is_signed && (byte & 0x40U) != 0;
                return is_negative && shift + 7 < 64 ? value | (~std::uint64_t{0} << (shift + 7)) : value;
            }
        }
        failed_ = true;
        return 0;
    }

    std::span<const std::byte> rest_;
    bool failed_ = false;
};

}  // namespace perfleet
