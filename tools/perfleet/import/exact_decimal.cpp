#include "tools/perfleet/import/exact_decimal.h"

#include <algorithm>
#include <charconv>

namespace perfleet {
namespace {

constexpr int kExponentMax = 1'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends a digit; false where 64 bits don't hold it.
bool append(std::uint64_t& digits, unsigned digit) {
    return !__builtin_mul_overflow(digits, 10U, &digits) && !__builtin_add_overflow(digits, digit, &digits);
}

std::string without(std::string_view text, char separator) {
    std::string rest;
    std::copy_if(text.begin(), text.end(), std::back_inserter(rest), [&](char c) { return c != separator; });
    return rest;
}

ParsedDecimal parse_plain(std::string_view text) {
    ExactDecimal value;
    bool has_digit = false;
    bool has_point = false;
    int zeros = 0;  // read and not yet counted in: those at the end of the decimals never are
    std::size_t at = 0;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !has_point)); ++at) {
        if (text[at] == '.') {
            has_point = true;
            continue;
        }
        has_digit = true;
        if (has_point && text[at] == '0') {
            ++zeros;
            continue;
        }
        for (; zeros > 0; --zeros, ++value.decimals) {
            if (!append(value.digits, 0)) {
                return {{}, DecimalFault::kTooManyDigits};
            }
        }
        if (!append(value.digits, static_cast<unsigned>(text[at] - '0'))) {
            return {{}, DecimalFault::kTooManyDigits};
        }
        value.decimals += has_point ? 1 : 0;
    }
    if (!has_digit) {
        return {{}, DecimalFault::kNoNumber};
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        int exponent = 0;
        const std::size_t start = at + 1 + (text.substr(at + 1).starts_with('+') ? 1 : 0);
        const auto [end, status] = std::from_chars(text.data() + start, text.data() + text.size(), exponent);
        if (status == std::errc::result_out_of_range || exponent > kExponentMax || exponent < -kExponentMax) {
            return {{}, DecimalFault::kTooManyDigits};
        }
        if (status != std::errc{}) {
            return {{}, DecimalFault::kNoNumber};
        }
        at = static_cast<std::size_t>(end - text.data());
        value.decimals -= exponent;
        for (; value.decimals > 0 && value.digits != 0 && value.digits % 10 == 0; --value.decimals) {
            value.digits /= 10;
        }
    }
    if (at != text.size()) {
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
    const int missing = static_cast<int>(decimals) - value.decimals;
    if (value.digits == 0) {
        return 0;
    }
    if (missing < 0) {
        return std::nullopt;
    }
    for (int i = 0; i < missing; ++i) {
        if (!append(parts, 0)) {
            return std::nullopt;
        }
    }
    return parts;
}

}  // namespace perfleet
