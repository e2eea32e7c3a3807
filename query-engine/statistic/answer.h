// An answer: a table with its units, the ledger of the rows that it was made from, and warnings. Every table command
// gives one; exporters/report prints it; query-engine/wire carries it.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace perfleet {

// What became of the rows of the series that an answer is about: produced = stored + expired + Σ lost + pending.
struct Ledger {
    std::uint64_t produced = 0;
    std::uint64_t stored = 0;
    std::uint64_t expired = 0;
    std::map<std::string, std::uint64_t> lost;  // by tally_name of the reason; only reasons with a count

    friend bool operator==(const Ledger&, const Ledger&) = default;
};

struct AnswerColumn {
    std::string name;
    std::string unit;  // "", "ns", "percent", "samples", …
};

// Null, text, integer, real.
using AnswerValue = std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double>;

struct Answer {
    std::vector<AnswerColumn> columns;
    std::vector<std::vector<AnswerValue>> rows;  // each as long as `columns`
    Ledger ledger;
    std::vector<std::string> warnings;
};

}  // namespace perfleet
