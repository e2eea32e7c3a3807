// Profiles of two selections, function by function.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "query-engine/statistic/diff/diff_lines.h"
#include "query-engine/statistic/diff/diff_parts.h"
#include "query-engine/statistic/diff/diff_runs.h"
#include "query-engine/statistic/diff/diff_setting.h"
#include "query-engine/statistic/number/joint_level.h"
#include "query-engine/statistic/number/share_comparison.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_counts.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

// A side is cut into at least this many slices of time: enough to see how they differ, each long enough to depend
// little on its neighbours (Schmeiser, 1982: 10 to 30).
constexpr std::size_t kSlices = 20;
constexpr std::size_t kSlicesOfSessionMin = 4;

struct SliceKey {
    bool is_after = false;
    std::size_t session_index = 0;
    std::uint32_t slice = 0;

    friend auto operator<=>(const SliceKey&, const SliceKey&) = default;
};

using Counts = FrameCounts<SliceKey>;

// Slices of at least this many minutes start at a whole minute.
constexpr std::int64_t kWholeMinutesFrom = 10;

// The ticks that cut the session's rows of these series, within the selected time, into nearly equal parts.
std::vector<Ticks> cuts_of(const Scan& scan, std::size_t session_index, const std::vector<Series>& series,
                           std::size_t slice_count) {
    std::vector<Ticks> cuts;
    const auto covered = scan.ticks_of(session_index, series);
    if (covered && covered->first < covered->second) {
        const std::uint64_t first = covered->first.value;
        const std::uint64_t last = covered->second.value;
        const std::uint64_t width = (last - first) / slice_count + 1;
        const ClockMap& clock = scan.sessions()[session_index].clock;
        const auto utc_ns = [&](std::uint64_t ticks) { return clock.utc_of(Ticks{ticks}).value; };
        const bool is_long = utc_ns(first + width) - utc_ns(first) >= kWholeMinutesFrom * kNsPerMinute;
        for (std::size_t i = 1; i < slice_count; ++i) {
            const Ticks cut{first + i * width};
            const std::int64_t at_ns = utc_ns(cut.value);
            cuts.push_back(is_long ? clock.ticks_of(UtcNs{at_ns - at_ns % kNsPerMinute}) : cut);
        }
    }
    return cuts;
}

class ProfileDiff {
public:
    ProfileDiff(const Scan& before, const Scan& after, Symbolizer& symbolizer, const DiffOptions& options)
        : options_{options},
          symbolizer_{symbolizer},
          before_{&before, {}},
          after_{&after, {}},
          counts_{symbolizer, before.memory(), before.worker_count(), true, true, FrameNames::Wanted::kComparable},
          lines_{{{"symbol", ""}, {"image", ""}},
                 {{"before_count", ""},
                  {"after_count", ""},
                  {"before_samples", ""},
                  {"after_samples", ""},
                  {"before_design_effect", ""},
                  {"after_design_effect", ""}}} {}

    Result<Answer> make() {
        auto measure = PERFLEET_TRY(choose());
        if (measure.has_value()) {
            PERFLEET_TRY(count(*measure));
            make_strata();
            add_lines();
        }
        PERFLEET_TRY(lines_.finish(options_, true, answer_));
        if (measure.has_value()) {
            finish(*measure);
        }
        return std::move(answer_);
    }

private:
    // The measure of both sides, if there is one.
    Result<std::optional<Measure>> choose() {
        auto first = choose_measure(*before_.scan);
        auto second = choose_measure(*after_.scan);
        if (!first.ok() || !second.ok()) {
            return first.ok() ? std::move(second).error() : std::move(first).error();
        }
        if (!first->has_value() || !second->has_value()) {
            answer_.warnings.push_back(std::string{first->has_value() ? "after" : "before"} +
                                       (first->has_value() || second->has_value() ? " has" : " and after have") +
                                       " no samples: nothing is compared");
            return std::optional<Measure>{};
        }
        if ((*first)->event != (*second)->event) {
            answer_.warnings.push_back(fmt::format(
                "{} was recorded before and {} after: nothing is compared (--event names one that both have)",
                (*first)->event, (*second)->event));
            return std::optional<Measure>{};
        }
        if ((*first)->unit != (*second)->unit) {
            return Error{
                ErrorCode::kUsage,
                fmt::format("{} is in {} before and in {} after: --measure samples compares numbers of samples",
                            (*first)->event, (*first)->unit, (*second)->unit)};
        }
        return first;
    }

