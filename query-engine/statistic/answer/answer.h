// An answer: a table with its units, the ledger of the rows it was computed from, and warnings. Every table command
// returns one; exporters/report prints it; query-engine/wire sends it.
//
// Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "query-engine/ledger/ledger.h"

namespace perfleet {

struct AnswerColumn {
    std::string name;
    std::string unit;          // "", "ns", "percent", "samples", …
    bool is_optional = false;  // text tables omit it if every row holds null or 0
};

// Null, text, integer, real.
using AnswerValue = std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double>;

struct Answer {
    std::vector<AnswerColumn> columns;
    std::vector<std::vector<AnswerValue>> rows;  // each as long as `columns`
    Ledger ledger;
    std::vector<std::pair<std::string, Ledger>> parts;  // add up to `ledger`: the sides of a comparison
    std::vector<std::string> warnings;
};

}  // namespace perfleet
