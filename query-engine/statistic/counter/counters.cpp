#include "query-engine/statistic/counter/counters.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/select/selection.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/measure.h"

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

// Where a counter was read: cpu, process, thread.
using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using Readings = std::map<Place, FirstAndLast>;

constexpr std::uint64_t kWholeCpu = 0xffff'ffff;  // kPid of a counter that isn't bound to a process

std::uint64_t growth(std::uint64_t first, std::uint64_t last) { return last > first ? last - first : 0; }

std::optional<std::uint64_t> scaled(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns) {
    if (running_ns == 0) {
        // A counter that was never enabled counted nothing; the count of one that was enabled but never ran is unknown.
        return enabled_ns == 0 ? std::optional<std::uint64_t>{value} : std::nullopt;
    }
    __extension__ using Uint128 = unsigned __int128;
    const Uint128 product = Uint128{value} * enabled_ns / running_ns;
    return product > ~0ULL ? ~0ULL : static_cast<std::uint64_t>(product);
}

// Readings of one counter around a time range.
struct Seen {
    std::optional<Reading> before;  // the last one at or before the range's start
    std::optional<Reading> first;   // after the range's start, up to and including its end
    std::optional<Reading> last;
};

// Epochs with readings in the time range, and the last earlier epoch that has any; ascending.
std::vector<EpochNumber> epochs_to_read(const Scan& scan, std::size_t session_index, Series series) {
    const ScannedSession& session = scan.sessions()[session_index];
    const std::pair<Ticks, Ticks> range = scan.tick_range(session_index);
    std::vector<EpochNumber> chosen;
    std::optional<std::pair<Ticks, EpochNumber>> before;
    for (const auto& [epoch, batches] : session.epoch_batches) {
        Ticks first{~0ULL};
        Ticks last{0};
        bool has_rows = false;
        for (const auto& [begin, end] : batches) {
            for (std::size_t i = begin; i < end; ++i) {
                for (const BatchRecord::Rows& rows : session.batches[i].rows) {
                    if (rows.series == series && rows.row_count != 0) {
                        has_rows = true;
                        first = std::min(first, rows.first_ticks);
                        last = std::max(last, rows.last_ticks);
                    }
                }
            }
        }
        if (has_rows && last < range.first) {
            before = std::max(before.value_or(std::pair{last, epoch}), std::pair{last, epoch});
        } else if (has_rows && first <= range.second) {
            chosen.push_back(epoch);
        }
    }
    if (before) {
        chosen.insert(chosen.begin(), before->second);
    }
    return chosen;
}

Result<std::map<Place, Seen>> see_counters(const Scan& scan, std::size_t session_index, Series series) {
    constexpr std::array kWanted{ColumnId::kTime,  ColumnId::kCpu,         ColumnId::kPid,        ColumnId::kTid,
                                 ColumnId::kValue, ColumnId::kTimeEnabled, ColumnId::kTimeRunning};
    const std::pair<Ticks, Ticks> range = scan.tick_range(session_index);
    std::map<Place, Seen> seen;
    RowCursor rows{scan,   session_index, epochs_to_read(scan, session_index, series),
                   series, kWanted,       RowsWanted::kUpToItsEnd};
    while (const RowBlock* const block = rows.next()) {
        for (std::size_t i = 0; i < block->rows.row_count(); ++i) {
            const auto value = [&](ColumnId id) { return block->rows.integers(id)[i]; };
            const Reading reading{Ticks{value(ColumnId::kTime)}, value(ColumnId::kValue), value(ColumnId::kTimeEnabled),
                                  value(ColumnId::kTimeRunning)};
            Seen& here = seen[{value(ColumnId::kCpu), value(ColumnId::kPid), value(ColumnId::kTid)}];
            if (scan.selection().from && reading.ticks <= range.first) {
                here.before = std::max(here.before.value_or(reading), reading);
            } else {
                here.first = std::min(here.first.value_or(reading), reading);
                here.last = std::max(here.last.value_or(reading), reading);
            }
        }
    }
    PERFLEET_TRY(rows.status());
    return seen;
}

