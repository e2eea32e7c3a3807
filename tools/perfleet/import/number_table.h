// A table of numbers as people and programs write it: one number a line, or several in columns, with or without names.
//
// Columns are separated by space, tab, comma, semicolon or bar, the same in all of a file. Commas between digits may
// also group them (1,234,567): an ambiguous file is rejected. '#' begins a comment. Lines before the numbers name the
// columns, optionally with units: "latency (us)", "latency [us]", "latency_us".
//
// Pure functions over untrusted text. Errors name the line and the remedy: kInvalid, kTooLarge (2^27 values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/statistic/answer/value_unit.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// A part of a file.
struct TextPart {
    std::string_view text;
    std::size_t first_line = 1;  // number of its first line in the file
    // Whether a line belongs to other output; null: no line does.
    bool (*is_left_out)(std::string_view line) = nullptr;
};

struct NumberColumn {
    std::string name;                   // empty: unnamed
    ValueUnit unit;                     // its name is empty if the file has none
    std::vector<std::uint64_t> values;  // in units of 10^-decimals; empty cells have none
};

struct NumberTable {
    std::vector<NumberColumn> columns;  // none: the text has no line of numbers
    std::vector<std::string> warnings;
};

[[nodiscard]] Result<NumberTable> read_number_table(const TextPart& part_untrusted);

// Sets the column's unit: the user's, else the one in its name, else cycles. Errors: kUsage if both are known units and
// differ.
[[nodiscard]] Result<Done> name_unit(const std::string& said, NumberColumn& column);

// Whether the line has only numbers and separators.
[[nodiscard]] bool is_row_of_numbers(std::string_view line_untrusted);

}  // namespace perfleet
