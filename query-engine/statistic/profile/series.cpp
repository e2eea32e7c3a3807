#include "query-engine/statistic/profile/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "query-engine/select/cgroup_path.h"
#include "query-engine/statistic/answer/answer_size.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/call_path.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "storage/select/matcher.h"

namespace perfleet {
namespace {

constexpr const char* kCommand = "comm";
constexpr double kStepSMin = 0.001;
constexpr double kStepSMax = 366.0 * 86'400;
constexpr std::size_t kKeysMax = 16;
constexpr std::size_t kMapNodeSizeBytes = 64;

struct Steps {
    std::int64_t start_ns = 0;
    std::int64_t width_ns = 0;
    std::uint32_t count = 1;

    // Without a sign, as a range from --from on may be longer than the greatest number of ns; the sum isn't.
    [[nodiscard]] UtcNs start_of(std::uint32_t step) const {
        return UtcNs{static_cast<std::int64_t>(static_cast<std::uint64_t>(start_ns) +
                                               step * static_cast<std::uint64_t>(width_ns))};
    }
};

Result<Steps> steps_of(const Scan& scan, const Measure& measure, const SeriesOptions& options) {
    const Selection& selection = scan.selection();
    Steps steps;
    const auto range = measure_time_range(scan, measure);
    if (!range) {
        return steps;
    }
    const std::int64_t first = selection.from ? selection.from->value : range->first.value;
    const std::int64_t last =
        selection.to ? std::min(selection.to->value - 1, range->second.value) : range->second.value;
    steps.start_ns = first;
    const std::uint64_t after_first_ns =
        last > first ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) : 0;
    constexpr std::uint64_t kWidthNsMax = std::numeric_limits<std::int64_t>::max();
    steps.width_ns = static_cast<std::int64_t>(std::min(after_first_ns, kWidthNsMax - 1) + 1);
    if (options.step_count > 0) {
        const auto width = static_cast<std::uint64_t>(steps.width_ns);
        steps.width_ns = static_cast<std::int64_t>((width + options.step_count - 1) / options.step_count);
        steps.count = static_cast<std::uint32_t>(after_first_ns / static_cast<std::uint64_t>(steps.width_ns) + 1);
    } else if (options.step_s > 0) {
        steps.width_ns = static_cast<std::int64_t>(std::llround(options.step_s * static_cast<double>(kNsPerSecond)));
        const std::uint64_t count = after_first_ns / static_cast<std::uint64_t>(steps.width_ns) + 1;
        if (count > SeriesOptions::kStepsMax) {
            return Error{ErrorCode::kUsage, "--step: " + std::to_string(count) + " steps are more than " +
                                                std::to_string(SeriesOptions::kStepsMax) +
                                                "; take a longer step, or a shorter range (--from, --until)"};
        }
        steps.count = static_cast<std::uint32_t>(count);
    }
    return steps;
}

std::string value_of(const std::string& key, const Runner& runner, const SessionRecord& session) {
    if (key == kCommand) {
        return runner.command;
    }
    if (key == "cgroup") {
        return runner.cgroup;
    }
    const CgroupOwner owner = owner_of_cgroup(runner.cgroup);
    return key == "container" ? std::string{short_container(owner.container)}
           : key == "pod"     ? owner.pod
           : key == "unit"    ? owner.unit
                              : matched_value(session, key);
}

bool is_of_cgroup(const std::string& key) {
    return key == "cgroup" || key == "container" || key == "pod" || key == "unit";
}

bool is_of_session(const std::string& key) { return key != kCommand && !is_of_cgroup(key); }

// Sums by group and step.
class Groups {
public:
    Groups(const SeriesOptions& options, QueryMemory& memory) : options_{options}, share_{memory} {}

    // Stops adding if the memory is exceeded.
    void add(const EpochStackCounts& epoch, const SessionRecord& session) {
        Sum* sum = nullptr;
        const StackCount* last = nullptr;
        for (const StackCount& count : epoch.counts) {
            if (last == nullptr || last->runner_index != count.runner_index) {
                sum = &sum_of(epoch.runners[count.runner_index], session);
            }
            *sum += count.sum;
            total_ += count.sum;
            last = &count;
        }
        share_.set(size_bytes_);
    }

    [[nodiscard]] const Sum& total() const { return total_; }

    void write(const Steps& steps, Answer& answer) {
        struct Ranked {
            Sum total;
            const std::vector<std::string>* values;
            const std::map<std::uint32_t, Sum>* sums;
        };
        std::vector<Ranked> ranked;
        for (const auto& [values, sums] : groups_) {
            Ranked one{{}, &values, &sums};
            for (const auto& [step, sum] : sums) {
                one.total += sum;
            }
            ranked.push_back(one);
        }
        std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
            return std::tuple{a.total.magnitude(), a.total.rows} > std::tuple{b.total.magnitude(), b.total.rows};
        });
        const std::size_t limit = options_.group_count_max.value_or(ranked.size());
        if (limit < ranked.size()) {
            answer.warnings.push_back(std::to_string(ranked.size() - limit) + " of " + std::to_string(ranked.size()) +
                                      " groups are left out (--limit)");
            ranked.resize(limit);
        }
        for (const Ranked& group : ranked) {
            for (const auto& [step, sum] : *group.sums) {
                if (share_.is_exceeded()) {
                    return;
                }
                std::vector<AnswerValue> row{format_time(steps.start_of(step))};
                if (options_.step_count > 0) {
                    row.emplace_back(format_time(steps.start_of(step + 1)));
                }
                row.insert(row.end(), group.values->begin(), group.values->end());
                row.emplace_back(integer_value(sum.amount));
                row.emplace_back(sum.rows);
                share_.add(answer_row_size_bytes(row.size()) + answer_text_size_bytes(row));
                answer.rows.push_back(std::move(row));
            }
        }
    }

