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

// An integer that may be negative: only then it is an int64_t.
[[nodiscard]] inline AnswerValue integer_value(std::int64_t value) {
    return value < 0 ? AnswerValue{value} : AnswerValue{static_cast<std::uint64_t>(value)};
}

// The measure of a profile's widths (session/measure.h).
struct AnswerMeasure {
    std::string event;
    std::string name;  // amount or samples
    std::string unit;
    std::int64_t total = 0;                    // of all rows
    std::optional<std::uint64_t> samples = 0;  // nothing: not known
    std::vector<std::string> others;           // further events that can be chosen

    friend bool operator==(const AnswerMeasure&, const AnswerMeasure&) = default;
};

struct Answer {
    std::vector<AnswerColumn> columns;
    std::vector<std::vector<AnswerValue>> rows;  // each as long as `columns`
    Ledger ledger;
    std::vector<std::pair<std::string, Ledger>> parts;  // add up to `ledger`: the sides of a comparison
    std::vector<std::string> warnings;
    std::optional<AnswerMeasure> measure = std::nullopt;  // of profiles
};

}  // namespace perfleet
