#include "daemon/log/log_line.h"

#include <algorithm>

namespace perfleet {
namespace {

// The size of the well-formed UTF-8 sequence at the start; 0: there is none. Overlong forms, surrogates and what is
// past U+10FFFF are not well-formed (Unicode 15, table 3-7).
std::size_t sequence_size(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t size = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
    if (size == 0 || text.size() < size) {
        return 0;
    }
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            return 0;
        }
    }
    const unsigned char second = byte(1);
    const bool is_well_formed = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F) &&
                                !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
    return is_well_formed ? size : 0;
}

void append_hex(std::string& to, unsigned char byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    to += "\\x";
    to += kDigits[byte >> 4U];
    to += kDigits[byte & 0xFU];
}

// Of printable text: what is left to be escaped between quotation marks.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char letter : on_one_line(text)) {
        if (letter == '"' || letter == '\\') {
            out += '\\';
        }
        out += letter;
    }
    return out + "\"";
}

}  // namespace

std::string_view level_name(LogLevel level) {
    const auto* const found = std::find_if(kLogLevelNames.begin(), kLogLevelNames.end(),
                                           [&](const auto& entry) { return entry.second == level; });
    PERFLEET_ASSERT(found != kLogLevelNames.end());
    return found->first;
}

std::string on_one_line(std::string_view text_untrusted) {
    std::string out;
    out.reserve(text_untrusted.size());
    while (!text_untrusted.empty()) {
        const auto first = static_cast<unsigned char>(text_untrusted.front());
        const std::size_t size = sequence_size(text_untrusted);
        // U+0080 to U+009F are control characters, too.
        const bool is_control = first < ' ' || first == 0x7F ||
                                (first == 0xC2 && size == 2 && static_cast<unsigned char>(text_untrusted[1]) < 0xA0);
        if (first == '\n') {
            out += "\\n";
            text_untrusted.remove_prefix(1);
        } else if (size == 0 || is_control) {
            append_hex(out, first);
            text_untrusted.remove_prefix(1);
        } else {
            out += text_untrusted.substr(0, size);
            text_untrusted.remove_prefix(size);
        }
    }
    return out;
}

std::string text_line(std::string_view program, const LogEvent& event, std::uint64_t suppressed) {
    std::string line{program};
    line += ": " + on_one_line(event.text());
    for (const LogField& field : event.fields()) {
        line += " " + std::string{field.name} + "=" + quoted(field.value);
    }
    if (suppressed > 0) {
        line += " suppressed=" + std::to_string(suppressed);
    }
    return line;
}

std::string json_members(std::string_view program, const LogEvent& event, std::uint64_t suppressed) {
    std::string members = "\"level\":" + quoted(level_name(event.level())) + ",\"program\":" + quoted(program);
    if (!event.kind().empty()) {
        members += ",\"kind\":" + quoted(event.kind());
    }
    members += ",\"message\":" + quoted(event.text());
    for (const LogField& field : event.fields()) {
        members += "," + quoted(field.name) + ":" + quoted(field.value);
    }
    if (suppressed > 0) {
        members += ",\"suppressed\":" + std::to_string(suppressed);
    }
    return members;
}

}  // namespace perfleet
