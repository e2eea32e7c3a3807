#include "schemas/text/utf8.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

void append_hex(std::string& text, char32_t value, unsigned digit_count) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (unsigned digit = digit_count; digit-- > 0;) {
        text += kDigits[value >> (4 * digit) & 0xfU];
    }
}

}  // namespace

CodePoint first_code_point(std::string_view text_untrusted) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text_untrusted[i]); };
    if (text_untrusted.empty()) {
        return {};
    }
    const unsigned char first = byte(0);
    if (first < 0x80) {
        return {first, 1};
    }
    const std::size_t size = first >= 0xc2 && first <= 0xdf   ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
    if (size == 0 || text_untrusted.size() < size) {
        return {};
    }
    char32_t value = first & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) {
            return {};
        }
        value = value << 6U | (byte(i) & 0x3fU);
    }
    const bool is_overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
    const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
    return is_overlong || is_surrogate || value > 0x10ffff ? CodePoint{} : CodePoint{value, size};
}

bool is_control(char32_t code_point) {
    return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x61c ||
           code_point == 0x200e || code_point == 0x200f || (code_point >= 0x2028 && code_point <= 0x202e) ||
           (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string valid_utf8(std::string_view text_untrusted) {
    std::string text;
    text.reserve(text_untrusted.size());
    while (!text_untrusted.empty()) {
        const std::size_t size = first_code_point(text_untrusted).size_bytes;
        text += size == 0 ? kReplacement : text_untrusted.substr(0, size);
        text_untrusted.remove_prefix(size == 0 ? 1 : size);
    }
    return text;
}

std::string printable(std::string_view text_untrusted) {
    std::string text;
    text.reserve(text_untrusted.size());
    while (!text_untrusted.empty()) {
        const auto [value, size] = first_code_point(text_untrusted);
        if (size == 0) {
            text += "\\x";
            append_hex(text, static_cast<unsigned char>(text_untrusted.front()), 2);
        } else if (value == '\n') {
            text += "\\n";
        } else if (is_control(value)) {
            text += value < 0x80 ? "\\x" : "\\u";
            append_hex(text, value, value < 0x80 ? 2 : 4);
        } else {
            text += text_untrusted.substr(0, size);
        }
        text_untrusted.remove_prefix(size == 0 ? 1 : size);
    }
    return text;
}

std::string printable_lines(std::string_view text_untrusted) {
    std::string lines;
    for (std::size_t at = 0;; lines += '\n') {
        const std::size_t end = text_untrusted.find('\n', at);
        lines += printable(text_untrusted.substr(at, end - at));
        if (end == std::string_view::npos) {
            return lines;
        }
        at = end + 1;
    }
}

std::string printable_json(std::string_view json) {
    std::string text;
    text.reserve(json.size());
    while (!json.empty()) {
        const auto [value, size] = first_code_point(json);
        if (value >= 0x7f && is_control(value)) {
            text += "\\u";
            append_hex(text, value, 4);
        } else {
            text += json.substr(0, std::max<std::size_t>(size, 1));
        }
        json.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return text;
}

}  // namespace perfleet
