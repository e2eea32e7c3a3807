#include "query-engine/statistic/profile/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/answer/value_unit.h"
#include "query-engine/statistic/latency/tracepoint_rows.h"
#include "schemas/vocabulary/row_clock.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {
namespace {

// An operation while it is collected, with its place in OperationTimes (two parts at most).
constexpr std::size_t kOperationSizeBytes = 128;

std::optional<long double> ns_per_tick(const SessionRecord& session) {
    if (tick_unit(session) == "ns") {
        return 1;
    }
    return session.ticks_per_second == 0 ? std::nullopt
                                         : std::optional{static_cast<long double>(kNsPerSecond) /
                                                         static_cast<long double>(session.ticks_per_second)};
}

// Ticks in a stored value of 1 in this unit; nothing if the unit isn't a time.
std::optional<long double> ticks_per_value(const std::string& stored_unit, const SessionRecord& session) {
    const ValueUnit unit = value_unit(stored_unit);
    if (unit.name == tick_unit(session)) {
        return unit.worth();
    }
    constexpr std::array<std::pair<const char*, long double>, 4> kUnits{
        {{"ns", 1.0L}, {"us", 1e3L}, {"ms", 1e6L}, {"s", 1e9L}}};
    const auto* const known =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& one) { return unit.name == one.first; });
    const auto per_tick = ns_per_tick(session);
    return known == kUnits.end() || !per_tick ? std::nullopt : std::optional{unit.worth() * known->second / *per_tick};
}

Error no_duration(const std::string& event, const std::string& why) {
    return Error{ErrorCode::kUsage,
                 "--of " + event + ": " + why +
                     "; name a tracepoint that measures (perfleet latency lists them), or START,STOP"};
}

struct Timed {
    std::uint64_t thread = 0;
    Operation operation;
};

Result<std::vector<Timed>> timed_of(const Scan& scan, std::size_t index, const std::vector<std::string>& of) {
    const SessionRecord& session = scan.sessions()[index].record;
    std::vector<Timed> timed;
    if (of.size() == 2) {
        const auto pairs = PERFLEET_TRY(pairs_of_tracepoints(scan, index, of));
        for (std::size_t i = 0; i < pairs.durations.size(); ++i) {
            timed.push_back({pairs.threads[i], {pairs.ends[i] - pairs.durations[i], pairs.ends[i], false}});
        }
        return timed;
    }
    for (const Series& series : scan.sessions()[index].series) {
        if (is_tracepoint(scan.sessions()[index], series, of[0]) &&
            !ticks_per_value(session.event_at(series.event)->unit, session)) {
            return no_duration(of[0], "its values are in \"" + session.event_at(series.event)->unit + "\", not a time");
        }
    }
    const auto rows = PERFLEET_TRY(rows_of_tracepoints(scan, index, of));
    long double per_value = 1;
    for (const Series& series : scan.sessions()[index].series) {
        if (is_tracepoint(scan.sessions()[index], series, of[0])) {
            per_value = *ticks_per_value(session.event_at(series.event)->unit, session);
        }
    }
    for (const TracepointRow& row : rows) {
        const long double ticks = std::round(static_cast<long double>(row.value) * per_value);
        const std::uint64_t duration =
            ticks >= static_cast<long double>(row.ticks) ? row.ticks : static_cast<std::uint64_t>(ticks);
        timed.push_back({row.thread, {row.ticks - duration, row.ticks, false}});
    }
    return timed;
}

