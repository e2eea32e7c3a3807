// Bytes as hexadecimal digits.
//
// Hosts only. Plain functions; any thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace perfleet {

// Two lower-case digits a byte.
[[nodiscard]] inline std::string hex_of(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += kDigits[static_cast<unsigned char>(byte) >> 4U];
        text += kDigits[static_cast<unsigned char>(byte) & 15U];
    }
    return text;
}

// Nothing if another character occurs, or the number of digits is odd.
[[nodiscard]] inline std::optional<std::string> bytes_of_hex(std::string_view text_untrusted) {
    std::string bytes;
    for (; !text_untrusted.empty(); text_untrusted.remove_prefix(2)) {
        const char* const end = text_untrusted.data() + 2;
        std::uint8_t byte = 0;
        if (text_untrusted.size() < 2 || std::from_chars(end - 2, end, byte, 16).ptr != end) {
            return std::nullopt;
        }
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

}  // namespace perfleet
