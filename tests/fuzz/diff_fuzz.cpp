// The options of `perfleet diff`, one a line: its name, a space, its text. A parsed option is a valid question, and a
// condition parses again in its stored form.
#include <algorithm>
#include <string>

#include "query-engine/statistic/diff/diff_command.h"
#include "schemas/vocabulary/assert.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    constexpr UtcNs kNow{1'700'000'000'000'000'000};
    FuzzInput input{data, size_bytes};
    std::string_view rest = input.rest_text();
    OptionValues options;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t space = std::min(line.find(' '), line.size());
        const std::string_view name = line.substr(0, space);
        if (const OptionSpec* const option = find_option(diff_options().specs(), name); option != nullptr) {
            if (auto value = parse_option(*option, std::string{line.substr(std::min(space + 1, line.size()))});
                value.ok()) {
                options[option->name] = std::move(*value);
            }
        }
    }
    const Result<DiffQuestion> question = parse_diff(options, Selection{}, kNow);
    if (!question.ok()) {
        PERFLEET_ASSERT(question.error().code == ErrorCode::kUsage && !question.error().message.empty());
        return 0;
    }
    for (const Selection* side : {&question->before, &question->after}) {
        PERFLEET_ASSERT(!side->from || !side->to || *side->from < *side->to);
    }
    const DiffOptions& diff = question->options;
    PERFLEET_ASSERT(diff.confidence > 0 && diff.confidence < 1);
    PERFLEET_ASSERT(std::adjacent_find(diff.figures.begin(), diff.figures.end()) == diff.figures.end());
    PERFLEET_ASSERT(diff.conditions.size() <= kFailConditionsMax);
    for (const FailCondition& condition : diff.conditions) {
        const auto again = parse_fail_conditions(condition.text);
        PERFLEET_ASSERT(again.ok() && again->size() == 1);
        const FailCondition& same = again->front();
        PERFLEET_ASSERT(same.figure == condition.figure && same.name == condition.name);
        PERFLEET_ASSERT(same.is_above == condition.is_above && same.limit == condition.limit);
    }
    return 0;
}