Result<Done> visit_part(const Scan& scan, const Measure& measure, std::size_t part, const Operations& operations,
                        const std::function<void(const EpochOperationSamples&)>& visitor) {
    std::vector<ColumnId> wanted{ColumnId::kTime, ColumnId::kTid, ColumnId::kStack};
    if (measure.is_amount) {
        wanted.push_back(ColumnId::kWeight);
    }
    for (const auto& [index, session] : operations.sessions) {
        const std::vector<Series> all = event_series(scan.sessions()[index], measure.parts[part]);
        for (const EpochNumber epoch : scan.sessions()[index].epochs) {
            EpochOperationSamples found{index, epoch, nullptr, &session, part, {}, {}, 0};
            MemoryShare share{scan.memory()};
            for (const Series& series : all) {
                if (!scan.has_rows(index, epoch, series)) {
                    continue;
                }
                RowCursor blocks{scan, index, {epoch}, series, wanted};
                while (const RowBlock* const block = blocks.next()) {
                    const auto times = block->rows.integers(ColumnId::kTime);
                    const auto tids = block->rows.integers(ColumnId::kTid);
                    const auto stacks = block->rows.integers(ColumnId::kStack);
                    const auto weights = measure.is_amount ? block->rows.integers(ColumnId::kWeight) : times;
                    for (std::size_t row = 0; row < times.size(); ++row) {
                        const std::uint64_t amount = measure.is_amount ? weights[row] : 1;
                        const auto thread = session.threads.find(tids[row]);
                        const auto place =
                            thread == session.threads.end() ? std::nullopt : thread->second.times.at(times[row]);
                        if (!place) {
                            found.outside += amount;
                        } else {
                            found.total.add(amount, 1);
                            found.samples.push_back({thread->second.first_number + *place,
                                                     StackNumber{static_cast<std::uint32_t>(stacks[row])}, amount,
                                                     times[row], static_cast<std::uint32_t>(tids[row])});
                        }
                    }
                    share.set(found.samples.capacity() * sizeof(OperationSample));
                    PERFLEET_TRY(share.check());
                }
                PERFLEET_TRY(blocks.status());
            }
            if (found.samples.empty() && found.outside == 0) {
                continue;
            }
            std::sort(found.samples.begin(), found.samples.end(),
                      [](const OperationSample& a, const OperationSample& b) {
                          return std::tie(a.operation, a.stack.value, a.ticks, a.tid) <
                                 std::tie(b.operation, b.stack.value, b.ticks, b.tid);
                      });
            found.dictionary = PERFLEET_TRY(scan.dictionary(index, epoch));
            visitor(found);
        }
    }
    return Done{};
}

}  // namespace

Result<Done> read_slowest(const std::string& text, SlowestOptions& options) {
    const bool has_sign = !text.empty() && text.back() == '%';
    const auto quantile = parse_percentile(text.substr(0, text.size() - (has_sign ? 1 : 0)));
    if (!quantile || quantile->billionths == 0 || quantile->billionths == Quantile::kWhole) {
        return option_error("slowest", text, "a percentage of the operations, such as 0.1%");
    }
    options.slowest = quantile;
    return Done{};
}

Result<Done> read_slowest_of(const std::string& text, SlowestOptions& options) {
    options.of = split_list(text);
    if (options.of.empty() || options.of.size() > 2 ||
        std::find(options.of.begin(), options.of.end(), "") != options.of.end()) {
        options.of.clear();
        return option_error("of", text, "a tracepoint with durations, or two events with a comma between");
    }
    return Done{};
}

Result<Done> check_slowest(const SlowestOptions& options) {
    if (options.slowest.has_value() && options.of.empty()) {
        return usage("--slowest: --of says of which operations (a tracepoint with durations, or START,STOP)");
    }
    if (!options.slowest.has_value() && !options.of.empty()) {
        return usage("--of goes with --slowest, which says how many of the operations: --slowest 0.1%");
    }
    return Done{};
}

std::string Operations::duration_text() const {
    const auto value = static_cast<double>(slow_from_ns);
    return !has_ns           ? fmt::format("{:.0f} ticks", value)
           : value >= 1e9    ? fmt::format("{:.3g} s", value / 1e9)
           : value >= 1e6    ? fmt::format("{:.3g} ms", value / 1e6)
           : value >= 1'000. ? fmt::format("{:.3g} us", value / 1e3)
                             : fmt::format("{:.0f} ns", value);
}

