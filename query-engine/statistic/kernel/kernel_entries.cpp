#include "query-engine/statistic/kernel/kernel_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/session_ledger.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/kernel/kernel_log.h"
#include "query-engine/statistic/kernel/kernel_time.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kRememberedMax = 1U << 22;

Error too_many() {
    return Error{ErrorCode::kTooLarge, "more than " + std::to_string(kRememberedMax) +
                                           " kernel entries: narrow them with --session, --from and --until"};
}

std::optional<sel4::EntryPath> path_of(std::string_view name) {
    for (std::size_t i = 0; i < sel4::kEntryPathCount; ++i) {
        const auto path = static_cast<sel4::EntryPath>(i);
        if (sel4::path_name(path) == name) {
            return path;
        }
    }
    return std::nullopt;
}

// The measured value of an entry: its duration, or the time since an event.
struct Measured {
    LoggedEntry entry;
    std::uint64_t event_ticks = 0;
    std::uint64_t value = 0;
};

class KernelEntryReport {
public:
    KernelEntryReport(const Scan& scan, Symbolizer& symbolizer, const KernelEntryOptions& options)
        : scan_{scan}, symbolizer_{symbolizer}, options_{options} {
        path_ = path_of(options.path);
    }

    Result<Answer> make() {
        const std::vector<KernelLog> logs = find_kernel_logs(scan_, answer_.warnings);
        AnswerLedger ledger{scan_};
        for (const KernelLog& log : logs) {
            ledger.add(log.session_index, log.series);
            PERFLEET_TRY(add_log(log, ledger));
        }
        if (answer_.columns.empty()) {
            answer_.columns = {{"session", ""}, {"target", ""}, {"entries", ""}};
        }
        if (!options_.since_event.empty() && !logs.empty() && !is_event_found_) {
            return usage("--since-event: no session with kernel entries has an event \"" + options_.since_event + "\"");
        }
        if (!options_.samples.empty() && !logs.empty() && !has_samples_) {
            return usage("--samples: no session with kernel entries has samples of \"" + options_.samples + "\"");
        }
        answer_.ledger = ledger.sum(answer_.warnings);
        warn_of_open_sessions(scan_, answer_.warnings);
        drop_repeated(answer_.warnings);
        return std::move(answer_);
    }

private:
    Result<Done> add_log(const KernelLog& log, AnswerLedger& ledger) {
        switch (options_.table) {
            case KernelEntryTable::kSummary: return add_summary(log);
            case KernelEntryTable::kSyscalls: return add_list(log, sel4::EntryPath::kSyscall);
            case KernelEntryTable::kInterrupts: return add_list(log, sel4::EntryPath::kInterrupt);
            case KernelEntryTable::kDurations: return add_durations(log);
            case KernelEntryTable::kMatches: return add_matches(log);
            case KernelEntryTable::kThreads:
            case KernelEntryTable::kFunctions: break;
        }
        const auto added = PERFLEET_TRY(add_kernel_time(scan_, symbolizer_, log, options_, ledger, answer_));
        has_samples_ = has_samples_ || added;
        return Done{};
    }

    [[nodiscard]] bool is_wanted(const LoggedEntry& entry) const { return !path_ || entry.path == *path_; }

    Result<Done> add_summary(const KernelLog& log) {
        std::array<std::uint64_t, sel4::kEntryPathCount> counts{};
        std::uint64_t count = 0;
        std::uint64_t fastpaths = 0;
        std::uint64_t kernel_ticks = 0;
        std::uint64_t first = ~0ULL;
        std::uint64_t last = 0;
        PERFLEET_TRY(visit_entries(scan_, log, [&](const LoggedEntry& entry) {
            if (is_wanted(entry)) {
                ++count;
                ++counts[static_cast<std::size_t>(entry.path)];
                fastpaths += entry.path == sel4::EntryPath::kSyscall && sel4::syscall_detail(entry.detail).is_fastpath;
                kernel_ticks += entry.duration_ticks;
            }
            first = std::min(first, entry.start_ticks);
            last = std::max(
                last, entry.start_ticks + std::min<std::uint64_t>(entry.duration_ticks, ~0ULL - entry.start_ticks));
            return Visit::kContinue;
        }));
        const std::uint64_t window = last > first ? last - first : 0;
        AnswerValue share;
        if (window != 0) {
            share = real(static_cast<long double>(kernel_ticks) / static_cast<long double>(window) * 100);
        }
        RowMaker row{answer_};
        add_identity(scan_, log, row);
        row.add("kernel", "", log.description.version.empty() ? AnswerValue{} : AnswerValue{log.description.version});
        const bool was_throttled =
            last_entry(scan_.sessions()[log.session_index], log.series, CountName::kThrottled) != 0;
        row.add("saturated", "", std::string{log.description.is_saturated || was_throttled ? "yes" : "no"});
        row.add("lost_after", "", std::string{log.description.is_loss_known ? "none" : "unknown"});
        const auto add = [&](const char* name, sel4::EntryPath path) {
            row.add(name, "", counts[static_cast<std::size_t>(path)]);
        };
        row.add("entries", "", count);
        add("syscalls", sel4::EntryPath::kSyscall);
        row.add("fastpaths", "", fastpaths);
        add("interrupts", sel4::EntryPath::kInterrupt);
        add("user_level_faults", sel4::EntryPath::kUserLevelFault);
        add("vm_faults", sel4::EntryPath::kVmFault);
        add("unknown_syscalls", sel4::EntryPath::kUnknownSyscall);
        add("debug_faults", sel4::EntryPath::kDebugFault);
        add("virtual_machine", sel4::EntryPath::kVirtualMachine);
        add("unimplemented_device", sel4::EntryPath::kUnimplementedDevice);
        add("unknown", sel4::EntryPath::kUnknown);
        row.add("kernel_time", log.unit, kernel_ticks);
        row.add("window", log.unit, window);
        row.add("kernel_share", "percent", std::move(share));
        row.end();
        warn_of_lost(log, kernel_ticks, window);
        if (window != 0 && kernel_ticks > window) {
            answer_.warnings.push_back(
                log_name(scan_, log) +
                ": more time in the kernel than passed: entries of several cores, or a clock that "
                "was set back");
        }
        return Done{};
    }

