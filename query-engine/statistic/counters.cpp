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
#include "query-engine/statistic/usage.h"

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
    const EventRecord* const event = session.record.event_at(series.event);
    return event != nullptr ? event->name : "event " + std::to_string(series.event.value);
}

std::uint16_t group_of(const ScannedSession& session, Series series) {
    const EventRecord* const event = session.record.event_at(series.event);
    return event != nullptr ? event->group : std::uint16_t{0};
}

std::string event_unit(const ScannedSession& session, Series series) {
    const EventRecord* const event = session.record.event_at(series.event);
    return event != nullptr ? event->unit : "";
}

// Of a session, one event's readings in the time range.
struct Counted {
    Series series;
    std::string name;
    std::uint16_t group = 0;
    Readings readings;
};

// Those with readings, by the events' numbers. The ledger gets all that are selected.
Result<std::vector<Counted>> read_session(const Scan& scan, std::size_t session_index, AnswerLedger& ledger) {
    const ScannedSession& session = scan.sessions()[session_index];
    std::vector<Counted> all;
    for (const Series& series : scan.ledger_series(session_index)) {
        if (series.kind != Kind::kCounter || !scan.is_selected(session_index, series)) {
            continue;
        }
        ledger.add(session_index, series);
        Result<Readings> readings = read_counters(scan, session_index, series);
        if (!readings.ok()) {
            return Error{readings.error()};
        }
        if (!readings->empty()) {
            all.push_back({series, event_name(session, series), group_of(session, series), std::move(*readings)});
        }
    }
    return all;
}

// Why their values don't belong to the same time, in words; empty: they do.
std::string difference_of_times(const Counted& one, const Counted& other) {
    constexpr const char* kOtherPlaces = "one was read on a cpu, or of a thread, that the other wasn't";
    auto theirs = other.readings.begin();
    for (const auto& [place, reading] : one.readings) {
        if (theirs == other.readings.end() || theirs->first != place) {
            return kOtherPlaces;
        }
        const FirstAndLast& their = theirs->second;
        if (reading.first.ticks != their.first.ticks || reading.last.ticks != their.last.ticks) {
            return "their first or last readings are not of the same moment";
        }
        const std::uint64_t ran_ns = growth(reading.first.running_ns, reading.last.running_ns);
        const std::uint64_t their_ns = growth(their.first.running_ns, their.last.running_ns);
        if (ran_ns != their_ns) {
            return "on cpu " + std::to_string(std::get<0>(place)) + " " + one.name + " ran for " +
                   std::to_string(ran_ns) + " ns, " + other.name + " for " + std::to_string(their_ns) + " ns";
        }
        ++theirs;
    }
    return theirs == other.readings.end() ? "" : kOtherPlaces;
}

AnswerValue ratio_of(const Counted& one, const Counted& other) {
    const std::uint64_t below = total_of(other.readings).sum.value;
    return below == 0 ? AnswerValue{}
                      : AnswerValue{static_cast<double>(total_of(one.readings).sum.value) / static_cast<double>(below)};
}

// By its group's leader; null where it leads, where it is in none, and where the leader isn't among those selected.
AnswerValue per_leader(const ScannedSession& session, const Counted& counted, const std::vector<Counted>& all,
                       std::vector<std::string>& warnings) {
    const std::vector<EventRecord>& events = session.record.events;
    const auto first = std::find_if(events.begin(), events.end(),
                                    [&](const EventRecord& event) { return event.group == counted.group; });
    const auto leader = std::find_if(all.begin(), all.end(), [&](const Counted& other) {
        return other.series.event.value == static_cast<std::size_t>(first - events.begin());
    });
    if (counted.group == 0 || leader == all.end() || leader->series == counted.series) {
        return {};
    }
    if (const std::string difference = difference_of_times(*leader, counted); !difference.empty()) {
        warnings.push_back("no ratio of " + counted.name + " to " + leader->name + " of session " +
                           session_hex(session.record.session) + ": " + difference);
        return {};
    }
    return ratio_of(counted, *leader);
}