Result<Operations> find_operations(const Scan& scan, const SlowestOptions& options, MemoryShare& share) {
    for (const std::string& event : options.of) {
        if (std::none_of(scan.sessions().begin(), scan.sessions().end(),
                         [&](const ScannedSession& session) { return has_tracepoint(session, event); })) {
            return Error{ErrorCode::kUsage,
                         "--of: no tracepoint " + event + " in the selection (perfleet tracepoints lists them)"};
        }
    }
    Operations found;
    found.name = options.of.size() == 2 ? options.of[0] + " to " + options.of[1] : options.of[0];
    std::vector<long double> durations;
    std::map<std::size_t, long double> scale;  // of a session's ticks
    for (std::size_t index = 0; index < scan.sessions().size(); ++index) {
        const ScannedSession& session = scan.sessions()[index];
        if (std::any_of(options.of.begin(), options.of.end(),
                        [&](const std::string& event) { return !has_tracepoint(session, event); })) {
            continue;
        }
        if (session.record.clock_name == kRowClock) {
            return no_duration(found.name, "its values came without times, so no sample is known to lie in one");
        }
        const auto timed = PERFLEET_TRY(timed_of(scan, index, options.of));
        share.add(timed.size() * kOperationSizeBytes);
        PERFLEET_TRY(share.check());
        const auto per_tick = ns_per_tick(session.record);
        found.has_ns = found.has_ns && per_tick.has_value();
        scale[index] = per_tick.value_or(1);
        Operations::Session& of_session = found.sessions[index];
        for (const Timed& one : timed) {
            of_session.threads[one.thread].operations.push_back(one.operation);
            durations.push_back(static_cast<long double>(one.operation.end - one.operation.start) * scale[index]);
        }
    }
    found.count = durations.size();
    if (found.count == 0) {
        return found;
    }
    if (std::all_of(durations.begin(), durations.end(), [](long double duration) { return duration == 0; })) {
        return no_duration(found.name, "all its values are 0, so they are no durations");
    }
    // The ⌈count × part⌉-th longest. Up to 2^22 operations a session: the product fits.
    const std::uint64_t wanted = (found.count * options.slowest->billionths + Quantile::kWhole - 1) / Quantile::kWhole;
    const auto at = durations.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
    std::nth_element(durations.begin(), at, durations.end(), std::greater<>{});
    found.slow_from_ns = *at;
    for (auto& [index, session] : found.sessions) {
        for (auto& [tid, thread] : session.threads) {
            thread.first_number = static_cast<std::uint32_t>(session.is_slow.size());
            for (Operation& one : thread.operations) {
                one.is_slow = static_cast<long double>(one.end - one.start) * scale[index] >= found.slow_from_ns;
                found.slow_count += one.is_slow ? 1 : 0;
                session.is_slow.push_back(one.is_slow);
            }
            thread.times = OperationTimes{thread.operations};
            thread.operations = {};
        }
    }
    return found;
}

Result<Measure> choose_operation_measure(const Scan& scan, const SlowestOptions& options) {
    auto choices = PERFLEET_TRY(choose_measures(scan));
    const auto is_timed = [&](const Measure& choice) {
        return std::any_of(scan.sessions().begin(), scan.sessions().end(), [&](const ScannedSession& session) {
            return std::any_of(session.series.begin(), session.series.end(), [&](const Series& series) {
                const EventRecord* const record = session.record.event_at(series.event);
                return record != nullptr && record->name == choice.event &&
                       std::any_of(options.of.begin(), options.of.end(),
                                   [&](const std::string& event) { return is_tracepoint(session, series, event); });
            });
        });
    };
    const auto has_samples = [&](const Measure& choice) {
        return std::any_of(scan.sessions().begin(), scan.sessions().end(), [&](const ScannedSession& session) {
            const std::vector<Series> series = event_series(session, choice.event);
            return std::any_of(series.begin(), series.end(),
                               [&](Series one) { return session.record.kind_of(one) == Kind::kSample; });
        });
    };
    if (scan.selection().event.has_value() && !choices.empty()) {
        return choices.front();
    }
    choices.erase(std::remove_if(choices.begin(), choices.end(), is_timed), choices.end());
    std::stable_partition(choices.begin(), choices.end(), has_samples);
    if (choices.empty()) {
        return Error{ErrorCode::kNotFound,
                     "--slowest: no samples are in the selection: record them beside the tracepoint, such as "
                     "-e cpu-clock -e " +
                         options.of[0]};
    }
    return choices.front();
}

Result<Done> visit_operation_samples(const Scan& scan, const Measure& measure, const Operations& operations,
                                     const std::function<void(const EpochOperationSamples&)>& visitor) {
    for (std::size_t part = 0; part < measure.parts.size(); ++part) {
        PERFLEET_TRY(visit_part(scan, measure, part, operations, visitor));
    }
    return Done{};
}

}  // namespace perfleet
