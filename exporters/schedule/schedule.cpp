#include "exporters/schedule/schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "schemas/vocabulary/off_cpu.h"

namespace perfleet {
namespace {

// A sample shows the thread that ran before it, for at most this many usual sampling intervals.
constexpr std::uint64_t kSampleGapsMax = 2;
// State bits of a switched-out thread that give the reason why it sleeps; without any it was runnable.
constexpr std::int64_t kSleepingStates = 0xff;

// Fewer switches that don't match may be those around lost rows.
constexpr std::size_t kUnmatchedMin = 8;
constexpr const char* kHowToRecord =
    "perfleet record -a -e sched:sched_switch -- COMMAND has the begin and the end of each run";

class Maker {
public:
    explicit Maker(const ScheduleRows& rows) : rows_{rows} {
        schedule_.targets.assign(rows.targets.begin(), rows.targets.end());
        schedule_.start = rows.start;
        if (!rows.rows.empty()) {
            first_ns_ = rows.rows.front().time_ns;
            schedule_.duration_ns = rows.rows.back().time_ns - first_ns_;
        }
    }

    Schedule make() {
        for (const TimelineThread& thread : rows_.threads) {
            pids_.try_emplace({thread.target, thread.tid}, thread.pid);
        }
        from_switches();
        const bool is_of_single_threads = unmatched_count_ >= kUnmatchedMin && unmatched_count_ > matched_count_;
        if (rows_.switches.empty() || (is_of_single_threads && event_of_samples())) {
            lanes_.clear();
            threads_.clear();
            schedule_.threads.clear();
            from_samples();
        } else if (is_of_single_threads) {
            schedule_.warnings.push_back("most runs have no begin, because the switches are of single threads: " +
                                         std::string{kHowToRecord});
        }
        for (auto& [place, lane] : lanes_) {
            lane.name = (schedule_.targets.size() > 1 ? schedule_.targets[place.first] + " " : std::string{}) + "CPU " +
                        std::to_string(place.second);
            schedule_.lanes.push_back(std::move(lane));
        }
        if (const std::uint64_t unknown = unknown_ns(); unknown != 0) {
            schedule_.warnings.push_back(
                std::to_string(unknown / 1'000) +
                " us of CPU time belong to no thread: the switches around them don't match, "
                "because rows were lost or filtered, or are of the collector, which leaves its own out");
        }
        return std::move(schedule_);
    }

private:
    using Place = std::pair<std::uint32_t, std::uint32_t>;  // target, CPU

    struct Running {
        std::uint64_t since_ns = 0;
        std::optional<std::uint32_t> tid;  // not known before the first switch
        std::string command;
    };

    [[nodiscard]] std::uint64_t unknown_ns() const {
        std::uint64_t sum = 0;
        for (const ScheduleLane& lane : schedule_.lanes) {
            sum += lane.unknown_ns;
        }
        return sum;
    }

    std::uint32_t thread_of(std::uint32_t target, std::uint32_t tid, const std::string& command) {
        const auto [known, is_new] =
            threads_.try_emplace({target, tid, command}, static_cast<std::uint32_t>(schedule_.threads.size()));
        if (is_new) {
            const auto pid = pids_.find({target, tid});
            ScheduleThread& made = schedule_.threads.emplace_back();
            made.command = command;
            made.target = target;
            made.tid = tid;
            made.pid = pid == pids_.end() ? 0 : pid->second;
        }
        return known->second;
    }

    void add(ScheduleLane& lane, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t thread,
             bool is_preempted) {
        ScheduleThread& of = schedule_.threads[thread];
        of.running_ns += end_ns - begin_ns;
        ++of.run_count;
        of.longest_ns = std::max(of.longest_ns, end_ns - begin_ns);
        of.preempted_count += is_preempted ? 1 : 0;
        lane.busy_ns += end_ns - begin_ns;
        lane.spans.push_back({begin_ns, end_ns - begin_ns, thread, is_preempted, 1});
    }

    void from_switches() {
        std::map<Place, Running> running;
        for (const TimelineSwitch& to : rows_.switches) {
            const TimelineRow& row = rows_.rows[to.row];
            const std::uint32_t target = rows_.threads[row.thread].target;
            const Place place{target, row.cpu};
            const std::uint64_t now_ns = row.time_ns - first_ns_;
            Running& before = running[place];
            ScheduleLane& lane = lanes_[place];
            const bool is_known = !before.tid || *before.tid == to.previous_tid;
            (is_known ? matched_count_ : unmatched_count_) += before.tid ? 1 : 0;
            if (!is_known) {
                lane.unknown_ns += now_ns - before.since_ns;
            } else if (to.previous_tid != 0 && now_ns >= before.since_ns) {
                add(lane, before.since_ns, now_ns, thread_of(target, to.previous_tid, to.previous_command),
                    (to.previous_state & kSleepingStates) == 0);
            }
            before = {now_ns, to.next_tid, to.next_command};
        }
        for (const auto& [place, last] : running) {
            if (last.tid && *last.tid != 0 && last.since_ns < schedule_.duration_ns) {
                add(lanes_[place], last.since_ns, schedule_.duration_ns,
                    thread_of(place.first, *last.tid, last.command), false);
            }
        }
    }

    // Of the events that aren't switches a clock's, whose samples come while a thread runs, else any; of these the one
    // with the most rows.
    [[nodiscard]] std::optional<std::uint32_t> event_of_samples() const {
        std::map<std::uint32_t, std::size_t> rows_of_event;
        for (const TimelineRow& row : rows_.rows) {
            ++rows_of_event[row.event];
        }
        for (const TimelineSwitch& one : rows_.switches) {
            rows_of_event.erase(rows_.rows[one.row].event);
        }
        const auto rank_of = [&](const auto& one) {
            const TimelineEvent& event = rows_.events[one.first];
            return std::tuple{event.has_time() && !off_cpu::is_event(event.name), one.second};
        };
        const auto best = std::max_element(rows_of_event.begin(), rows_of_event.end(),
                                           [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
        return best == rows_of_event.end() ? std::nullopt : std::optional{best->first};
    }

    void from_samples() {
        schedule_.is_sampled = true;
        const auto most = event_of_samples();
        if (!most) {
            return;
        }
        schedule_.warnings.push_back("drawn from samples of " + rows_.events[*most].name +
                                     ", each of which shows the thread that ran until then; " + kHowToRecord);
        std::map<Place, std::vector<const TimelineRow*>> rows_of_place;
        for (const TimelineRow& row : rows_.rows) {
            if (row.event == *most) {
                rows_of_place[{rows_.threads[row.thread].target, row.cpu}].push_back(&row);
            }
        }
        for (const auto& [place, rows] : rows_of_place) {
            add_samples(lanes_[place], rows);
        }
    }

    void add_samples(ScheduleLane& lane, const std::vector<const TimelineRow*>& rows) {
        std::vector<std::uint64_t> gaps;
        for (std::size_t i = 1; i < rows.size(); ++i) {
            gaps.push_back(rows[i]->time_ns - rows[i - 1]->time_ns);
        }
        const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
        std::nth_element(gaps.begin(), middle, gaps.end());
        const std::uint64_t usual_ns = gaps.empty() ? 0 : *middle;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const TimelineThread& thread = rows_.threads[rows[i]->thread];
            const std::uint64_t end_ns = rows[i]->time_ns - first_ns_;
            const std::uint64_t gap_ns = i == 0 ? usual_ns : rows[i]->time_ns - rows[i - 1]->time_ns;
            const std::uint64_t length_ns = std::min(end_ns, gap_ns > kSampleGapsMax * usual_ns ? usual_ns : gap_ns);
            if (thread.tid == 0) {
                continue;
            }
            const std::uint32_t number = thread_of(thread.target, thread.tid, thread.command);
            ScheduleSpan* const last = lane.spans.empty() ? nullptr : &lane.spans.back();
            if (last != nullptr && last->thread == number && last->begin_ns + last->length_ns == end_ns - length_ns) {
                last->length_ns += length_ns;
                lane.busy_ns += length_ns;
                ScheduleThread& of = schedule_.threads[number];
                of.running_ns += length_ns;
                of.longest_ns = std::max(of.longest_ns, last->length_ns);
            } else {
                add(lane, end_ns - length_ns, end_ns, number, false);
            }
        }
    }

    const ScheduleRows& rows_;
    std::uint64_t first_ns_ = 0;
    std::size_t matched_count_ = 0;  // switches from the thread that the one before has switched to
    std::size_t unmatched_count_ = 0;
    Schedule schedule_;
    std::map<Place, std::uint32_t> pids_;  // by target and tid
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::uint32_t> threads_;
    std::map<Place, ScheduleLane> lanes_;
};

// Merges neighbours that are shorter than this and no farther apart.
std::vector<ScheduleSpan> merged(const std::vector<ScheduleSpan>& spans, std::uint64_t below_ns) {
    std::vector<ScheduleSpan> result;
    bool is_last_short = false;
    for (const ScheduleSpan& span : spans) {
        const bool is_short = span.length_ns < below_ns;
        if (is_short && is_last_short &&
            span.begin_ns - (result.back().begin_ns + result.back().length_ns) < below_ns) {
            ScheduleSpan& last = result.back();
            last.thread = last.thread == span.thread ? span.thread : ScheduleSpan::kSeveral;
            last.length_ns = span.begin_ns + span.length_ns - last.begin_ns;
            last.is_preempted = span.is_preempted;
            last.merged_runs += span.merged_runs;
        } else {
            result.push_back(span);
        }
        is_last_short = is_short;
    }
    return result;
}

}  // namespace

std::size_t Schedule::span_count() const {
    std::size_t count = 0;
    for (const ScheduleLane& lane : lanes) {
        count += lane.spans.size();
    }
    return count;
}

std::string Schedule::thread_name(const ScheduleThread& thread) const {
    return (targets.size() > 1 ? targets[thread.target] + " " : std::string{}) + thread.command + " " +
           (thread.pid == 0 ? std::string{} : std::to_string(thread.pid) + "/") + std::to_string(thread.tid);
}

ScheduleRows schedule_rows(const Timeline& timeline) {
    return {timeline.targets(), timeline.events(),   timeline.threads(),
            timeline.rows(),    timeline.switches(), timeline.first_utc()};
}

Schedule make_schedule(const ScheduleRows& rows) { return Maker{rows}.make(); }

void merge_short_spans(Schedule& schedule, std::size_t span_count_max) {
    if (schedule.span_count() <= span_count_max) {
        return;
    }
    const std::vector<ScheduleLane> all = schedule.lanes;
    std::uint64_t below_ns = 1'000;
    for (; schedule.span_count() > span_count_max && below_ns <= 2 * schedule.duration_ns; below_ns *= 2) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            schedule.lanes[i].spans = merged(all[i].spans, 2 * below_ns);
        }
    }
    schedule.warnings.push_back("neighbouring runs of less than " + std::to_string(below_ns / 1'000) +
                                " us are drawn together: there are more than " + std::to_string(span_count_max) +
                                " of them (--from and --until choose a part)");
}

}  // namespace perfleet
