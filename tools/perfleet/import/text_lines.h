// Lines and numbers of a text file from a serial console or a script.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query-engine/statistic/answer/usage.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// `line` counts from 1.
inline Error invalid(std::size_t line, const std::string& what) {
    return invalid("line " + std::to_string(line) + ": " + what);
}
inline Error too_large(std::size_t line, const std::string& what) {
    return Error{ErrorCode::kTooLarge, "line " + std::to_string(line) + ": " + what};
}

inline std::string_view without_space(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\f\v";
    const std::size_t first = text.find_first_not_of(kSpace);
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Removes what a console adds: escape sequences that set colours and move the cursor, and zero bytes.
inline std::string without_escapes(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(std::string_view{"\x1b\0", 2}), text.size());
        plain += text.substr(0, end);
        text.remove_prefix(end);
        if (text.starts_with("\x1b[")) {
            const std::size_t last = text.find_first_not_of("0123456789;?", 2);
            text.remove_prefix(last == std::string_view::npos ? text.size() : last + 1);
        } else {
            text.remove_prefix(std::min<std::size_t>(1, text.size()));
        }
    }
    return plain;
}

// Removes the byte order mark that some editors write before UTF-8.
inline std::string_view without_mark(std::string_view text) {
    return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

struct TextLine {
    std::size_t number = 0;  // in the file, from 1
    std::string_view text;
};

// Visits each line without its end and surrounding space, up to the first error of `visit`.
template <class Visit>
[[nodiscard]] Result<Done> each_line(std::string_view text, const Visit& visit, std::size_t first_line = 1) {
    for (std::size_t number = first_line; !text.empty(); ++number) {
        PERFLEET_TRY(visit(TextLine{number, without_space(take_part(text, '\n'))}));
    }
    return Done{};
}

inline std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view kSeparators = " \t,;|";
    std::vector<std::string_view> words;
    for (std::size_t at = line.find_first_not_of(kSeparators); at != std::string_view::npos;
         at = line.find_first_not_of(kSeparators, at)) {
        const std::size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

// All words as numbers; nothing if one isn't a number.
inline std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view line) {
    std::vector<std::uint64_t> numbers;
    for (const std::string_view word : words_of(line)) {
        const auto number = number_of<std::uint64_t>(word);
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
    }
    return numbers.empty() ? std::nullopt : std::optional{std::move(numbers)};
}

}  // namespace perfleet
