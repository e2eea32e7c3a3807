#include "tools/perfleet/import/exact_decimal.h"

#include <algorithm>
#include <charconv>

namespace perfleet {
namespace {

constexpr int kExponentMax = 1'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without(std::string_view text, char separator) {
    std::string rest;
    std::copy_if(text.begin(), text.end(), std::back_inserter(rest), [&](char c) { return c != separator; });
    return rest;
}

ParsedDecimal parse_plain(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789";
    const std::size_t point = std::min(text.find_first_not_of(kDigits), text.size());
    const bool has_point = text.substr(point).starts_with('.');
    const std::size_t end = has_point ? std::min(text.find_first_not_of(kDigits, point + 1), text.size()) : point;
    const std::string_view decimals = text.substr(point, end - point).substr(has_point ? 1 : 0);
    if (point == 0 && decimals.empty()) {
        return {{}, DecimalFault::kNoNumber};
    }
    const std::size_t decimals_size = decimals.find_last_not_of('0') + 1;  // npos + 1 is 0
    std::string digits{text.substr(0, point)};
    digits += decimals.substr(0, decimals_size);
    ExactDecimal value{0, static_cast<int>(decimals_size)};
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value.digits).ec ==
        std::errc::result_out_of_range) {
        return {{}, DecimalFault::kTooManyDigits};
    }
    std::string_view rest = text.substr(end);
    if (rest.starts_with('e') || rest.starts_with('E')) {
        rest.remove_prefix(rest.substr(1).starts_with('+') ? 2 : 1);
        int exponent = 0;
        const auto [behind, status] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
        if (status == std::errc::result_out_of_range || exponent > kExponentMax || exponent < -kExponentMax) {
            return {{}, DecimalFault::kTooManyDigits};
        }
        if (status != std::errc{}) {
            return {{}, DecimalFault::kNoNumber};
        }
        rest.remove_prefix(static_cast<std::size_t>(behind - rest.data()));
        value.decimals -= exponent;
        for (; value.decimals > 0 && value.digits != 0 && value.digits % 10 == 0; --value.decimals) {
            value.digits /= 10;
        }
    }
    if (!rest.empty()) {
        return {{}, DecimalFault::kNoNumber};
    }
    if (value.digits == 0) {
        value.decimals = 0;
    }
    return {value, DecimalFault::kNone};
}

}  // namespace

bool is_grouped(std::string_view text_untrusted, char separator) {
    const std::size_t point = std::min(text_untrusted.find('.'), text_untrusted.size());
    const std::string_view decimals = text_untrusted.substr(point);
    std::string_view whole = text_untrusted.substr(0, point);
    if (std::any_of(decimals.begin(), decimals.end(), [](char c) { return c != '.' && !is_digit(c); })) {
        return false;
    }
    bool is_first = true;
    while (true) {
        const std::size_t end = std::min(whole.find(separator), whole.size());
        const bool has_size = is_first ? end >= 1 && end <= 3 : end == 3;
        if (!has_size || !std::all_of(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end), is_digit)) {
            return false;
        }
        if (end == whole.size()) {
            return !is_first;
        }
        whole.remove_prefix(end + 1);
        is_first = false;
    }
}

ParsedDecimal parse_decimal(std::string_view text_untrusted) {
    std::string_view text = text_untrusted;
    if (text.starts_with('+')) {
        text.remove_prefix(1);
    } else if (text.starts_with('-')) {
        text.remove_prefix(1);
        if (text.starts_with('-') || text.starts_with('+')) {
            return {{}, DecimalFault::kNoNumber};
        }
        const ParsedDecimal positive = parse_decimal(text);
        if (positive.fault == DecimalFault::kNoNumber) {
            return positive;
        }
        const bool is_zero = positive.fault == DecimalFault::kNone && positive.value.digits == 0;
        return {{}, is_zero ? DecimalFault::kNone : DecimalFault::kNegative};
    }
    for (const char separator : {',', '\'', '_'}) {
        if (is_grouped(text, separator)) {
            return parse_plain(without(text, separator));
        }
    }
    return parse_plain(text);
}

std::string fault_in_words(DecimalFault fault, std::string_view text_untrusted) {
    const std::string text = "\"" + std::string{text_untrusted.substr(0, 48)} + "\" ";
    switch (fault) {
        case DecimalFault::kNone: return text + "is a number";
        case DecimalFault::kNoNumber:
            return text +
                   "is no number (decimals take a point; a unit goes into the column's name or --unit; # begins a "
                   "comment)";
        case DecimalFault::kNegative:
            return text +
                   "is negative, and latencies aren't: was an overhead subtracted that is greater? Import the "
                   "values as they were measured";
        case DecimalFault::kTooManyDigits: break;
    }
    return text + "has more digits than 64 bits hold; round it";
}

std::optional<std::uint64_t> in_parts(const ExactDecimal& value, unsigned decimals) {
    std::uint64_t parts = value.digits;
    int missing = parts == 0 ? 0 : static_cast<int>(decimals) - value.decimals;
    while (missing > 0 && !__builtin_mul_overflow(parts, 10U, &parts)) {
        --missing;
    }
    return missing == 0 ? std::optional{parts} : std::nullopt;
}

}  // namespace perfleet
