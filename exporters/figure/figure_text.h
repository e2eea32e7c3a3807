// Texts and lengths that several figures use.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exporters/figure/figure.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

[[nodiscard]] std::uint64_t whole(const AnswerValue& value);

// Length × part ÷ total, rounded half up; 0 if the total is 0.
[[nodiscard]] Tenths scaled(std::uint64_t part, std::uint64_t total, Tenths length);

// The smallest of 1, 2, 5, 10, 20, 50, … that divides the range into at most eight steps.
[[nodiscard]] std::uint64_t step_for(std::uint64_t range);

// "12.345" for 12345 with three decimals.
[[nodiscard]] std::string in_unit(std::uint64_t parts, unsigned decimals);

// "1.5 ms" for 1500000 ns, in the unit that suits `range`.
[[nodiscard]] std::string duration_text(std::uint64_t ns, std::uint64_t range);

// "4.5 %", half up.
[[nodiscard]] std::string share_text(std::uint64_t part, std::uint64_t total);

// Printable text, shortened in the middle to `size_max` columns of a terminal, because names differ at their ends.
[[nodiscard]] std::string shortened_title(const std::string& text, std::size_t size_max);

// A figure of a summary's row; nothing if it has none.
[[nodiscard]] std::optional<AnswerValue> figure_of(const Answer& summary, const std::string& name);
// As in a table, without decimals that are 0; "" if there is none.
[[nodiscard]] std::string figure_text(const Answer& summary, const std::string& name);

}  // namespace perfleet
