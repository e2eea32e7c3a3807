// Texts and lengths that figures share.
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

// `part` of `total`, as a length, half up; 0 of 0.
[[nodiscard]] Tenths scaled(std::uint64_t part, std::uint64_t total, Tenths length);

// The least of 1, 2, 5, 10, 20, 50, … that makes no more than eight steps.
[[nodiscard]] std::uint64_t step_for(std::uint64_t range);

// "12.345" of 12345 thousandths.
[[nodiscard]] std::string in_unit(std::uint64_t parts, unsigned decimals);

// "1.5 ms" of 1500000 ns, in the unit that `range` is best told in.
[[nodiscard]] std::string duration_text(std::uint64_t ns, std::uint64_t range);

// "4.5 %", half up.
[[nodiscard]] std::string share_text(std::uint64_t part, std::uint64_t total);

// Printable, and no more than so many columns of a terminal wide, with both of its ends: names differ there.
[[nodiscard]] std::string shortened_title(const std::string& text, std::size_t size_max);

// A figure of the one row of a summary; nothing where it has none.
[[nodiscard]] std::optional<AnswerValue> figure_of(const Answer& summary, const std::string& name);
// As a table has it, without decimals that are 0; "" where there is none.
[[nodiscard]] std::string figure_text(const Answer& summary, const std::string& name);

}  // namespace perfleet
