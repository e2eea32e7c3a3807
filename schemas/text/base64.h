// base64 (RFC 4648), as bytes are written in JSON: with `+` and `/`, or with `-` and `_`; padding may be missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

inline constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[nodiscard]] inline std::string base64_of(std::string_view bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::string_view three = bytes.substr(i, 3);
        std::uint32_t word = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            word = word << 8U | (j < three.size() ? static_cast<std::uint8_t>(three[j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += j <= three.size() ? kBase64Digits[word >> (18 - 6 * j) & 63U] : '=';
        }
    }
    return text;
}

// Nothing: not base64.
[[nodiscard]] inline std::optional<std::string> bytes_of_base64(std::string_view text_untrusted) {
    while (text_untrusted.ends_with('=')) {
        text_untrusted.remove_suffix(1);
    }
    if (text_untrusted.size() % 4 == 1) {
        return std::nullopt;
    }
    std::string bytes;
    bytes.reserve(text_untrusted.size() / 4 * 3 + 2);
    std::uint32_t word = 0;
    unsigned bits = 0;
    for (const char c : text_untrusted) {
        const std::size_t digit = kBase64Digits.find(c == '-' ? '+' : c == '_' ? '/' : c);
        if (digit == std::string_view::npos) {
            return std::nullopt;
        }
        word = word << 6U | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>(word >> bits & 0xffU);
        }
    }
    return bytes;
}

}  // namespace perfleet
