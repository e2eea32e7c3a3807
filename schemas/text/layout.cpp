#include "schemas/text/layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cwchar>

#include "schemas/text/utf8.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {
namespace {

// Selects a locale whose wcwidth() knows Unicode, whatever the user's locale. C.UTF-8 is part of glibc.
class UnicodeLocale : NonCopyable {
public:
    UnicodeLocale() : before_{::uselocale(unicode())} {}
    ~UnicodeLocale() { ::uselocale(before_); }

private:
    static locale_t unicode() {
        static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
        return locale;
    }
    locale_t before_;
};

std::size_t width_of(char32_t code_point) {
    if (code_point < 0x7f) {
        return 1;
    }
    const int width = ::wcwidth(static_cast<wchar_t>(code_point));
    return width < 0 ? 1 : static_cast<std::size_t>(width);
}

// Size of the longest beginning of the text within `width_max` columns, including trailing combining characters.
std::size_t size_within(std::string_view text, std::size_t width_max) {
    const UnicodeLocale locale;
    std::size_t size = 0;
    for (std::size_t width = 0; size < text.size();) {
        const CodePoint next = first_code_point(text.substr(size));
        width += width_of(next.value);
        if (width > width_max) {
            break;
        }
        size += next.size_bytes == 0 ? 1 : next.size_bytes;
    }
    return size;
}

bool is_ascii(std::string_view text) {
    for (const char c : text) {
        if (static_cast<unsigned char>(c) >= 0x7f) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::size_t text_width(std::string_view text) {
    if (is_ascii(text)) {
        return text.size();
    }
    const UnicodeLocale locale;
    std::size_t width = 0;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        width += width_of(next.value);
        text.remove_prefix(next.size_bytes == 0 ? 1 : next.size_bytes);
    }
    return width;
}

std::string shortened(std::string_view text, std::size_t width_max) {
    if (width_max == 0) {
        return std::string{text};
    }
    const std::size_t kept = width_max > kShortenedWidthMin ? width_max - kShortenedWidthMin : 0;
    const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view words = text.substr(first);
    const std::size_t indentation = std::min(first, kept);
    const std::size_t rest = width_max - indentation;
    std::string result(indentation, ' ');
    const std::size_t words_width = text_width(words);
    if (words_width <= rest) {
        return result.append(words);
    }
    const std::size_t head = rest / 2;
    const std::size_t tail = rest - 1 - head;
    result.append(words.substr(0, size_within(words, head))).append("…");
    std::size_t tail_start = size_within(words, words_width - tail);
    if (text_width(words.substr(tail_start)) > tail) {
        tail_start += first_code_point(words.substr(tail_start)).size_bytes;  // two columns wide, and only one is free
    }
    return result.append(words.substr(tail_start));
}

std::string wrapped(std::string_view text, std::size_t width_max, std::string_view indentation) {
    std::string lines;
    std::size_t used = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\n') {
            lines += '\n';
            used = 0;
            ++at;
            continue;
        }
        // Spaces and the word after them.
        const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
        std::size_t end = std::min(text.find_first_of(" \n", word), text.size());
        const bool may_break = used != 0 && (word != at || text[at - 1] == ',');
        const std::size_t space = width_max - std::min(width_max, text_width(indentation));
        // A list longer than a line is broken after a comma.
        for (std::size_t comma = end; text_width(text.substr(word, end - word)) > space && comma > word;) {
            comma = text.substr(word, comma - word).find_last_of(',');
            if (comma == std::string_view::npos) {
                break;
            }
            comma += word;
            end = comma + 1;
        }
        const std::size_t width = text_width(text.substr(at, end - at));
        if (may_break && used + width > width_max) {
            lines.append("\n").append(indentation).append(text.substr(word, end - word));
            used = text_width(indentation) + text_width(text.substr(word, end - word));
        } else {
            lines.append(text.substr(at, end - at));
            used += width;
        }
        at = end;
    }
    return lines;
}

std::string counted_noun(std::uint64_t count, std::string_view noun, std::string_view several) {
    return std::to_string(count) + " " +
           (count == 1        ? std::string{noun}
            : several.empty() ? std::string{noun} + "s"
                              : std::string{several});
}

std::string with_grouped_digits(std::string_view text) {
    constexpr std::size_t kDigitsMin = 5;
    constexpr std::array<std::string_view, 8> kNamedByNumbers{"pid",     "tid",  "process", "thread",
                                                              "session", "port", "batch",   "uid"};
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto is_beside = [&](std::size_t at) {  // of a name, a number in hex or a fraction
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    // An address, a value of a label or an option, or a number that its word explains: not an amount.
    const auto is_name = [&](std::size_t at) {
        if (at == 0 || text[at - 1] != ' ') {
            return at != 0 && std::string_view{":=/@#,\"'"}.find(text[at - 1]) != std::string_view::npos;
        }
        const std::size_t end = text.find_last_not_of(' ', at - 1) + 1;
        const std::size_t begin = end == 0 ? 0 : text.find_last_of(" (", end - 1) + 1;
        const std::string_view word = text.substr(begin, end - begin);
        return word.starts_with('-') || std::ranges::find(kNamedByNumbers, word) != kNamedByNumbers.end();
    };
    std::string grouped;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_digit(text[end])) {
            ++end;
        }
        const bool is_whole = at == 0 || (!is_beside(at - 1) && text[at - 1] != '.');
        if (end - at < kDigitsMin || !is_whole || is_beside(end) || is_name(at)) {
            end = std::max(end, at + 1);
            grouped += text.substr(at, end - at);
        } else {
            for (std::size_t i = at; i < end; ++i) {
                grouped += i != at && (end - i) % 3 == 0 ? "," : "";
                grouped += text[i];
            }
        }
        at = end;
    }
    return grouped;
}

}  // namespace perfleet
