#include "query-engine/statistic/latency/latency_runs.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/latency/latency_source.h"
#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

// One figure of each run.
struct Spread {
    std::vector<long double> figures;

    [[nodiscard]] long double mean() const {
        long double sum = 0;
        for (const long double figure : figures) {
            sum += figure;
        }
        return sum / static_cast<long double>(figures.size());
    }
    [[nodiscard]] bool has_variance() const { return figures.size() > 1; }
    // Of the sample, n − 1; 0 for one run.
    [[nodiscard]] long double variance() const {
        const long double centre = mean();
        long double squares = 0;
        for (const long double figure : figures) {
            squares += (figure - centre) * (figure - centre);
        }
        return has_variance() ? squares / static_cast<long double>(figures.size() - 1) : 0;
    }
};

struct RunGroup {
    std::string unit;
    std::uint64_t failed = 0;
    std::uint64_t least = ~0ULL;
    Spread least_values;
    Spread medians;
    Spread means;
    std::vector<const SessionRecord*> runs;
};

using GroupKey = std::tuple<std::string, std::string, std::string, std::uint64_t>;  // target, event, unit, test size

AnswerValue real_if(bool is_there, long double value) {
    AnswerValue answer;
    if (is_there) {
        answer = static_cast<double>(value);
    }
    return answer;
}

void add_row(const GroupKey& key, const RunGroup& group, const LatencyOptions& options, Answer& answer) {
    const auto& [target, event, stored, test_size] = key;
    RowMaker row{answer, stored};
    const ValueUnit& unit = row.unit();
    const long double worth = unit.worth();
    const auto add = [&](const std::string& name, const std::string& column_unit, AnswerValue value) {
        row.add(name, column_unit, std::move(value));
    };
    add("target", "", target);
    add("event", "", event);
    add("unit", "", unit.name);
    add("test_size", "", test_size == 0 ? AnswerValue{} : AnswerValue{test_size});
    add("runs", "", std::uint64_t{group.runs.size()});
    add("min", unit.name, real_if(true, static_cast<long double>(group.least) * worth));
    for (const auto& [figure, spread] : {std::pair{"min", &group.least_values}, std::pair{"median", &group.medians},
                                         std::pair{"mean", &group.means}}) {
        const std::string name = figure;
        const bool has_variance = spread->has_variance();
        const long double mean = spread->mean();
        const long double variance = spread->variance();
        const long double deviation = std::sqrt(variance);
        add(name + "_mean", unit.name, real_if(true, mean * worth));
        add(name + "_variance", "", real_if(has_variance, variance * worth * worth));
        add(name + "_sd", unit.name, real_if(has_variance, deviation * worth));
        add(name + "_cv", "percent", real_if(has_variance && mean > 0, mean > 0 ? deviation / mean * 100 : 0));
        if (name != "min") {
            const std::uint64_t count = spread->figures.size();
            const long double half = has_variance ? interval_factor(MeanBasis::kStudent, count, options.confidence) *
                                                        deviation / std::sqrt(static_cast<long double>(count))
                                                  : 0;
            add(name + "_low", unit.name, real_if(has_variance, (mean - half) * worth));
            add(name + "_high", unit.name, real_if(has_variance, (mean + half) * worth));
        }
    }
    row.end();
}

}  // namespace

std::vector<std::string> differing_state(const std::vector<const SessionRecord*>& runs) {
    std::vector<std::string> sentences;
    for (const char* name : {"clock_hz", "frequency_khz", "governor", "turbo", "kernel", "compiler_flags", "machine"}) {
        std::set<std::string> texts;
        for (const SessionRecord* run : runs) {
            texts.insert(label_of(*run, name).value_or("not said"));
        }
        if (texts.size() > 1) {
            std::string list;
            for (const std::string& text : texts) {
                list += (list.empty() ? "" : ", ") + text;
            }
            sentences.push_back(fmt::format("runs differ in {}: {}", name, list.substr(0, 160)));
        }
    }
    return sentences;
}

Result<Answer> make_latency_runs(const Scan& scan, const LatencyOptions& options) {
    Answer answer;
    const auto sources = PERFLEET_TRY(
        options.pair.empty() ? find_value_sources(scan, options.skipped_tests)
                             : find_pair_sources(scan, options.pair, options.skipped_tests, answer.warnings));
    std::map<GroupKey, RunGroup> groups;
    AnswerLedger ledger{scan};
    std::set<std::size_t> with_values;
    for (const ValueSource& source : sources) {
        const SessionRecord& session = scan.sessions()[source.session_index].record;
        add_series(ledger, scan, source);
        RunGroup& group = groups[{session.target_name, source.event, source.unit, source.group ? source.test_size : 0}];
        with_values.insert(source.session_index);
        if (failed_run(scan, source.session_index)) {
            ++group.failed;
            continue;
        }
        const auto described = PERFLEET_TRY(describe(source.pieces(scan), {}, options.confidence));
        if (described.moments.count() == 0) {
            continue;
        }
        group.runs.push_back(&session);
        group.least = std::min(group.least, described.moments.min());
        group.least_values.figures.push_back(static_cast<long double>(described.moments.min()));
        group.medians.figures.push_back(described.median);
        group.means.figures.push_back(*described.moments.mean());
    }
    for (const auto& [key, group] : groups) {
        const std::string& event = std::get<1>(key);
        if (group.failed != 0) {
            answer.warnings.push_back(fmt::format(
                "{}: {} left out", event, counted_noun(group.failed, "run that failed is", "runs that failed are")));
        }
        if (group.runs.empty()) {
            continue;
        }
        add_row(key, group, options, answer);
        if (group.runs.size() == 1) {
            answer.warnings.push_back(event + ": one run says nothing of how figures vary from run to run");
        }
        for (const std::string& sentence : differing_state(group.runs)) {
            answer.warnings.push_back(event + ": " + sentence);
        }
    }
    if (answer.columns.empty()) {
        answer.columns = {{"target", ""}, {"event", ""}, {"unit", ""}, {"runs", ""}};
    }
    if (answer.rows.empty() && ledger.series_count() != 0 && options.skipped_tests != 0) {
        answer.warnings.push_back(fmt::format("--skip {}: no series has more values", options.skipped_tests));
    }
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        const auto failed = failed_run(scan, i);
        if (failed && !with_values.contains(i)) {
            answer.warnings.push_back(*failed);
        }
    }
    answer.ledger = ledger.sum(answer.warnings);
    warn_of_open_sessions(scan, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

}  // namespace perfleet
