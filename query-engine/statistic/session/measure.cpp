#include "query-engine/statistic/session/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "query-engine/scan/session_choice.h"
#include "query-engine/scan/session_ledger.h"
#include "query-engine/statistic/session/coverage.h"
#include "schemas/perf/perf_event.h"
#include "schemas/perf/recorded_attr.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/off_cpu.h"

namespace perfleet {
namespace {

constexpr std::size_t kSessionsNamedMax = 3;
constexpr const char* kEventUnit = "events";  // of amounts that have no other

bool is_profile(const ScannedSession& session, Series series) {
    const auto is_stack = [](Series one) { return one.kind == Kind::kStack; };
    const Kind kind = session.record.kind_of(series);
    return kind == Kind::kSample ||
           (kind == Kind::kTracepoint &&
            (session.series.empty() || std::any_of(session.series.begin(), session.series.end(), is_stack)));
}

std::string join(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += text.empty() ? name : ", " + name;
    }
    return text;
}

// In frequency mode the kernel chooses the period of each sample; a recording may have left it out.
bool has_unknown_periods(const EventRecord& event) {
    return event.is_frequency && !event.attr.empty() &&
           (perf::attr_field(event.attr, perf::attr_offset::kSampleType) & perf::sample_type::kPeriod) == 0;
}

// Where the event is, if another session than the chosen one has it.
std::string other_session_with(const Scan& scan, const std::string& event) {
    if (scan.selection().session.empty()) {
        return "";
    }
    const auto filter = SessionFilter::make(scan.selection().matchers);
    if (!filter.ok()) {
        return "";
    }
    const auto sessions = noted_sessions(scan.store(), &*filter, &scan.memory());
    const std::string session = sessions.ok() ? newest_with_event(*sessions, event) : "";
    return session.empty() ? "" : "; the newest session with it is --session " + session;
}

}  // namespace

Result<Done> check_event(const Scan& scan) {
    const std::optional<std::string>& wanted = scan.selection().event;
    if (!wanted || scan.sessions().empty()) {
        return Done{};
    }
    std::set<std::string> known;
    for (const ScannedSession& session : scan.sessions()) {
        for (const EventRecord& event : session.record.events) {
            known.insert(event.name);
        }
    }
    if (known.contains(*wanted)) {
        return Done{};
    }
    if (*wanted == off_cpu::kBlocked) {
        return Error{ErrorCode::kUsage,
                     "--off-cpu: no selected session recorded time off the CPU; record with --off-cpu" +
                         other_session_with(scan, *wanted)};
    }
    return Error{ErrorCode::kUsage, "--event " + *wanted + ": no selected session recorded it; recorded were: " +
                                        (known.empty() ? "no events" : join(known)) +
                                        other_session_with(scan, *wanted)};
}

std::string Measure::part_name(std::size_t part) const {
    return parts[part] == off_cpu::kRunnable ? "runnable" : parts[part] == off_cpu::kBlocked ? "blocked" : parts[part];
}

std::optional<std::pair<UtcNs, UtcNs>> measure_time_range(const Scan& scan, const Measure& measure) {
    std::optional<std::pair<UtcNs, UtcNs>> range;
    for (const std::string& part : measure.parts) {
        if (const auto own = event_time_range(scan, part)) {
            range = range ? std::pair{std::min(range->first, own->first), std::max(range->second, own->second)} : *own;
        }
    }
    return range;
}

Measure measure_of(const Scan& scan, std::string event_name) {
    Measure measure;
    measure.event = std::move(event_name);
    measure.parts.push_back(measure.event);
    if (scan.selection().is_off_cpu && measure.event == off_cpu::kBlocked) {
        measure.parts.emplace_back(off_cpu::kRunnable);
    }
    std::string unit;
    for (const ScannedSession& session : scan.sessions()) {
        for (const EventRecord& event : session.record.events) {
            if (event.name != measure.event) {
                continue;
            }
            // Units of tracepoints are of the value that an entry has.
            const std::string own = event.kind == Kind::kSample && !event.unit.empty() ? event.unit : kEventUnit;
            unit = unit.empty() ? own : std::min(unit, own);
            measure.is_sampled |= event.kind == Kind::kSample && !off_cpu::is_event(event.name) &&
                                  (event.is_frequency || event.period != 1);
            if (has_unknown_periods(event) && !scan.selection().counts_rows) {
                measure.unknown = "amounts of " + measure.event +
                                  " aren't known: it was recorded with a frequency (-F) and without periods; samples "
                                  "are counted";
            }
        }
    }
    measure.is_amount = !scan.selection().counts_rows && measure.unknown.empty();
    measure.unit = measure.is_amount ? unit : kRowUnit;
    return measure;
}