    void warn_of_lost(const KernelLog& log, std::uint64_t kernel_ticks, std::uint64_t window) {
        const Ledger ledger = scan_.ledger(log.session_index, log.series, answer_.warnings);
        const std::uint64_t kept = ledger.stored + ledger.expired;
        if (ledger.lost.empty() || kept == 0 || window == 0) {
            return;
        }
        const double estimate = 100.0 * static_cast<double>(kernel_ticks) / static_cast<double>(kept) *
                                static_cast<double>(ledger.produced) / static_cast<double>(window);
        answer_.warnings.push_back(fmt::format(
            "{}: {} of {} entries were lost, so entries, kernel_time and kernel_share are lower bounds; had the lost "
            "ones taken as long as the others, the share would be {:.2f} %{}",
            log_name(scan_, log), ledger.produced - kept, ledger.produced, estimate,
            ledger.lost.contains("saturated") ? " at least: the kernel doesn't count what a full log drops" : ""));
    }

    // Adds a row for each entry of this path, as libsel4utils prints them.
    Result<Done> add_list(const KernelLog& log, sel4::EntryPath path) {
        std::uint64_t count = 0;
        auto visited = visit_entries(scan_, log, [&](const LoggedEntry& entry) {
            if (entry.path != path) {
                return Visit::kContinue;
            }
            if (++count > options_.row_count_max) {
                return Visit::kContinue;  // further entries are only counted
            }
            RowMaker row{answer_};
            add_identity(scan_, log, row);
            row.add("log_id", "", entry.log_id);
            if (path == sel4::EntryPath::kSyscall) {
                const sel4::SyscallDetail detail = sel4::syscall_detail(entry.detail);
                row.add("syscall_id", "", std::uint64_t{detail.number});
                row.add("syscall", "", syscall_text(log, entry));
                row.add("start", log.unit, entry.start_ticks);
                row.add("duration", log.unit, entry.duration_ticks);
                row.add("cap_type", "", std::uint64_t{detail.cap_type});
                row.add("cap", "", cap_type_text(log, entry));
                row.add("tag", "", std::uint64_t{detail.invocation_tag});
                row.add("fastpath", "", std::string{detail.is_fastpath ? "yes" : "no"});
            } else {
                const sel4::WordDetail detail = sel4::word_detail(entry.detail);
                row.add("irq", "", std::uint64_t{detail.word});
                row.add("start", log.unit, entry.start_ticks);
                row.add("duration", log.unit, entry.duration_ticks);
            }
            row.end();
            return Visit::kContinue;
        });
        warn_of_rest(log, count);
        return visited;
    }

    void warn_of_rest(const KernelLog& log, std::uint64_t count) {
        if (count > options_.row_count_max) {
            answer_.warnings.push_back(fmt::format("{}: the first {} of {} rows; --limit shows more",
                                                   log_name(scan_, log), options_.row_count_max, count));
        }
    }

    [[nodiscard]] std::string key_of(const KernelLog& log, const LoggedEntry& entry) const {
        if (options_.key == KernelEntryKey::kPath || entry.path != sel4::EntryPath::kSyscall) {
            return std::string{sel4::path_name(entry.path)};
        }
        return options_.key == KernelEntryKey::kSyscall ? syscall_text(log, entry) : cap_type_text(log, entry);
    }

