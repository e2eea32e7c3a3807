// The verdicts of `compare`: those of `diff` on the stored runs of each side and of the reference.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/statistic/diff/fail_condition.h"
#include "schemas/vocabulary/error.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

struct ComparedRuns {
    QueryOptions query;  // the store, and options of `diff`
    OutputOptions output;
    bool fails_undecided = false;
    std::vector<FailCondition> conditions{};  // on times and on profiles
    std::string primary{};                    // the event that is tested alone
    long double confidence = 0;               // of all verdicts together
    std::string reference{};                  // name of a side
    std::vector<std::string> others{};        // compared with it
    std::string before{};                     // label `comparison` of the reference's runs
    std::string after{};                      // of the others' runs

    // Whether there are verdicts on times: always on one side, on several if options are about them.
    [[nodiscard]] bool has_times() const;
    // --before and --after of `diff`.
    [[nodiscard]] std::pair<std::string, std::string> selections(const std::string& other, const char* run) const;
};

[[nodiscard]] bool is_of_profile(const FailCondition& condition);
// Conditions of --fail-if, separated by commas: those about profiles, or the others.
[[nodiscard]] std::string conditions_of(std::span<const FailCondition> conditions, bool of_profile);

// A condition that holds counts more than one that is undecided.
[[nodiscard]] int worse_status(int a, int b);

// Prints a table for each side; not as text one answer with a column `side`. The exit status. Errors: those of `diff`.
[[nodiscard]] Result<int> print_verdicts(const ComparedRuns& runs, bool of_profile);

}  // namespace perfleet