    // Both sides in one table, so that a function is the same row on both.
    Result<Done> count(const Measure& measure) {
        for (DiffSide* side : {&before_, &after_}) {
            std::size_t session_count = 0;
            for (const ScannedSession& session : side->scan->sessions()) {
                session_count += event_series(session, measure.event).empty() ? 0 : 1;
            }
            const std::size_t slice_count =
                std::max(kSlicesOfSessionMin, (kSlices + session_count - 1) / std::max<std::size_t>(session_count, 1));
            StackCountOptions wanted;
            wanted.cuts = [&](std::size_t index) {
                return cuts_of(*side->scan, index, event_series(side->scan->sessions()[index], measure.event),
                               slice_count);
            };
            RowTotal& total = side == &after_ ? after_total_ : before_total_;
            PERFLEET_TRY(visit_stack_counts(*side->scan, measure, wanted, [&](const EpochStackCounts& epoch) {
                total += epoch.total;
                side->sessions.insert(epoch.session_index);
                counts_.add(epoch, [&](const Runner& runner) {
                    return SliceKey{side == &after_, epoch.session_index, runner.slice};
                });
            }));
        }
        return Done{};
    }

    // Assigns each group's samples to a run or, within runs, to a slice of a session.
    void make_strata() {
        runs_ = diff_runs(before_, after_, options_.within_run);
        if (!runs_.unknown.empty()) {
            answer_.warnings.push_back(unknown_warning(runs_));
        }
        if (!runs_.by_runs && lacks_sample_numbers()) {
            const std::string why = "values don't say how many samples they stand for";
            answer_.warnings.push_back(why + ": differences have no intervals");
            runs_.unknown = runs_.unknown.empty() ? why : runs_.unknown;
        }
        std::map<std::pair<bool, std::size_t>, std::size_t> strata;  // by side and session
        for (const auto& [key, counts] : counts_.groups()) {
            HitCount* place = nullptr;
            if (runs_.by_runs) {
                const std::size_t run = (key.is_after ? runs_.after : runs_.before).at(key.session_index);
                run_hits_.resize(std::max(run_hits_.size(), run + 1));
                places_.emplace_back(run, 0);
                place = key.is_after ? &run_hits_[run].after : &run_hits_[run].before;
            } else {
                std::vector<Stratum>& side = key.is_after ? after_strata_ : before_strata_;
                const auto [entry, is_new] = strata.try_emplace({key.is_after, key.session_index}, side.size());
                if (is_new) {
                    side.emplace_back();
                }
                side[entry->second].push_back({});
                places_.emplace_back(entry->second, side[entry->second].size() - 1);
                place = &side[entry->second].back();
            }
            for (const auto& [row, entry] : counts) {
                place->count += weight_of(entry.self);
            }
        }
    }