bool has_expired(const ScannedSession& session, Series series) {
    return std::any_of(session.expired.begin(), session.expired.end(),
                       [&](const auto& expired) { return expired.first == series && expired.second != 0; });
}

// Omits counters without readings in the time range, and counts them in `not_read`.
Result<Readings> read_counters(const Scan& scan, std::size_t session_index, Series series, std::size_t& not_read) {
    const auto all = PERFLEET_TRY(see_counters(scan, session_index, series));
    const ScannedSession& session = scan.sessions()[session_index];
    // Collectors count from the session's start. If readings have expired, the first remaining one is the base instead.
    const Reading start{session.record.start_point.ticks, 0, 0, 0};
    const bool is_start_known = !has_expired(session, series);
    Readings readings;
    for (const auto& [place, seen] : all) {
        const std::optional<Reading> base = seen.before ? seen.before : is_start_known ? start : seen.first;
        if (seen.last && base->ticks < seen.last->ticks) {
            readings.emplace(place, FirstAndLast{*base, *seen.last});
        } else {
            ++not_read;
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

// One event's readings of a session in the time range.
struct Counted {
    Series series;
    std::string name;
    std::uint16_t group = 0;
    Readings readings;  // empty: not known
};

std::string named(const ScannedSession& session, Series series) {
    return "counter " + event_name(session, series) + " of session " + session_hex(session.record.session);
}

// The counters that were ever read, by event number. The ledger covers all selected ones.
Result<std::vector<Counted>> read_session(const Scan& scan, std::size_t session_index, AnswerLedger& ledger,
                                          std::vector<std::string>& warnings) {
    const ScannedSession& session = scan.sessions()[session_index];
    std::vector<Counted> all;
    for (const Series& series : scan.ledger_series(session_index)) {
        if (series.kind != Kind::kCounter || !scan.is_selected(session_index, series)) {
            continue;
        }
        ledger.add(session_index, series);
        if (!std::binary_search(session.series.begin(), session.series.end(), series)) {
            continue;
        }
        std::size_t not_read = 0;
        auto readings = PERFLEET_TRY(read_counters(scan, session_index, series, not_read));
        if (readings.empty()) {
            warnings.push_back(named(session, series) +
                               " was not read in this time: what it counted is not known "
                               "(choose a longer one; Linux and seL4 are read once a second)");
        } else if (not_read != 0) {
            warnings.push_back(named(session, series) + ": on " + std::to_string(not_read) +
                               " of its cpus or threads it was not read in this time; not counted there");
        }
        all.push_back({series, event_name(session, series), group_of(session, series), std::move(readings)});
    }
    return all;
}

// Explains why two counts don't cover the same time; empty if they do.
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

// The ratio to the group's leader; null for a leader, without a group, or if the leader isn't selected.
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

// Time range of the readings; null if nothing is known or the whole session is selected.
std::array<AnswerValue, 2> covered(const Scan& scan, const ScannedSession& session, const Readings& readings) {
    if (readings.empty() || (!scan.selection().from && !scan.selection().to)) {
        return {};
    }
    Ticks first{~0ULL};
    Ticks last{0};
    for (const auto& [place, reading] : readings) {
        first = std::min(first, reading.first.ticks);
        last = std::max(last, reading.last.ticks);
    }
    return {format_time(session.clock.utc_of(first)), format_time(session.clock.utc_of(last))};
}

void add_totals(const Scan& scan, const ScannedSession& session, const std::vector<Counted>& all, Answer& answer) {
    for (const Counted& counted : all) {
        const Total total = total_of(counted.readings);
        if (!total.scaled) {
            answer.warnings.push_back(named(session, counted.series) +
                                      " never ran on some cpu while it was enabled: not counted there");
        }
        const bool is_known = !counted.readings.empty();
        auto [from, to] = covered(scan, session, counted.readings);
        answer.rows.push_back({session_hex(session.record.session), session.record.target_name, counted.name,
                               whole_if(is_known, total.sum.value), event_unit(session, counted.series),
                               whole_if(is_known, total.sum.enabled_ns), whole_if(is_known, total.sum.running_ns),
                               whole_if(is_known && total.scaled, total.scaled.value_or(0)),
                               whole_if(counted.group != 0, counted.group),
                               per_leader(session, counted, all, answer.warnings), std::move(from), std::move(to)});
    }
}

using EventPair = std::pair<std::string, std::string>;

// Adds a row if the session has both events.
Result<Done> add_ratio(const Scan& scan, const ScannedSession& session, const std::vector<Counted>& all,
                       const EventPair& names, Answer& answer) {
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
                                              "; choose another time with --from and --until, or another session"};
    }
    const Reading sum = total_of(one->readings).sum;
    const bool is_known = !one->readings.empty();
    auto [from, to] = covered(scan, session, one->readings);
    answer.rows.push_back({session_hex(session.record.session), session.record.target_name, names.first, names.second,
                           whole_if(is_known, sum.value), whole_if(is_known, total_of(other->readings).sum.value),
                           whole_if(is_known, sum.running_ns), ratio_of(*one, *other), std::move(from), std::move(to)});
    return Done{};
}

}  // namespace

