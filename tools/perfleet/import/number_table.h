// A table of numbers as people and programs write it: one number a line, or several in columns, with or without names.
//
// Columns stand apart by space, tab, comma, semicolon or bar; a file keeps to one way. Commas between digits may also
// group them (1,234,567): where a file doesn't show which is meant, it is refused. '#' begins a comment. Lines before
// the numbers name the columns, with units if they like: "latency (us)", "latency [us]", "latency_us".
//
// Pure functions over untrusted text. Errors name the line and the way out: kInvalid, kTooLarge (2^27 values).
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
    // Lines that are somebody else's; nothing: none are.
    bool (*is_left_out)(std::string_view line) = nullptr;
};

struct NumberColumn {
    std::string name;                   // empty: the file doesn't say
    ValueUnit unit;                     // its name is empty where the file doesn't say
    std::vector<std::uint64_t> values;  // in parts of the unit; an empty cell has none
};

struct NumberTable {
    std::vector<NumberColumn> columns;  // none: no line of numbers
    std::vector<std::string> warnings;
};

[[nodiscard]] Result<NumberTable> read_number_table(const TextPart& part_untrusted);

// The column's unit: as the user says, else as its name does, else cycles. Errors: kUsage where both say a unit that is
// known, and not the same.
[[nodiscard]] Result<Done> name_unit(const std::string& said, NumberColumn& column);

// Whether the line holds nothing but numbers and what may stand between them.
[[nodiscard]] bool is_row_of_numbers(std::string_view line_untrusted);

}  // namespace perfleet