void ShownAmounts::warn_of_negative(const std::string& unit, std::vector<std::string>& warnings) const {
    if (negative_count_ != 0) {
        warnings.push_back(fmt::format("{}, {:.0f} {} together, can't be shown in this format and {} left out",
                                       counted_noun(negative_count_, "negative amount"), static_cast<double>(negative_),
                                       unit, negative_count_ == 1 ? "is" : "are"));
    }
}

void ShownAmounts::warn_of_rounding(const std::string& unit, std::vector<std::string>& warnings) const {
    constexpr Uint128 kExactInDoubles = Uint128{1} << 53U;
    if (shown_ >= kExactInDoubles) {
        warnings.push_back(
            fmt::format("amounts add up to {:.3g} {}: programs that read this format round sums of 2^53 and more",
                        static_cast<double>(shown_), unit));
    }
}

Result<std::optional<Measure>> choose_measure(const Scan& scan) {
    PERFLEET_TRY(check_event(scan));
    std::set<std::pair<EventNumber, std::string>> with_rows;
    for (const ScannedSession& session : scan.sessions()) {
        for (const Series& series : session.series) {
            if (const EventRecord* event = session.record.event_at(series.event);
                event != nullptr && is_profile(session, series)) {
                with_rows.emplace(series.event, event->name);
            }
        }
    }
    for (std::size_t i = 0; with_rows.empty() && i < scan.sessions().size(); ++i) {
        for (const auto& [series, row_count] : scan.sessions()[i].expired) {  // so that the ledger reports them
            const EventRecord* event = scan.sessions()[i].record.event_at(series.event);
            if (event != nullptr && traits_of(series.kind).has_call_chain) {
                with_rows.emplace(series.event, event->name);
            }
        }
    }
    for (std::size_t i = 0; with_rows.empty() && i < scan.sessions().size(); ++i) {
        for (const Series& series : scan.ledger_series(i)) {  // so that warnings say why there is no sample
            const EventRecord* event = scan.sessions()[i].record.event_at(series.event);
            if (event != nullptr && traits_of(series.kind).has_call_chain &&
                last_entry(scan.sessions()[i], series, CountName::kBelowPeriod) != 0) {
                with_rows.emplace(series.event, event->name);
            }
        }
    }
    std::string chosen;
    if (const std::optional<std::string>& wanted = scan.selection().event) {
        std::vector<std::string> left_out;
        const bool has_rows =
            std::any_of(with_rows.begin(), with_rows.end(), [&](const auto& event) { return event.second == *wanted; });
        // Threads that never blocked may still have waited for a CPU.
        const bool is_split = scan.selection().is_off_cpu && !scan.sessions().empty();
        if (!has_rows && !is_split && event_ledger(scan, *wanted, left_out).produced == 0) {
            return std::optional<Measure>{};
        }
        chosen = *wanted;
    } else if (!with_rows.empty()) {
        chosen = with_rows.begin()->second;
    } else {
        return std::optional<Measure>{};
    }
    Measure measure = measure_of(scan, std::move(chosen));
    std::set<std::string> others;
    for (const auto& [number, name] : with_rows) {
        if (std::find(measure.parts.begin(), measure.parts.end(), name) == measure.parts.end()) {
            others.insert(name);
        }
    }
    measure.others.assign(others.begin(), others.end());
    return std::optional{std::move(measure)};
}

Result<std::vector<Measure>> choose_measures(const Scan& scan) {
    auto first = PERFLEET_TRY(choose_measure(scan));
    std::vector<Measure> measures;
    if (first.has_value()) {
        measures.push_back(*first);
        for (const std::string& name : scan.selection().event ? std::vector<std::string>{} : first->others) {
            measures.push_back(measure_of(scan, name));
        }
    }
    return measures;
}