    Result<Done> add_durations(const KernelLog& log) {
        auto measured = PERFLEET_TRY(measure(log));
        std::map<std::string, std::vector<std::uint64_t>> values;
        long double total = 0;
        for (const Measured& one : measured) {
            values[key_of(log, one.entry)].push_back(one.value);
            total += static_cast<long double>(one.value);
        }
        std::vector<std::pair<Uint128, std::string>> order;
        for (const auto& [key, of_key] : values) {
            Moments moments;
            moments.add(of_key);
            order.emplace_back(moments.sum(), key);
        }
        std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        for (const auto& [sum, key] : order) {
            const auto described =
                PERFLEET_TRY(describe(pieces_of(values[key]), std::array{Quantile::of_percent(99)}, 0.95L));
            const Moments& moments = described.moments;
            RowMaker row{answer_};
            add_identity(scan_, log, row);
            row.add(options_.key == KernelEntryKey::kPath      ? "path"
                    : options_.key == KernelEntryKey::kSyscall ? "syscall"
                                                               : "cap",
                    "", key);
            row.add("count", "", moments.count());
            row.add("min", log.unit, moments.min());
            row.add("median", log.unit, real(described.median));
            row.add("p99", log.unit, described.percentiles[0].nearest);
            row.add("max", log.unit, moments.max());
            row.add("mean", log.unit, real(moments.mean()));
            row.add("sd", log.unit, real(moments.standard_deviation()));
            row.add("share", "percent",
                    percent(total == 0 ? std::nullopt : std::optional{Uint256{sum}.real() / total}));
            row.end();
        }
        return Done{};
    }

    Result<Done> add_matches(const KernelLog& log) {
        auto measured = PERFLEET_TRY(measure(log));
        warn_of_rest(log, measured.size());
        for (std::size_t i = 0; i < measured.size() && i < options_.row_count_max; ++i) {
            const Measured& one = measured[i];
            RowMaker row{answer_};
            add_identity(scan_, log, row);
            row.add("log_id", "", one.entry.log_id);
            row.add("path", "", std::string{sel4::path_name(one.entry.path)});
            row.add("event", log.unit, one.event_ticks);
            row.add("start", log.unit, one.entry.start_ticks);
            row.add("since", log.unit, one.value);
            row.end();
        }
        return Done{};
    }

    // The wanted entries' durations; or the times since the event, ascending by start.
    Result<std::vector<Measured>> measure(const KernelLog& log) {
        std::vector<Measured> measured;
        PERFLEET_TRY(visit_entries(scan_, log, [&](const LoggedEntry& entry) {
            if (is_wanted(entry)) {
                measured.push_back({entry, 0, entry.duration_ticks});
            }
            return measured.size() > kRememberedMax ? Visit::kStop : Visit::kContinue;
        }));
        if (measured.size() > kRememberedMax) {
            return too_many();
        }
        if (options_.since_event.empty()) {
            return measured;
        }
        auto events = PERFLEET_TRY(event_times(log.session_index));
        std::stable_sort(measured.begin(), measured.end(), [](const Measured& a, const Measured& b) {
            return a.entry.start_ticks < b.entry.start_ticks;
        });
        return match(log, measured, events);
    }

    std::vector<Measured> match(const KernelLog& log, const std::vector<Measured>& entries,
                                const std::vector<std::uint64_t>& events) {
        std::vector<Measured> matched;
        std::size_t used = 0;  // events up to the last one that an entry was matched to
        std::uint64_t before_any = 0;
        std::uint64_t not_first = 0;
        for (const Measured& one : entries) {
            const auto after = std::upper_bound(events.begin(), events.end(), one.entry.start_ticks);
            const auto event_count = static_cast<std::size_t>(after - events.begin());
            if (event_count == 0) {
                ++before_any;
            } else if (event_count == used) {
                ++not_first;
            } else {
                used = event_count;
                const std::uint64_t event = events[event_count - 1];
                matched.push_back({one.entry, event, one.entry.start_ticks - event});
            }
        }
        if (before_any + not_first != 0) {
            answer_.warnings.push_back(
                fmt::format("{}: {} before any {}, {} behind one that another entry "
                            "has followed already: they have no time since it",
                            log_name(scan_, log), counted_noun(before_any, "entry stands", "entries stand"),
                            options_.since_event, not_first));
        }
        if (matched.size() < events.size()) {
            answer_.warnings.push_back(fmt::format("{}: no entry follows {} of {} {} before the next",
                                                   log_name(scan_, log), events.size() - matched.size(), events.size(),
                                                   options_.since_event));
        }
        return matched;
    }

