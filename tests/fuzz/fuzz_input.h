// Takes numbers and bytes off the front of a fuzzer's input; after its end there are zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace perfleet {

class FuzzInput {
public:
    FuzzInput(const std::uint8_t* data, std::size_t size_bytes) : rest_{data, size_bytes} {}

    std::uint8_t byte() {
        if (rest_.empty()) {
            return 0;
        }
        const std::uint8_t value = rest_.front();
        rest_ = rest_.subspan(1);
        return value;
    }

    std::uint64_t integer(unsigned size_bytes = 8) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < size_bytes; ++i) {
            value |= static_cast<std::uint64_t>(byte()) << (8 * i);
        }
        return value;
    }

    // The next bytes, fewer if the input ends.
    std::string_view text(std::size_t size_bytes) {
        const std::string_view part = rest_text().substr(0, size_bytes);
        rest_ = rest_.subspan(part.size());
        return part;
    }

    [[nodiscard]] bool empty() const { return rest_.empty(); }
    [[nodiscard]] std::span<const std::byte> rest() const { return std::as_bytes(rest_); }
    [[nodiscard]] std::string_view rest_text() const {
        return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
    }

private:
    std::span<const std::uint8_t> rest_;
};

}  // namespace perfleet
