#include "query-engine/statistic/diff/fail_condition.h"

#include <cmath>

#include "query-engine/statistic/number/value_comparison.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr double kLimitPercentMax = 1e9;

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Where the text has this character outside parentheses; its size when it has none.
std::size_t find_outside(std::string_view text, std::string_view characters) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' && depth > 0 ? -1 : 0;
        if (depth == 0 && characters.find(text[i]) != std::string_view::npos) {
            return i;
        }
    }
    return text.size();
}

Result<FailCondition> parse_one(std::string_view text) {
    const auto refuse = [&](const std::string& why) {
        return Error{ErrorCode::kUsage, "--fail-if: \"" + std::string{text.substr(0, 128)} + "\": " + why +
                                            "; expected something like 'p99 > 5%' or 'self(main) > 2%'"};
    };
    FailCondition condition;
    condition.text = text;
    const std::size_t relation = find_outside(text, "<>");
    if (relation == text.size()) {
        return refuse("there is no > or <");
    }
    condition.is_above = text[relation] == '>';
    std::string_view left = trimmed(text.substr(0, relation));
    if (const std::size_t open = left.find('('); open != std::string_view::npos) {
        if (left.back() != ')' || open + 2 >= left.size()) {
            return refuse("a name goes in parentheses after the figure");
        }
        condition.name = left.substr(open + 1, left.size() - open - 2);
        left = trimmed(left.substr(0, open));
    }
    const auto figure = parse_figure(left);
    if (!figure && left != "self" && left != "children") {
        return refuse("\"" + std::string{left.substr(0, 64)} +
                      "\" is no figure: mean, median, p99.9, max; of profiles self, children");
    }
    condition.figure = figure ? figure_name(*figure) : std::string{left};
    std::string_view right = trimmed(text.substr(relation + 1));
    if (right.empty() || right.back() != '%') {
        return refuse("the limit is a percentage");
    }
    right = trimmed(right.substr(0, right.size() - 1));
    if (right.starts_with('+')) {
        right.remove_prefix(1);
    }
    const auto percent = number_of<double>(right);
    if (!percent || !(std::abs(*percent) <= kLimitPercentMax)) {
        return refuse("the limit is no number");
    }
    condition.limit = static_cast<long double>(*percent) / 100;
    return condition;
}

}  // namespace

Result<std::vector<FailCondition>> parse_fail_conditions(std::string_view text) {
    std::vector<FailCondition> conditions;
    while (true) {
        const std::size_t end = find_outside(text, ",");
        auto condition = PERFLEET_TRY(parse_one(trimmed(text.substr(0, end))));
        if (conditions.size() == kFailConditionsMax) {
            return Error{ErrorCode::kUsage,
                         "--fail-if: more than " + std::to_string(kFailConditionsMax) + " conditions"};
        }
        conditions.push_back(std::move(condition));
        if (end == text.size()) {
            return conditions;
        }
        text.remove_prefix(end + 1);
    }
}

}  // namespace perfleet