    void add_lines() {
        // Hits by row and place, for self and with callees.
        std::vector<Hits> hits(counts_.row_count());
        std::size_t place = 0;
        for (const auto& [key, counts] : counts_.groups()) {
            for (const auto& [row, entry] : counts) {
                hits[row].push_back({place, key.is_after, entry});
            }
            ++place;
        }
        std::vector<std::uint32_t> order(hits.size());
        for (std::uint32_t row = 0; row < order.size(); ++row) {
            order[row] = row;
        }
        std::sort(order.begin(), order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return counts_.compare(a, b) < 0; });
        std::size_t left_out = 0;
        const std::uint64_t samples_min = lacks_sample_numbers() ? 1 : kComparedSamplesMin;
        std::optional<JointLevel> joint = joint_level();
        const auto add = [&](std::uint32_t row, const char* figure, Sum FrameCount::*sum) {
            lines_.add(line_of(row, figure, sides_of(hits[row], sum), hits[row], sum));
            if (joint) {
                std::vector<std::uint64_t> by_run(run_hits_.size());
                for (const Hit& hit : hits[row]) {
                    by_run[run_places_[places_[hit.place].first]] +=
                        effective_rows(weight_of(hit.entry.*sum), hit.is_after);
                }
                joint->add(by_run);
            }
        };
        for (const std::uint32_t row : order) {
            std::uint64_t self = 0;
            std::uint64_t children = 0;
            bool is_leaf = true;
            for (const Hit& hit : hits[row]) {
                self += hit.entry.self.rows;
                children += hit.entry.children.rows;
                is_leaf = is_leaf && hit.entry.self == hit.entry.children;
            }
            left_out += std::max(self, children) < samples_min ? 1 : 0;
            if (self >= samples_min) {
                add(row, "self", &FrameCount::self);
            }
            if (!is_leaf && children >= samples_min) {
                add(row, "children", &FrameCount::children);
            }
        }
        if (joint) {
            lines_.set_joint_level(joint->level(1 - options_.confidence));
        }
        if (left_out != 0) {
            answer_.warnings.push_back(fmt::format("left out: {} with fewer than {} samples on both sides together",
                                                   counted_noun(left_out, "function"), kComparedSamplesMin));
        }
    }

    // What a sum weighs in a share; amounts below 0 weigh nothing.
    [[nodiscard]] static std::uint64_t weight_of(const Sum& sum) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(sum.amount, 0));
    }

    // As many rows of equal weight.
    [[nodiscard]] std::uint64_t effective_rows(std::uint64_t weight, bool is_after) const {
        const RowTotal& total = is_after ? after_total_ : before_total_;
        return static_cast<std::uint64_t>(std::llround(static_cast<double>(weight) / total.amount_of_effective_row()));
    }

    // The joint level, of runs that are on one side only and have samples; fills run_places_.
    std::optional<JointLevel> joint_level() {
        if (!runs_.by_runs) {
            return std::nullopt;
        }
        std::vector<std::uint64_t> counts;
        std::size_t before_count = 0;
        run_places_.assign(run_hits_.size(), 0);
        for (const bool is_after : {false, true}) {
            for (std::size_t run = 0; run < run_hits_.size(); ++run) {
                const RunHits& hits = run_hits_[run];
                if ((hits.before.count != 0) == (hits.after.count != 0)) {
                    return std::nullopt;
                }
                if (is_after == (hits.after.count != 0)) {
                    run_places_[run] = counts.size();
                    counts.push_back(
                        std::max<std::uint64_t>(effective_rows(hits.before.count + hits.after.count, is_after), 1));
                }
            }
            before_count = is_after ? before_count : counts.size();
        }
        return JointLevel{std::move(counts), before_count};
    }

    struct Hit {
        std::size_t place = 0;
        bool is_after = false;
        FrameCount entry;
    };
    using Hits = std::vector<Hit>;

    [[nodiscard]] bool lacks_sample_numbers() const {
        return before_total_.lacks_sample_numbers || after_total_.lacks_sample_numbers;
    }

    [[nodiscard]] SharePair sides_of(const Hits& hits, Sum FrameCount::*sum) const {
        const double before_of_one = before_total_.amount_of_effective_row();
        const double after_of_one = after_total_.amount_of_effective_row();
        if (runs_.by_runs) {
            std::vector<RunHits> runs = run_hits_;
            for (const Hit& hit : hits) {
                RunHits& run = runs[places_[hit.place].first];
                (hit.is_after ? run.after : run.before).hits += weight_of(hit.entry.*sum);
            }
            return share_pair(runs, before_of_one, after_of_one);
        }
        std::vector<Stratum> before = before_strata_;
        std::vector<Stratum> after = after_strata_;
        for (const Hit& hit : hits) {
            const auto& [stratum, cluster] = places_[hit.place];
            (hit.is_after ? after : before)[stratum][cluster].hits += weight_of(hit.entry.*sum);
        }
        SharePair pair{clustered_share(before, before_of_one), clustered_share(after, after_of_one)};
        for (const auto& [share, total] : {std::pair{&pair.before, &before_total_}, {&pair.after, &after_total_}}) {
            take_values(*total, *share);
        }
        return pair;
    }

    // Imported values have no times: those that stand for samples are as many independent ones, others have no
    // interval.
    static void take_values(const RowTotal& total, ClusteredShare& share) {
        if (total.has_sample_numbers || total.lacks_sample_numbers) {
            share.effect = 1;
            share.degrees = total.lacks_sample_numbers ? 0 : static_cast<long double>(total.sum.rows) - 1;
        }
    }

    [[nodiscard]] DiffLine line_of(std::uint32_t row, const std::string& figure, const SharePair& sides,
                                   const Hits& hits, Sum FrameCount::*sum) const {
        std::array<std::uint64_t, 2> rows{};
        for (const Hit& hit : hits) {
            rows[hit.is_after ? 1 : 0] += (hit.entry.*sum).rows;
        }
        DiffLine line = share_line(figure, sides.before, sides.after);
        line.name = counts_.symbol(row);
        line.identity = {line.name, counts_.image(row)};
        line.counted = runs_.by_runs ? fmt::format("{} and {} runs", runs_.before_count, runs_.after_count)
                                     : fmt::format("{} and {} samples", before_total_.sum.rows, after_total_.sum.rows);
        line.runs = runs_.by_runs ? std::min(runs_.before_count, runs_.after_count) : 0;
        line.unknown = runs_.unknown;
        const auto samples = [&](std::uint64_t number) {
            return lacks_sample_numbers() ? AnswerValue{} : AnswerValue{number};
        };
        line.evidence = {samples(rows[0]),
                         samples(rows[1]),
                         samples(before_total_.sum.rows),
                         samples(after_total_.sum.rows),
                         static_cast<double>(sides.before.effect),
                         static_cast<double>(sides.after.effect)};
        return line;
    }

    void finish(const Measure& measure) {
        for (const auto& [side, name] : {std::pair{&before_, "before"}, std::pair{&after_, "after"}}) {
            Ledger ledger;
            for (const std::string& part : measure.parts) {
                ledger.add(event_ledger(*side->scan, part, answer_.warnings));
            }
            answer_.ledger.add(ledger);
            answer_.parts.emplace_back(name, std::move(ledger));
        }
        counts_.names().add_hint(FrameNames::HintAt::kNoAddresses, answer_.warnings);
        if (!measure.unknown.empty()) {
            answer_.warnings.push_back(measure.unknown);
        }
        for (const RowTotal* const total : {&before_total_, &after_total_}) {
            if (total->weights.magnitudes != static_cast<std::uint64_t>(total->sum.amount)) {
                answer_.warnings.push_back("amounts of " + measure.event + " below 0 aren't compared");
                break;
            }
        }
        RowTotal both = before_total_;
        both += after_total_;
        set_measure(measure, both, answer_);
        warn_of_other_events(*before_.scan, measure, answer_.warnings);
        warn_of_sampling(before_, after_, measure.event, answer_.warnings);
        warn_of_settings(before_, after_, {options_.chosen_labels, false}, answer_.warnings);
        for (std::string& warning : symbolizer_.warnings()) {
            answer_.warnings.push_back(std::move(warning));
        }
    }

    const DiffOptions& options_;
    Symbolizer& symbolizer_;
    DiffSide before_;
    DiffSide after_;
    Counts counts_;
    RowTotal before_total_;
    RowTotal after_total_;
    std::vector<Stratum> before_strata_;  // all samples, no hits yet
    std::vector<Stratum> after_strata_;
    std::vector<RunHits> run_hits_;                            // the same by runs; either these or the strata are used
    std::vector<std::size_t> run_places_;                      // index of each run in the joint level
    std::vector<std::pair<std::size_t, std::size_t>> places_;  // run, or stratum and cluster; as counts_.groups()
    DiffRuns runs_;
    DiffLines lines_;
    Answer answer_;
};

}  // namespace

Result<Answer> make_profile_diff(const Scan& before, const Scan& after, Symbolizer& symbolizer,
                                 const DiffOptions& options) {
    return ProfileDiff{before, after, symbolizer, options}.make();
}

}  // namespace perfleet
