// Builds rows of an answer, value by value.
//
// Plain values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/answer/value_unit.h"

namespace perfleet {

// A real value, or null if it is absent.
[[nodiscard]] inline AnswerValue real(long double value) { return static_cast<double>(value); }
[[nodiscard]] inline AnswerValue real(const std::optional<long double>& value) {
    AnswerValue answer;
    if (value) {
        answer = static_cast<double>(*value);
    }
    return answer;
}
[[nodiscard]] inline AnswerValue percent(const std::optional<long double>& fraction) {
    return real(fraction ? std::optional{*fraction * 100} : std::nullopt);
}
[[nodiscard]] inline AnswerValue text_or_null(const std::optional<std::string>& text) {
    AnswerValue answer;
    if (text) {
        answer = *text;
    }
    return answer;
}
[[nodiscard]] inline AnswerValue whole_if(bool is_there, std::uint64_t value) {
    AnswerValue answer;
    if (is_there) {
        answer = value;
    }
    return answer;
}

// One row of an answer; the first row also defines the columns. Values are passed in parts of their unit, as they are
// stored, and the answer holds them in the unit itself. A column whose rows have different units has no unit; each row
// then names its own in the column "unit".
class RowMaker {
public:
    // Borrows `answer`. `stored_unit` is the unit of the values (value_unit.h).
    explicit RowMaker(Answer& answer, const std::string& stored_unit = "")
        : answer_{answer}, makes_columns_{answer.columns.empty()}, unit_{value_unit(stored_unit)} {}

    void add(const std::string& name, const std::string& unit, AnswerValue value, bool is_optional = false) {
        if (makes_columns_) {
            answer_.columns.push_back({name, unit, is_optional});
        } else if (answer_.columns[row_.size()].unit != unit) {
            answer_.columns[row_.size()].unit.clear();
        }
        row_.push_back(std::move(value));
    }
    // A value, as an integer if its unit has no decimals, else as a real.
    void value(const std::string& name, const std::optional<std::uint64_t>& parts, bool is_optional = false) {
        if (parts && unit_.decimals != 0) {
            figure(name, static_cast<long double>(*parts), is_optional);
        } else {
            add(name, unit_.name, whole_if(parts.has_value(), parts.value_or(0)), is_optional);
        }
    }
    void figure(const std::string& name, const std::optional<long double>& parts, bool is_optional = false) {
        add(name, unit_.name, real(parts ? std::optional{*parts * unit_.worth()} : std::nullopt), is_optional);
    }
    // A variance, in the square of the unit.
    void square(const std::string& name, const std::optional<long double>& parts) {
        add(name, "", real(parts ? std::optional{*parts * unit_.worth() * unit_.worth()} : std::nullopt));
    }
    [[nodiscard]] const ValueUnit& unit() const { return unit_; }
    void end() { answer_.rows.push_back(std::move(row_)); }

private:
    Answer& answer_;
    bool makes_columns_;
    ValueUnit unit_;
    std::vector<AnswerValue> row_;
};

}  // namespace perfleet