void set_measure(const Measure& measure, const RowTotal& total, Answer& answer) {
    answer.measure = {measure.event,  measure.is_amount ? "amount" : kRowUnit,
                      measure.unit,   total.sum.amount,
                      total.sum.rows, measure.others};
    if (!total.lacks_sample_numbers) {
        return;
    }
    answer.measure->samples.reset();
    for (std::size_t i = 0; measure.is_amount && i < answer.columns.size(); ++i) {
        for (auto row = answer.rows.begin(); answer.columns[i].unit == kRowUnit && row != answer.rows.end(); ++row) {
            (*row)[i] = {};
        }
    }
    if (!measure.is_amount) {
        answer.warnings.push_back("values of " + measure.event +
                                  " don't say how many samples they stand for: each counts as one");
    }
}

bool is_sampled(const Measure& measure, const RowTotal& total) {
    return (measure.is_sampled || total.has_sample_numbers) && !total.lacks_sample_numbers;
}

std::vector<Series> event_series(const ScannedSession& session, const std::string& event) {
    std::vector<Series> chosen;
    for (const Series& series : session.series) {
        const EventRecord* record = session.record.event_at(series.event);
        if (record != nullptr && is_profile(session, series) && record->name == event) {
            chosen.push_back(series);
        }
    }
    return chosen;
}

std::optional<std::pair<UtcNs, UtcNs>> event_time_range(const Scan& scan, const std::string& event) {
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        const ScannedSession& session = scan.sessions()[i];
        if (const auto ticks = scan.ticks_of(i, event_series(session, event))) {
            first_ns = std::min(first_ns, session.clock.utc_of(ticks->first).value);
            last_ns = std::max(last_ns, session.clock.utc_of(ticks->second).value);
        }
    }
    return first_ns <= last_ns ? std::optional{std::pair{UtcNs{first_ns}, UtcNs{last_ns}}} : std::nullopt;
}

Ledger event_ledger(const Scan& scan, const std::string& event, std::vector<std::string>& warnings) {
    Ledger sum;
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        for (const Series& series : scan.ledger_series(i)) {
            const EventRecord* record = scan.sessions()[i].record.event_at(series.event);
            if (record != nullptr && is_profile(scan.sessions()[i], series) && record->name == event) {
                sum.add(scan.ledger(i, series, warnings));
            }
        }
    }
    return sum;
}

void warn_of_other_events(const Scan& scan, const Measure& measure, std::vector<std::string>& warnings) {
    constexpr std::size_t kNamedMax = 8;
    const std::vector<std::string>& others = measure.others;
    if (scan.selection().event) {
        std::set<std::string> of_one_name;
        std::ranges::copy_if(others, std::inserter(of_one_name, of_one_name.end()),
                             [&](const std::string& other) { return other.starts_with(measure.event + "#"); });
        if (!of_one_name.empty()) {
            warnings.push_back("several events are named " + measure.event + ": this is the first, others are " +
                               join(of_one_name));
        }
        return;
    }
    if (others.empty()) {
        return;
    }
    const std::size_t named = std::min(others.size(), kNamedMax);
    warnings.push_back("this is event " + measure.event + "; also recorded (choose with --event): " +
                       join({others.begin(), others.begin() + static_cast<std::ptrdiff_t>(named)}) +
                       (named < others.size() ? " and " + std::to_string(others.size() - named) + " more" : ""));
}

void warn_of_open_sessions(const Scan& scan, std::vector<std::string>& warnings) {
    std::size_t open_count = 0;
    std::string named;
    for (const ScannedSession& session : scan.sessions()) {
        if (has_clean_end(session) || (!session.end && session.batches.empty())) {
            continue;
        }
        if (++open_count <= kSessionsNamedMax) {
            named +=
                (named.empty() ? "" : ", ") + session_hex(session.record.session) + " of " + session.record.target_name;
        }
    }
    if (open_count == 0) {
        return;
    }
    if (open_count > kSessionsNamedMax) {
        named += " and " + std::to_string(open_count - kSessionsNamedMax) + " more";
    }
    warnings.push_back((open_count == 1 ? "session " : "sessions ") + named + (open_count == 1 ? " has" : " have") +
                       " no clean end: still running, or stopped uncleanly and its last rows are unknown");
}