private:
    [[nodiscard]] Sum& sum_of(const Runner& runner, const SessionRecord& session) {
        std::vector<std::string> values;
        for (const std::string& key : options_.by) {
            values.push_back(value_of(key, runner, session));
        }
        const auto [group, is_new_group] = groups_.try_emplace(std::move(values));
        const auto [step, is_new_step] = group->second.try_emplace(runner.slice);
        size_bytes_ += is_new_group ? kMapNodeSizeBytes * (1 + options_.by.size()) : 0;
        size_bytes_ += is_new_step ? kMapNodeSizeBytes : 0;
        return step->second;
    }

    const SeriesOptions& options_;
    std::map<std::vector<std::string>, std::map<std::uint32_t, Sum>> groups_;
    Sum total_;
    std::size_t size_bytes_ = 0;
    MemoryShare share_;
};

}  // namespace

const OptionTable<SeriesOptions>& series_options() {
    static const OptionTable<SeriesOptions> kTable =
        OptionTable<SeriesOptions>{}
            .value({.name = "step",
                    .type = OptionType::kReal,
                    .value_name = "S",
                    .summary = "seconds of a step; default: the whole range is one",
                    .min = kStepSMin,
                    .max = kStepSMax},
                   &SeriesOptions::step_s)
            .count("steps", "N", "cut the range into so many equal steps, at most", &SeriesOptions::step_count, 1,
                   SeriesOptions::kStepsMax)
            .list("by", "KEYS", "one series for each of: comm, cgroup, container, pod, unit, target, arch, or a label",
                  [](const std::string& text, SeriesOptions& options) -> Result<Done> {
                      options.by = split_list(text);
                      return options.by.size() <= kKeysMax
                                 ? Result<Done>{Done{}}
                                 : option_error("by", text, "at most " + std::to_string(kKeysMax) + " keys");
                  })
            .count("limit", "N", "only the N largest series", &SeriesOptions::group_count_max, 1)
            .text({.name = "below",
                   .value_name = "PATH",
                   .summary = "only samples below this call path, the thread's name first: 'nginx;main;serve'"},
                  [](const std::string& text, SeriesOptions& options) -> Result<Done> {
                      options.below = parse_call_path(text);
                      return Done{};
                  })
            .finish([](const OptionValues& values, SeriesOptions&) -> Result<Done> {
                return values.contains("step") && values.contains("steps")
                           ? Result<Done>{usage("--steps: not together with --step: one follows from the other")}
                           : Done{};
            });
    return kTable;
}

Result<Answer> make_series(const Scan& scan, Symbolizer& symbolizer, const SeriesOptions& options) {
    const auto measure = PERFLEET_TRY(choose_measure(scan));
    const std::string unit = measure ? measure->unit : kRowUnit;
    Answer answer;
    answer.columns = {{"time", ""}};
    if (options.step_count > 0) {
        answer.columns.push_back({"until", ""});
    }
    for (const std::string& key : options.by) {
        answer.columns.push_back({key, ""});
    }
    answer.columns.push_back({"amount", unit});
    answer.columns.push_back({"samples", kRowUnit});
    if (!measure) {
        answer.warnings.push_back(no_samples_text(scan));
        return answer;
    }
    const Steps steps = PERFLEET_TRY(steps_of(scan, *measure, options));
    StackCountOptions wanted;
    wanted.per_cgroup = std::ranges::any_of(options.by, is_of_cgroup);
    wanted.per_session = std::ranges::any_of(options.by, is_of_session);
    if (steps.count > 1) {
        wanted.cuts = [&](std::size_t session_index) {
            std::vector<Ticks> cuts;
            for (std::uint32_t step = 1; step < steps.count; ++step) {
                cuts.push_back(scan.sessions()[session_index].clock.ticks_of(steps.start_of(step)));
            }
            return cuts;
        };
    }
    Groups groups{options, scan.memory()};
    FrameNames names{symbolizer, scan.memory(), scan.worker_count()};
    MemoryShare names_share{scan.memory()};
    CallPath path{options.below, names, scan.memory()};
    RowTotal total;
    PERFLEET_TRY(visit_stack_counts(scan, *measure, wanted, [&](const EpochStackCounts& epoch) {
        total += epoch.total;
        const SessionRecord& session = scan.sessions()[epoch.session_index].record;
        options.below.empty() ? groups.add(epoch, session)
                              : groups.add(path.counts_below(*measure, epoch.part, epoch), session);
        names_share.set(names.size_bytes());
    }));
    total.sum = groups.total();
    groups.write(steps, answer);
    PERFLEET_TRY(scan.memory().check());
    set_measure(*measure, total, answer);
    warn_of_no_samples(*measure, total.sum.rows != 0, answer.warnings);
    finish_profile(scan, *measure, total, symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