void add_totals(const ScannedSession& session, const std::vector<Counted>& all, Answer& answer) {
    for (const Counted& counted : all) {
        const Total total = total_of(counted.readings);
        if (!total.scaled) {
            answer.warnings.push_back("counter " + counted.name + " of session " + session_hex(session.record.session) +
                                      " never ran on some cpu while it was enabled: not counted there");
        }
        answer.rows.push_back({session_hex(session.record.session), session.record.target_name, counted.name,
                               total.sum.value, event_unit(session, counted.series), total.sum.enabled_ns,
                               total.sum.running_ns, total.scaled ? AnswerValue{*total.scaled} : AnswerValue{},
                               counted.group != 0 ? AnswerValue{std::uint64_t{counted.group}} : AnswerValue{},
                               per_leader(session, counted, all, answer.warnings)});
    }
}

using EventPair = std::pair<std::string, std::string>;

// A row, where the session has both events.
Result<Done> add_ratio(const ScannedSession& session, const std::vector<Counted>& all, const EventPair& names,
                       Answer& answer) {
    const auto find = [&](const std::string& name) {
        return std::find_if(all.begin(), all.end(), [&](const Counted& counted) { return counted.name == name; });
    };
    const auto one = find(names.first);
    const auto other = find(names.second);
    if (one == all.end() || other == all.end()) {
        return Done{};
    }
    const std::string what = "--ratio " + names.first + "/" + names.second + ": session " +
                             session_hex(session.record.session) + " of " + session.record.target_name;
    if (one->group == 0 || one->group != other->group) {
        return usage(what + " didn't count them in one group, so not over the same time; record them as -e '{" +
                     names.first + "," + names.second + "}', or choose another session with --session");
    }
    if (const std::string difference = difference_of_times(*one, *other); !difference.empty()) {
        return Error{ErrorCode::kInvalid, what + " didn't count them over the same time: " + difference +
                                              "; choose another time with --from and --to, or another session"};
    }
    const Reading sum = total_of(one->readings).sum;
    answer.rows.push_back({session_hex(session.record.session), session.record.target_name, names.first, names.second,
                           sum.value, total_of(other->readings).sum.value, sum.running_ns, ratio_of(*one, *other)});
    return Done{};
}

}  // namespace

bool is_counter_option(std::string_view name) { return name == "ratio"; }

Result<CounterOptions> parse_counters(const std::map<std::string, std::string>& options) {
    CounterOptions parsed;
    const auto ratio = options.find("ratio");
    if (ratio == options.end()) {
        return parsed;
    }
    const std::string& text = ratio->second;
    const std::size_t slash = text.find('/');
    if (slash == 0 || slash >= text.size() - 1 || text.find('/', slash + 1) != std::string::npos) {
        return usage("--ratio: \"" + text.substr(0, 64) + "\" is not two events with / between, such as " +
                     "cache-misses/instructions");
    }
    parsed.ratio = {text.substr(0, slash), text.substr(slash + 1)};
    return parsed;
}

Result<Answer> make_counters(const Scan& scan, const CounterOptions& options) {
    Answer answer;
    if (options.ratio) {
        answer.columns = {
            {"session", ""},           {"target", ""}, {"event", ""}, {"per", ""}, {"value", ""}, {"per_value", ""},
            {"time_running_ns", "ns"}, {"ratio", ""}};
    } else {
        answer.columns = {{"session", ""},
                          {"target", ""},
                          {"event", ""},
                          {"value", ""},
                          {"unit", ""},
                          {"time_enabled_ns", "ns"},
                          {"time_running_ns", "ns"},
                          {"scaled", ""},
                          {"group", "", true},
                          {"per_leader", "", true}};
    }
    AnswerLedger ledger{scan};
    for (const std::size_t i : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[i];
        const Result<std::vector<Counted>> all = read_session(scan, i, ledger);
        if (!all.ok()) {
            return Error{all.error()};
        }
        if (!options.ratio) {
            add_totals(session, *all, answer);
        } else if (Result<Done> added = add_ratio(session, *all, *options.ratio, answer); !added.ok()) {
            return std::move(added).error();
        }
    }
    if (options.ratio && answer.rows.empty()) {
        return usage("--ratio " + options.ratio->first + "/" + options.ratio->second +
                     ": no session in the selection has counted both (perfleet counters lists what there is)");
    }
    answer.ledger = ledger.sum(answer.warnings);
    warn_of_open_sessions(scan, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

}  // namespace perfleet