std::string no_samples_text(const Scan& scan) {
    constexpr std::int64_t kLongNs = 1'000'000'000;  // what runs so long and has no sample waits
    bool is_profile = scan.sessions().empty();
    for (const ScannedSession& session : scan.sessions()) {
        is_profile |= serves(session.record, SessionUse::kProfile);
        for (const EventRecord& event : session.record.events) {
            std::vector<std::string> ignored;
            const bool is_tracepoint = event.kind == Kind::kTracepoint && event.perf_type == perf::kTypeTracepoint;
            if (!session.end || (event.kind != Kind::kSample && !is_tracepoint) ||
                event_ledger(scan, event.name, ignored).produced != 0) {
                continue;
            }
            const std::string recorded = "no samples: " + event.name + " was recorded, and ";
            if (event.unit != "ns" && event.unit != "cycles") {
                return recorded + (is_tracepoint          ? "never occurred"
                                   : event.exclude_kernel ? "what occurs in the kernel isn't sampled (run as root, or "
                                                            "with CAP_PERFMON)"
                                                          : "occurred too seldom for a sample (-c 1 takes each)");
            }
            const std::int64_t length_ns =
                session.clock.utc_of(session.end->end_point.ticks).value - session.began().value;
            return recorded + (length_ns < kLongNs
                                   ? "what ran was too short for a sample (-F 9999 samples more often)"
                                   : "what was profiled hardly ran (record --off-cpu shows what it waits for)");
        }
    }
    return is_profile ? "no samples are in the selection (perfleet losses lists what there is)"
                      : "no samples: no selected session was recorded to sample (perfleet record -- COMMAND does)";
}

void warn_of_no_samples(const Measure& measure, bool has_samples, std::vector<std::string>& warnings) {
    if (!has_samples) {
        warnings.push_back(
            "no sample of event " + measure.event +
            " lies in the selection: check its times (perfleet sessions lists them) and filters (perfleet top without "
            "them lists commands, images and functions); the ledger is of whole batches");
    }
}

void warn_of_few_samples(const Measure& measure, const RowTotal& total, std::vector<std::string>& warnings) {
    const double effective = total.effective_rows();
    const auto worth = static_cast<std::uint64_t>(std::llround(effective));
    if (!is_sampled(measure, total) || worth == 0 || effective >= kFewSamples) {
        return;
    }
    // Two standard errors of a share of one half, which is the least certain share.
    const auto points = static_cast<int>(std::lround(100.0 / std::sqrt(effective)));
    const std::uint64_t rows = total.sum.rows;
    warnings.push_back(counted_noun(rows, "sample is", "samples are") + " few" +
                       (worth == rows ? "" : " (their weights differ: worth " + std::to_string(worth) + ")") +
                       ": shares may be " + std::to_string(points) +
                       " percentage points off; sample for longer, or more often" +
                       (total.has_sample_numbers ? "" : " (-F)"));
}

void finish_profile(const Scan& scan, const Measure& measure, const RowTotal& total, const Symbolizer& symbolizer,
                    Ledger& ledger, std::vector<std::string>& warnings) {
    for (const std::string& part : measure.parts) {
        ledger.add(event_ledger(scan, part, warnings));
    }
    if (!measure.unknown.empty()) {
        warnings.push_back(measure.unknown);
    }
    warn_of_few_samples(measure, total, warnings);
    warn_of_other_events(scan, measure, warnings);
    warn_of_open_sessions(scan, warnings);
    warn_of_uncovered_time(scan, warnings);
    for (std::string& warning : symbolizer.warnings()) {
        warnings.push_back(std::move(warning));
    }
    drop_repeated(warnings);
}

void drop_repeated(std::vector<std::string>& warnings) {
    std::set<std::string> seen;
    std::erase_if(warnings, [&](const std::string& warning) { return !seen.insert(warning).second; });
}

}  // namespace perfleet
