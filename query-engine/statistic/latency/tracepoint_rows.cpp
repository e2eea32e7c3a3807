#include "query-engine/statistic/latency/tracepoint_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/latency/tracepoint_pairs.h"
#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/row_clock.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

bool is_tracepoint(const ScannedSession& session, Series series, const std::string& event) {
    const EventRecord* const record = session.record.event_at(series.event);
    if (record == nullptr || session.record.kind_of(series) != Kind::kTracepoint) {
        return false;
    }
    if (event.ends_with(kEntrySuffix)) {
        return record->name == std::string_view{event}.substr(0, event.size() - kEntrySuffix.size()) &&
               session.record.clock_name != kRowClock && record->unit == tick_unit(session.record);
    }
    if (record->name == event) {
        return true;
    }
    const auto description = sel4::parse_description(record->format);
    return description && description->tracepoint_id && std::to_string(*description->tracepoint_id) == event;
}

bool has_tracepoint(const ScannedSession& session, const std::string& event) {
    return std::any_of(session.series.begin(), session.series.end(),
                       [&](const Series& series) { return is_tracepoint(session, series, event); });
}

Result<std::vector<TracepointRow>> rows_of_tracepoints(const Scan& scan, std::size_t session_index,
                                                       const std::vector<std::string>& events) {
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kTid, ColumnId::kValue};
    const ScannedSession& session = scan.sessions()[session_index];
    std::vector<TracepointRow> rows;
    for (const Series& series : session.series) {
        const auto event = std::find_if(events.begin(), events.end(),
                                        [&](const std::string& name) { return is_tracepoint(session, series, name); });
        const auto event_index = static_cast<std::size_t>(event - events.begin());
        const std::size_t first_row = rows.size();
        if (event == events.end()) {
            continue;
        }
        const bool is_entry = event->ends_with(kEntrySuffix);
        RowCursor blocks{scan, session_index, series, kWanted};
        while (const RowBlock* const block = blocks.next()) {
            const auto times = block->rows.integers(ColumnId::kTime);
            for (std::size_t row = 0; row < times.size(); ++row) {
                const std::uint64_t value = block->rows.integers(ColumnId::kValue)[row];
                const std::uint64_t ticks = times[row] - (is_entry ? std::min(value, times[row]) : 0);
                rows.push_back({ticks, event_index, block->rows.integers(ColumnId::kTid)[row], value});
            }
            if (rows.size() > kTracepointRowsMax) {
                if (scan.sessions().size() > 1) {
                    for (const Series& left_out : session.series) {
                        if (std::ranges::any_of(events, [&](const std::string& name) {
                                return is_tracepoint(session, left_out, name);
                            })) {
                            scan.leave_out(session_index, left_out,
                                           "more than " + std::to_string(kTracepointRowsMax) +
                                               " tracepoint rows, whose order matters here: they are left out (--from "
                                               "and --until select fewer)");
                        }
                    }
                    return std::vector<TracepointRow>{};
                }
                return Error{ErrorCode::kTooLarge, "more than " + std::to_string(kTracepointRowsMax) +
                                                       " tracepoint rows, whose order matters here: narrow them with "
                                                       "--from and --until"};
            }
        }
        PERFLEET_TRY(blocks.status());
        if (session.record.clock_name == kRowClock) {
            // Rows of a file's columns are numbered consecutively: by line instead, values of one line belong together.
            for (std::size_t row = first_row; row < rows.size(); ++row) {
                rows[row].ticks = row - first_row;
            }
        }
    }
    std::sort(rows.begin(), rows.end(), [](const TracepointRow& a, const TracepointRow& b) {
        return std::tie(a.ticks, a.event_index, a.thread, a.value) <
               std::tie(b.ticks, b.event_index, b.thread, b.value);
    });
    return rows;
}

std::string TracepointPairs::unpaired() const {
    const std::size_t count = durations.size();
    return start_count == count && stop_count == count
               ? std::string{}
               : fmt::format("{} of {} starts and {} of {} stops have no partner in their thread", start_count - count,
                             start_count, stop_count - count, stop_count);
}

Result<TracepointPairs> pairs_of_tracepoints(const Scan& scan, std::size_t session_index,
                                             const std::vector<std::string>& events) {
    auto rows = PERFLEET_TRY(rows_of_tracepoints(scan, session_index, events));
    TracepointPairs pairs;
    TracepointLog log;
    for (const TracepointRow& row : rows) {
        if (row.event_index == 0) {
            log.start(row.thread, row.ticks);
            ++pairs.start_count;
        } else {
            log.stop(row.thread, row.ticks);
            ++pairs.stop_count;
            if (log.entries().size() != pairs.durations.size()) {
                pairs.durations.push_back(log.entries().back().duration);
                pairs.ends.push_back(row.ticks);
                pairs.threads.push_back(row.thread);
            }
        }
    }
    return pairs;
}

std::string tick_unit(const SessionRecord& session) {
    return session.linux_clockid >= 0 || session.ticks_per_second == static_cast<std::uint64_t>(kNsPerSecond) ? "ns"
           : session.clock_name == "cycles"                                                                   ? "cycles"
                                                                                                              : "ticks";
}

}  // namespace perfleet
