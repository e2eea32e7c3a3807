// Numbers as people print them, exactly: whole ones up to 2^64 − 1, decimals, powers of ten, digits in groups.
//
//   75   +75   1,234,567   1'234'567   1_234_567   12.345   .5   1.5e3   2E-6
//
// Pure functions over untrusted text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

// digits × 10^-decimals; the decimals don't end in 0. decimals may be negative: 1.5e30 is 15 × 10^29.
struct ExactDecimal {
    std::uint64_t digits = 0;
    int decimals = 0;

    friend bool operator==(const ExactDecimal&, const ExactDecimal&) = default;
};

enum class DecimalFault : std::uint8_t { kNone, kNoNumber, kNegative, kTooManyDigits };

struct ParsedDecimal {
    ExactDecimal value;
    DecimalFault fault = DecimalFault::kNone;
};

[[nodiscard]] ParsedDecimal parse_decimal(std::string_view text_untrusted);

// Describes the fault and its remedy: "\"-4\" is negative; …".
[[nodiscard]] std::string fault_in_words(DecimalFault fault, std::string_view text_untrusted);

// The value in units of 10^-decimals; nothing if it isn't a whole number of them, or exceeds 64 bits.
[[nodiscard]] std::optional<std::uint64_t> in_parts(const ExactDecimal& value, unsigned decimals);

// "1,234" and "12,345,678.9": one to three digits, then groups of three.
[[nodiscard]] bool is_grouped(std::string_view text_untrusted, char separator);

}  // namespace perfleet
