#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"

namespace perfleet {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_continuation(std::string_view text, std::size_t i, unsigned char low = 0x80, unsigned char high = 0xbf) {
    if (i >= text.size()) {
        return false;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    return byte >= low && byte <= high;
}

// Size of the well-formed sequence at `i` (Unicode, table 3-7); 0 when there is none.
std::size_t sequence_size(std::string_view text, std::size_t i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
        return 1;
    }
    if (byte >= 0xc2 && byte <= 0xdf) {
        return is_continuation(text, i + 1) ? 2 : 0;
    }
    if (byte >= 0xe0 && byte <= 0xef) {
        const unsigned char low = byte == 0xe0 ? 0xa0 : 0x80;
        const unsigned char high = byte == 0xed ? 0x9f : 0xbf;
        return is_continuation(text, i + 1, low, high) && is_continuation(text, i + 2) ? 3 : 0;
    }
    if (byte >= 0xf0 && byte <= 0xf4) {
        const unsigned char low = byte == 0xf0 ? 0x90 : 0x80;
        const unsigned char high = byte == 0xf4 ? 0x8f : 0xbf;
        return is_continuation(text, i + 1, low, high) && is_continuation(text, i + 2) && is_continuation(text, i + 3)
                   ? 4
                   : 0;
    }
    return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text_untrusted) {
    std::string text;
    text.reserve(text_untrusted.size());
    for (std::size_t i = 0; i < text_untrusted.size();) {
        const std::size_t size = sequence_size(text_untrusted, i);
        text += size == 0 ? kReplacement : text_untrusted.substr(i, size);
        i += size == 0 ? 1 : size;
    }
    return text;
}

std::string printable(std::string_view text_untrusted) {
    std::string text = valid_utf8(text_untrusted);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) {
            text[i] = '?';
        } else if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            text.replace(i, 2, "?");  // U+0080 to U+009F
        }
    }
    return text;
}

}  // namespace perfleet
