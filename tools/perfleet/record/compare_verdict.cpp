#include "tools/perfleet/record/compare_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "exporters/report/report_parts.h"
#include "query-engine/statistic/command.h"
#include "tools/perfleet/query/diff_command.h"

namespace perfleet {
namespace {

// The sides share the level (Bonferroni).
long double confidence_of_each(const ComparedRuns& runs) {
    return 1 - (1 - runs.confidence) / static_cast<long double>(runs.others.size());
}

std::string percent_text(long double fraction) { return fmt::format("{:.9g}", static_cast<double>(fraction * 100)); }

QueryOptions query_of(const ComparedRuns& runs, bool of_profile) {
    QueryOptions query = runs.query;
    query.values["of"] = std::string{of_profile ? "profile" : "latency"};
    if (runs.others.size() > 1) {
        query.values["confidence"] = percent_text(confidence_of_each(runs));
    }
    query.values.erase("fail-if");
    if (const std::string text = conditions_of(runs.conditions, of_profile); !text.empty()) {
        query.values["fail-if"] = text;
    }
    if (of_profile) {
        query.values.erase("percentiles");
    } else {
        query.values.try_emplace("percentiles", "none");
        query.values["primary"] = runs.primary;
    }
    return query;
}

// Adds the verdict on a side to those on others. The reference, "before" in each, counts once in the ledger.
void add_verdict(const ComparedRuns& runs, const std::string& side, Answer verdict, Answer& all) {
    if (all.columns.empty()) {
        all.columns = std::move(verdict.columns);
        all.columns.insert(all.columns.begin(), AnswerColumn{"side", ""});
    }
    for (std::vector<AnswerValue>& row : verdict.rows) {
        row.insert(row.begin(), side);
        all.rows.push_back(std::move(row));
    }
    for (auto& [part, ledger] : verdict.parts) {
        const bool is_reference = part == "before";
        if (!is_reference || all.parts.empty()) {
            all.ledger.add(ledger);
            all.parts.emplace_back(is_reference ? runs.reference : side, std::move(ledger));
        }
    }
    all.warnings.insert(all.warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
}

}  // namespace

bool ComparedRuns::has_times() const {
    return others.size() == 1 ||
           (!others.empty() && (query.values.contains("percentiles") || !conditions_of(conditions, false).empty()));
}

std::pair<std::string, std::string> ComparedRuns::selections(const std::string& other, const char* run) const {
    const auto selector = [&](const std::string& comparison, const std::string& side) {
        return "{comparison=\"" + comparison + "\",side=\"" + side + "\",run=\"" + run + "\"}";
    };
    return {selector(before, reference), selector(after, other)};
}

bool is_of_profile(const FailCondition& condition) {
    return condition.figure == "self" || condition.figure == "children";
}

std::string conditions_of(std::span<const FailCondition> conditions, bool of_profile) {
    std::string text;
    for (const FailCondition& condition : conditions) {
        if (is_of_profile(condition) == of_profile) {
            text += (text.empty() ? "" : ",") + condition.text;
        }
    }
    return text;
}

int worse_status(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

Result<int> print_verdicts(const ComparedRuns& runs, bool of_profile) {
    const bool are_several = runs.others.size() > 1;
    const bool is_text = runs.output.is_text();
    QueryOptions query = query_of(runs, of_profile);
    int status = 0;
    Answer all;
    for (const std::string& side : runs.others) {
        std::tie(query.values["before"], query.values["after"]) =
            runs.selections(side, of_profile ? "profile" : "counted");
        auto answer = PERFLEET_TRY(ask_table(query, **find_query_command("diff")));
        status = worse_status(status, status_of_diff(answer, runs.fails_undecided));
        if (are_several) {
            for (std::string& warning : answer.warnings) {
                warning = side + ": " + warning;
            }
        }
        if (are_several && is_text) {
            PERFLEET_TRY(print_text(bold(runs.reference + " before, " + side + " after", runs.output.screen()) + "\n"));
        }
        if (!are_several || is_text) {
            PERFLEET_TRY(print_diff(answer, runs.output));
        } else {
            add_verdict(runs, side, std::move(answer), all);
        }
        if (are_several && is_text) {
            PERFLEET_TRY(print_text("\n"));
        }
    }
    if (are_several && is_text) {
        PERFLEET_TRY(print_text(
            fmt::format("low, high, p: with {} % confidence of each side, {} % of all {} together\n",
                        percent_text(confidence_of_each(runs)), percent_text(runs.confidence), runs.others.size())));
    } else if (are_several) {
        PERFLEET_TRY(print_diff(all, runs.output));
    }
    return status;
}

}  // namespace perfleet
