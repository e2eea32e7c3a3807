// Reads varints and packed values from untrusted bytes, and never outside them. After a fault everything reads as zero.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/result.h"

namespace perfleet {

class BitReader {
public:
    explicit BitReader(std::span<const std::byte> bytes_untrusted) : bytes_{bytes_untrusted} {}

    std::uint8_t byte() {
        if (offset_ >= bytes_.size()) {
            fail(ErrorCode::kTruncated, 0);
            return 0;
        }
        return static_cast<std::uint8_t>(bytes_[offset_++]);
    }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < kVarintBytesMax; ++i) {
            const std::uint8_t part = byte();
            if (i == kVarintBytesMax - 1 && part > 1) {
                break;
            }
            value |= static_cast<std::uint64_t>(part & 0x7f) << (7 * i);
            if ((part & 0x80) == 0) {
                return value;
            }
        }
        fail(ErrorCode::kInvalid, value);
        return 0;
    }

    // Values of `width` bits, low bit first. Fails (kInvalid) if a bit after the last value is set. `values` is
    // undefined after a fault.
    void packed(unsigned width, std::span<std::uint64_t> values);

    // As packed(), but skips the values.
    void pass_packed(unsigned width, std::size_t count) { static_cast<void>(take_packed(width, count)); }

    void fail(ErrorCode code, std::uint64_t value) {
        if (!failed_) {
            failed_ = true;
            fault_ = Fault{code, offset_, value};
        }
    }

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] Fault fault() const { return fault_; }
    [[nodiscard]] std::size_t left_bytes() const { return bytes_.size() - offset_; }

    // Returns and skips the next bytes; empty after a fault.
    std::span<const std::byte> take(std::size_t size_bytes) {
        if (failed_ || size_bytes > bytes_.size() - offset_) {
            fail(ErrorCode::kTruncated, size_bytes);
            return {};
        }
        const auto part = bytes_.subspan(offset_, size_bytes);
        offset_ += size_bytes;
        return part;
    }

private:
    // Returns and skips the bytes of packed values; empty after a fault.
    std::span<const std::byte> take_packed(unsigned width, std::size_t count);

    static constexpr unsigned kVarintBytesMax = 10;

    std::span<const std::byte> bytes_;
    std::size_t offset_ = 0;
    bool failed_ = false;
    Fault fault_{};
};

}  // namespace perfleet
