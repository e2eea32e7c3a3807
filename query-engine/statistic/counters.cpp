#include "query-engine/statistic/counters.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "query-engine/statistic/answer_ledger.h"
#include "query-engine/statistic/event_choice.h"
#include "query-engine/statistic/inventory.h"

namespace perfleet {
namespace {

struct Reading {
    Ticks ticks;
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;

    friend auto operator<=>(const Reading&, const Reading&) = default;
};

struct FirstAndLast {
    Reading first;
    Reading last;
};

// Readings of one counter: cpu, process, thread.
using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using Readings = std::map<Place, FirstAndLast>;

constexpr std::uint64_t kWholeCpu = 0xffff'ffff;  // kPid of a counter that isn't bound to a process

std::uint64_t growth(std::uint64_t first, std::uint64_t last) { return last > first ? last - first : 0; }

std::optional<std::uint64_t> scaled(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns) {
    if (running_ns == 0) {
        // A counter that was never enabled has counted nothing; one that was, and never ran, isn't known.
        return enabled_ns == 0 ? std::optional<std::uint64_t>{value} : std::nullopt;
    }
    __extension__ using Uint128 = unsigned __int128;
    const Uint128 product = Uint128{value} * enabled_ns / running_ns;
    return product > ~0ULL ? ~0ULL : static_cast<std::uint64_t>(product);
}

Result<Readings> read_counters(const Scan& scan, std::size_t session_index, Series series) {
    constexpr std::array kWanted{ColumnId::kTime,  ColumnId::kCpu,         ColumnId::kPid,        ColumnId::kTid,
                                 ColumnId::kValue, ColumnId::kTimeEnabled, ColumnId::kTimeRunning};
    const std::pair<Ticks, Ticks> range = scan.tick_range(session_index);
    Readings readings;
    for (const EpochNumber epoch : scan.sessions()[session_index].epochs) {
        const Result<Done> visited = scan.visit_rows(session_index, epoch, series, kWanted, [&](const RowBlock& block) {
            for (std::size_t i = 0; i < block.rows.row_count(); ++i) {
                const auto value = [&](ColumnId id) { return block.rows.integers(id)[i]; };
                const Reading reading{Ticks{value(ColumnId::kTime)}, value(ColumnId::kValue),
                                      value(ColumnId::kTimeEnabled), value(ColumnId::kTimeRunning)};
                if (reading.ticks < range.first || reading.ticks >= range.second) {
                    continue;
                }
                const Place place{value(ColumnId::kCpu), value(ColumnId::kPid), value(ColumnId::kTid)};
                const auto [entry, is_new] = readings.try_emplace(place, FirstAndLast{reading, reading});
                entry->second.first = std::min(entry->second.first, reading);
                entry->second.last = std::max(entry->second.last, reading);
            }
            return Visit::kContinue;
        });
        if (!visited.ok()) {
            return Error{visited.error()};
        }
    }
    return readings;
}

struct Total {
    Reading sum;
    std::optional<std::uint64_t> scaled;
};

Total total_of(const Readings& readings) {
    Total total;
    total.scaled = 0;
    bool is_bound = false;
    std::set<std::uint64_t> cpus;
    for (const auto& [place, reading] : readings) {
        const std::uint64_t value = growth(reading.first.value, reading.last.value);
        const std::uint64_t enabled_ns = growth(reading.first.enabled_ns, reading.last.enabled_ns);
        const std::uint64_t running_ns = growth(reading.first.running_ns, reading.last.running_ns);
        total.sum.value += value;
        total.sum.enabled_ns += enabled_ns;
        total.sum.running_ns += running_ns;
        cpus.insert(std::get<0>(place));
        is_bound = is_bound || std::get<1>(place) != kWholeCpu;
        const std::optional<std::uint64_t> one = scaled(value, enabled_ns, running_ns);
        total.scaled = total.scaled && one ? std::optional{*total.scaled + *one} : std::nullopt;
    }
    if (is_bound) {
        total.sum.enabled_ns = std::max<std::uint64_t>(total.sum.enabled_ns / cpus.size(), total.sum.running_ns);
        total.scaled = scaled(total.sum.value, total.sum.enabled_ns, total.sum.running_ns);
    }
    return total;
}

std::string event_name(const ScannedSession& session, Series series) {
    const std::vector<EventRecord>& events = session.record.events;
    return series.event.value < events.size() ? events[series.event.value].name
                                              : "event " + std::to_string(series.event.value);
}

std::string event_unit(const ScannedSession& session, Series series) {
    const std::vector<EventRecord>& events = session.record.events;
    return series.event.value < events.size() ? events[series.event.value].unit : "";
}

}  // namespace

Result<Answer> make_counters(const Scan& scan) {
    Answer answer;
    answer.columns = {{"session", ""},
                      {"target", ""},
                      {"event", ""},
                      {"value", ""},
                      {"unit", ""},
                      {"time_enabled_ns", "ns"},
                      {"time_running_ns", "ns"},
                      {"scaled", ""}};
    AnswerLedger ledger{scan};
    for (const std::size_t i : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[i];
        for (const Series& series : scan.ledger_series(i)) {
            if (series.kind != Kind::kCounter || !scan.is_selected(i, series)) {
                continue;
            }
            ledger.add(i, series);
            const Result<Readings> readings = read_counters(scan, i, series);
            if (!readings.ok()) {
                return Error{readings.error()};
            }
            if (readings->empty()) {
                continue;
            }
            const Total total = total_of(*readings);
            const std::string name = event_name(session, series);
            if (!total.scaled) {
                answer.warnings.push_back("counter " + name + " of session " + session_hex(session.record.session) +
                                          " never ran on some cpu while it was enabled: not counted there");
            }
            answer.rows.push_back({session_hex(session.record.session), session.record.target_name, name,
                                   total.sum.value, event_unit(session, series), total.sum.enabled_ns,
                                   total.sum.running_ns, total.scaled ? AnswerValue{*total.scaled} : AnswerValue{}});
        }
    }
    answer.ledger = ledger.sum(answer.warnings);
    warn_of_open_sessions(scan, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

}  // namespace perfleet