const OptionTable<CounterOptions>& counter_options() {
    static const OptionTable<CounterOptions> kTable = OptionTable<CounterOptions>{}.text(
        {"ratio", OptionType::kText, "A/B", "of one event's value to another's of its group: -e '{A,B}'"},
        [](const std::string& text, CounterOptions& options) -> Result<Done> {
            const std::size_t slash = text.find('/');
            if (slash == 0 || slash >= text.size() - 1 || text.find('/', slash + 1) != std::string::npos) {
                return option_error("ratio", text, "two events with / between, such as cache-misses/instructions");
            }
            options.ratio = {text.substr(0, slash), text.substr(slash + 1)};
            return Done{};
        });
    return kTable;
}

Result<std::vector<CounterTotal>> counter_totals(const Scan& scan, std::size_t session_index) {
    std::vector<CounterTotal> totals;
    for (const Series series : scan.sessions()[session_index].series) {
        if (series.kind != Kind::kCounter || !scan.is_selected(session_index, series)) {
            continue;
        }
        std::size_t not_read = 0;
        const auto readings = PERFLEET_TRY(read_counters(scan, session_index, series, not_read));
        if (!readings.empty()) {
            const auto count_of = [](const Reading& sum) {
                return CounterTotal::Count{sum.value, sum.enabled_ns, sum.running_ns};
            };
            CounterTotal& total = totals.emplace_back(CounterTotal{series, count_of(total_of(readings).sum), {}});
            const bool is_bound = std::any_of(readings.begin(), readings.end(), [](const auto& reading) {
                return std::get<1>(reading.first) != kWholeCpu;
            });
            for (const auto& [place, reading] : is_bound ? Readings{} : readings) {
                total.by_cpu[std::get<0>(place)] = count_of(total_of({{place, reading}}).sum);
            }
        }
    }
    return totals;
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
    answer.columns.push_back({"covered_from", "", true});
    answer.columns.push_back({"covered_to", "", true});
    AnswerLedger ledger{scan};
    std::optional<Error> without_ratio;
    for (const std::size_t i : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[i];
        const auto all = PERFLEET_TRY(read_session(scan, i, ledger, answer.warnings));
        if (!options.ratio) {
            add_totals(scan, session, all, answer);
        } else if (Result<Done> added = add_ratio(scan, session, all, *options.ratio, answer); !added.ok()) {
            answer.warnings.push_back(added.error().message);
            without_ratio = std::move(added).error();
        }
    }
    if (answer.rows.empty() && without_ratio) {
        return *without_ratio;
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
