#include "query-engine/statistic/diff/diff_runs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "query-engine/statistic/latency/latency_source.h"

namespace perfleet {
namespace {

std::size_t target_count(const DiffSide& side) {
    std::set<TargetId> targets;
    for (const std::size_t index : side.sessions) {
        targets.insert(side.session(index).record.target);
    }
    return targets.size();
}

// The turn of `perfleet compare` in which a session was measured; empty: none.
std::string turn_of(const SessionRecord& record) {
    const auto comparison = label_of(record, "comparison");
    const auto turn = label_of(record, "turn");
    return comparison && turn ? *comparison + " " + *turn : "";
}

bool has_repetitions_alone(const DiffSide& side) {
    return std::ranges::all_of(side.sessions, [&](std::size_t index) {
        return label_of(side.session(index).record, kRepetitionLabel).has_value();
    });
}

// Whether each session is the only one of its turn on its side, and isn't on the other one.
bool has_turns(const DiffSide& side, const DiffSide& other) {
    std::set<std::string> turns;
    std::set<SessionId> others;
    for (const std::size_t index : other.sessions) {
        others.insert(other.session(index).record.session);
    }
    for (const std::size_t index : side.sessions) {
        const std::string turn = turn_of(side.session(index).record);
        if (turn.empty() || !turns.insert(turn).second || others.contains(side.session(index).record.session)) {
            return false;
        }
    }
    return true;
}

}  // namespace

DiffRuns diff_runs(const DiffSide& before, const DiffSide& after, bool within_run) {
    DiffRuns runs;
    const bool by_target = std::max(target_count(before), target_count(after)) > 1;
    const bool by_turn = !by_target && has_turns(before, after) && has_turns(after, before);
    std::map<std::tuple<TargetId, std::optional<SessionId>, std::string>, std::size_t> numbers;
    const auto number = [&](const DiffSide& side, std::map<std::size_t, std::size_t>& of_side) {
        std::set<std::size_t> distinct;
        for (const std::size_t index : side.sessions) {
            const SessionRecord& record = side.session(index).record;
            const std::tuple run{record.target, by_target || by_turn ? std::nullopt : std::optional{record.session},
                                 by_turn ? turn_of(record) : ""};
            of_side[index] = numbers.try_emplace(run, numbers.size()).first->second;
            distinct.insert(of_side[index]);
        }
        return distinct.size();
    };
    runs.before_count = number(before, runs.before);
    runs.after_count = number(after, runs.after);
    const bool has_pairs = numbers.size() < runs.before_count + runs.after_count;
    if (within_run) {
        return runs;
    }
    const std::string_view what = by_target ? "target" : "run";
    runs.are_repetitions = !by_target && has_repetitions_alone(before) && has_repetitions_alone(after);
    if (runs.are_repetitions && !has_pairs && std::min(runs.before_count, runs.after_count) < kRepetitionsMin) {
        runs.unknown = "fewer than " + std::to_string(kRepetitionsMin) + " repetitions " +
                       (runs.before_count < kRepetitionsMin ? "before" : "after");
    } else if (has_pairs && !by_target && !by_turn) {
        runs.unknown = "both sides are parts of one run";
    } else if (runs.before_count < 2 && runs.after_count < 2) {
        runs.unknown = "one " + std::string{what} + " a side doesn't predict the next one";
    } else if (runs.before_count < 2 || runs.after_count < 2) {
        runs.unknown = "one " + std::string{what} + (runs.before_count < 2 ? " before" : " after") +
                       " doesn't predict the next one";
    }
    runs.by_runs = runs.unknown.empty();
    return runs;
}

std::string unknown_warning(const DiffRuns& runs) {
    if (runs.are_repetitions && std::min(runs.before_count, runs.after_count) < kRepetitionsMin) {
        return "no verdict: " + runs.unknown + ". Repeat the benchmark, such as with go test -count 10";
    }
    return "no verdict: " + runs.unknown +
           ". Compare two runs or more a side, such as --before '{build=\"main\"}' --after '{build=\"mine\"}'; "
           "--within-run compares the rows within these";
}

}  // namespace perfleet
