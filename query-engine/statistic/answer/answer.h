// An answer: a table with its units, the ledger of the rows that it was made from, and warnings. Every table command
// gives one; exporters/report prints it; query-engine/wire carries it.
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
    bool is_optional = false;  // a table for people leaves it out where every row holds null or 0
};

// Null, text, integer, real.
using AnswerValue = std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double>;

struct Answer {
    std::vector<AnswerColumn> columns;
    std::vector<std::vector<AnswerValue>> rows;  // each as long as `columns`
    Ledger ledger;
    std::vector<std::pair<std::string, Ledger>> parts;  // by name, that add up to `ledger`: the sides of a comparison
    std::vector<std::string> warnings;
};

}  // namespace perfleet
