// Parses texts: parts and numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace perfleet {

// The number if it is all of the text; `base` only for integers.
template <class Number, class... Base>
[[nodiscard]] std::optional<Number> number_of(std::string_view text, Base... base) {
    Number number{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number, base...);
    return status == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

// "4" or "4-7"; nothing if the last one is less than the first.
template <class Integer>
[[nodiscard]] std::optional<std::pair<Integer, Integer>> range_of(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = number_of<Integer>(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_of<Integer>(text.substr(dash + 1));
    return first && last && *first <= *last ? std::optional{std::pair{*first, *last}} : std::nullopt;
}

// Takes a number off the front, and the character `behind` after it unless the text ends there. False: nothing is
// taken.
template <class Integer>
[[nodiscard]] bool take_number(std::string_view& text, Integer& number, char behind, int base = 10) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (status != std::errc{} || (end != text.data() + text.size() && *end != behind)) {
        return false;
    }
    text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
    return true;
}

// Takes the text before the next separator off the front, and the separator; everything if there is none.
[[nodiscard]] inline std::string_view take_part(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

}  // namespace perfleet