    // Ascending.
    Result<std::vector<std::uint64_t>> event_times(std::size_t session_index) {
        constexpr std::array kWanted{ColumnId::kTime};
        const ScannedSession& session = scan_.sessions()[session_index];
        std::vector<std::uint64_t> found;
        for (const Series& series : session.series) {
            const EventRecord* const event = session.record.event_at(series.event);
            const bool is_event = session.record.kind_of(series) == Kind::kTracepoint && event != nullptr &&
                                  event->name == options_.since_event;
            is_event_found_ = is_event_found_ || is_event;
            RowCursor rows{scan_, session_index, series, kWanted};
            while (const RowBlock* const block = is_event ? rows.next() : nullptr) {
                const auto times = block->rows.integers(ColumnId::kTime);
                found.insert(found.end(), times.begin(), times.end());
                if (found.size() > kRememberedMax) {
                    return too_many();
                }
            }
            PERFLEET_TRY(rows.status());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    const Scan& scan_;
    Symbolizer& symbolizer_;
    const KernelEntryOptions& options_;
    std::optional<sel4::EntryPath> path_;
    bool is_event_found_ = false;
    bool has_samples_ = false;
    Answer answer_;
};

Result<Done> check_combination(const OptionValues& options, KernelEntryOptions& parsed) {
    const bool is_of_durations =
        parsed.table == KernelEntryTable::kDurations || parsed.table == KernelEntryTable::kMatches;
    if (!options.contains("table") && (options.contains("by") || !parsed.since_event.empty())) {
        parsed.table = KernelEntryTable::kDurations;
    } else if (!is_of_durations && (options.contains("by") || !parsed.since_event.empty())) {
        return usage("--by and --since-event go with --table durations or matches");
    }
    const bool is_of_samples =
        parsed.table == KernelEntryTable::kThreads || parsed.table == KernelEntryTable::kFunctions;
    if (!parsed.samples.empty() && !is_of_samples) {
        return usage("--samples goes with --table threads or functions");
    }
    if (options.contains("limit") &&
        (parsed.table == KernelEntryTable::kSummary || parsed.table == KernelEntryTable::kDurations)) {
        return usage("--limit goes with --table syscalls, interrupts, matches, threads or functions");
    }
    if (options.contains("path") &&
        (parsed.table == KernelEntryTable::kSyscalls || parsed.table == KernelEntryTable::kInterrupts)) {
        return usage("--path goes with --table summary, durations, matches, threads or functions");
    }
    if (options.contains("by") && parsed.table == KernelEntryTable::kMatches) {
        return usage("--by goes with --table durations");
    }
    if (parsed.table == KernelEntryTable::kMatches && parsed.since_event.empty()) {
        return usage("--table matches: name the event with --since-event");
    }
    return Done{};
}

}  // namespace

const OptionTable<KernelEntryOptions>& kernel_entry_options() {
    static const OptionTable<KernelEntryOptions> kTable = [] {
        std::vector<std::string> paths;
        for (std::size_t i = 0; i < sel4::kEntryPathCount; ++i) {
            paths.emplace_back(sel4::path_name(static_cast<sel4::EntryPath>(i)));
        }
        OptionTable<KernelEntryOptions> table;
        table
            .choice({.name = "table", .value_name = "TABLE", .summary = "which one (default: summary)"},
                    &KernelEntryOptions::table,
                    {{"summary", KernelEntryTable::kSummary},
                     {"syscalls", KernelEntryTable::kSyscalls},
                     {"interrupts", KernelEntryTable::kInterrupts},
                     {"durations", KernelEntryTable::kDurations},
                     {"threads", KernelEntryTable::kThreads},
                     {"functions", KernelEntryTable::kFunctions},
                     {"matches", KernelEntryTable::kMatches}})
            .choice({.name = "by", .value_name = "WHAT", .summary = "grouping of durations (default: path)"},
                    &KernelEntryOptions::key,
                    {{"path", KernelEntryKey::kPath},
                     {"syscall", KernelEntryKey::kSyscall},
                     {"cap", KernelEntryKey::kCapType}})
            .value({.name = "path",
                    .type = OptionType::kChoice,
                    .value_name = "PATH",
                    .summary = "only entries of this path",
                    .choices = paths},
                   &KernelEntryOptions::path)
            .value({"since-event", OptionType::kText, "EVENT",
                    "instead of durations the time from the last such event to the entry's start"},
                   &KernelEntryOptions::since_event)
            .value({"samples", OptionType::kText, "EVENT",
                    "of threads and functions: the samples that show which thread was running"},
                   &KernelEntryOptions::samples)
            .count("limit", "N", "rows at most (default: 40 in text, else all)", &KernelEntryOptions::row_count_max)
            .finish(check_combination);
        return table;
    }();
    return kTable;
}

Result<Answer> make_kernel_entries(const Scan& scan, Symbolizer& symbolizer, const KernelEntryOptions& options) {
    return KernelEntryReport{scan, symbolizer, options}.make();
}

}  // namespace perfleet
