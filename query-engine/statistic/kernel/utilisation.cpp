#include "query-engine/statistic/kernel/utilisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/row_filters.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/kernel/utilisation_share.h"
#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/utilisation_thread.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kIdle = 0;
constexpr std::size_t kThreadsMax = 65'536;  // of a window
constexpr std::uint64_t kShortBits = 32;

struct ThreadFigures {
    std::string name;
    std::uint64_t thread = 0;
    std::uint64_t cycles = 0;
    std::uint64_t schedules = 0;
    std::uint64_t kernel_cycles = 0;
    std::uint64_t kernel_entries = 0;
};

struct UtilisationWindow {
    std::uint64_t number = 0;  // from 1
    ThreadFigures total;
    std::vector<ThreadFigures> threads;

    // A kernel whose benchmark was never started reports no cycles, or no schedules.
    [[nodiscard]] bool is_none() const { return total.cycles == 0 || total.schedules == 0; }
};

class UtilisationReport {
public:
    explicit UtilisationReport(const Scan& scan) : scan_{scan} {}

    Result<Answer> make() {
        AnswerLedger ledger{scan_};
        for (const std::size_t index : sessions_by_start(scan_)) {
            for (const Series& series : scan_.ledger_series(index)) {
                if (series.kind != Kind::kUtilisation || !scan_.is_selected(index, series)) {
                    continue;
                }
                ledger.add(index, series);
                PERFLEET_TRY(add_series(index, series));
            }
        }
        if (answer_.columns.empty()) {
            answer_.columns = {{"session", ""}, {"target", ""}, {"thread", ""}, {"cycles", ""}, {"share", "percent"}};
        }
        answer_.ledger = ledger.sum(answer_.warnings);
        warn_of_open_sessions(scan_, answer_.warnings);
        drop_repeated(answer_.warnings);
        return std::move(answer_);
    }

private:
    Result<Done> add_series(std::size_t index, Series series) {
        constexpr std::array kWanted{ColumnId::kTime,      ColumnId::kThread,       ColumnId::kCycles,
                                     ColumnId::kSchedules, ColumnId::kKernelCycles, ColumnId::kKernelEntries};
        const ScannedSession& session = scan_.sessions()[index];
        unit_.clear();
        description_ = {};
        if (const EventRecord* const event = session.record.event_at(series.event)) {
            unit_ = event->unit;
            description_ = sel4::parse_description(event->format).value_or(sel4::LogDescription{});
        }
        session_ = &session.record;
        names_.reset();
        UtilisationWindow window;
        RowCursor rows{scan_, index, series, kWanted};
        while (const RowBlock* const block = rows.next()) {
            for (std::size_t i = 0; i < block->rows.row_count(); ++i) {
                const auto value = [&](ColumnId id) { return block->rows.integers(id)[i]; };
                ThreadFigures figures{{},
                                      value(ColumnId::kThread),
                                      value(ColumnId::kCycles),
                                      value(ColumnId::kSchedules),
                                      value(ColumnId::kKernelCycles),
                                      value(ColumnId::kKernelEntries)};
                if (figures.thread == kWholeSystem) {
                    end_window(window);
                    window.total = std::move(figures);
                    ++window.number;
                    window.threads.clear();
                } else if (window.number != 0) {
                    figures.name =
                        PERFLEET_TRY(thread_name(index, block->epoch, figures.thread, Ticks{value(ColumnId::kTime)}));
                    window.threads.push_back(std::move(figures));
                }
                if (window.threads.size() > kThreadsMax) {
                    scan_.note_left_out(index, "more than " + std::to_string(kThreadsMax) +
                                                   " threads in a window: it and those behind it are left out");
                    return Done{};
                }
            }
        }
        PERFLEET_TRY(rows.status());
        end_window(window);
        return Done{};
    }

    // The name in the event's format; else that of the target's thread with this number at that time.
    Result<std::string> thread_name(std::size_t index, EpochNumber epoch, std::uint64_t thread, Ticks ticks) {
        if (const auto name = description_.thread_names.find(thread); name != description_.thread_names.end()) {
            return name->second;
        }
        if (thread == kIdle) {
            return std::string{"idle_thread"};
        }
        if (!names_ || names_->first != epoch) {
            const auto dictionary = PERFLEET_TRY(scan_.dictionary(index, epoch));
            names_.emplace(epoch, PERFLEET_TRY(read_thread_names(scan_, index, epoch, *dictionary)));
        }
        const auto tid = static_cast<std::uint32_t>(thread);
        const std::uint32_t name = tid == thread ? names_->second.at(tid, ticks).name : ThreadNames::kNoName;
        return name == ThreadNames::kNoName ? "thread " + std::to_string(thread) : names_->second.text(name, tid);
    }

    void end_window(UtilisationWindow& window) {
        if (window.number == 0) {
            return;
        }
        if (description_.counter_bits == kShortBits) {
            for (ThreadFigures& thread : window.threads) {
                thread.cycles = widened(thread.cycles, window.total.cycles);
            }
        }
        std::sort(window.threads.begin(), window.threads.end(), [](const ThreadFigures& a, const ThreadFigures& b) {
            const auto order = [](const ThreadFigures& one) {
                return std::tuple{one.thread == kIdle, ~one.cycles, one.thread};
            };
            return order(a) < order(b);
        });
        std::vector<std::uint64_t> cycles;
        for (const ThreadFigures& thread : window.threads) {
            cycles.push_back(thread.cycles);
        }
        const UtilisationShares shares = utilisation_shares(cycles, window.total.cycles);
        for (std::size_t i = 0; i < window.threads.size(); ++i) {
            add_thread(window, window.threads[i], shares.threads[i], shares);
        }
        const auto share_of_rest = window.is_none() ? std::nullopt : shares.rest;
        std::uint64_t rest = share_of_rest ? window.total.cycles : 0;
        for (std::size_t i = 0; share_of_rest && i < cycles.size(); ++i) {
            rest -= cycles[i];
        }
        add_row(window, "others", share_of_rest ? std::optional{rest} : std::nullopt, share_of_rest, nullptr,
                std::nullopt);
        add_row(window, "total", window.total.cycles,
                window.is_none() || shares.has_wrapped ? std::nullopt : std::optional{1.0L}, &window.total,
                window.is_none()     ? std::optional<std::string>{"no window"}
                : shares.has_wrapped ? std::optional<std::string>{"wrapped"}
                                     : std::nullopt);
        warn(window, shares, rest);
    }

    void add_thread(const UtilisationWindow& window, const ThreadFigures& thread,
                    const std::optional<long double>& share, const UtilisationShares& shares) {
        std::optional<std::string> fault;
        if (window.is_none()) {
            fault = "no window";
        } else if (is_underflow(thread.cycles)) {
            fault = "below 0";
        } else if (thread.cycles > window.total.cycles && !shares.has_wrapped) {
            fault = "more than total";
        }
        add_row(window, thread.name, thread.cycles, fault || shares.has_wrapped ? std::nullopt : share, &thread, fault);
    }

    void add_row(const UtilisationWindow& window, const std::string& name, const std::optional<std::uint64_t>& cycles,
                 const std::optional<long double>& share, const ThreadFigures* figures,
                 const std::optional<std::string>& fault) {
        RowMaker row{answer_};
        row.add("session", "", session_hex(session_->session));
        row.add("target", "", session_->target_name);
        row.add("window", "", window.number);
        row.add("thread", "", name);
        row.add("cycles", unit_, signed_cycles(cycles));
        row.add("share", "percent", percent(share));
        row.add("schedules", "", whole_if(figures != nullptr, figures == nullptr ? 0 : figures->schedules));
        row.add("kernel_cycles", unit_, whole_if(figures != nullptr, figures == nullptr ? 0 : figures->kernel_cycles));
        const bool has_kernel_share = figures != nullptr && !window.is_none() &&
                                      !is_underflow(figures->kernel_cycles) &&
                                      figures->kernel_cycles <= window.total.cycles;
        row.add("kernel_share", "percent",
                percent(has_kernel_share ? std::optional{static_cast<long double>(figures->kernel_cycles) /
                                                         static_cast<long double>(window.total.cycles)}
                                         : std::nullopt));
        row.add("entries", "", whole_if(figures != nullptr, figures == nullptr ? 0 : figures->kernel_entries));
        row.add("fault", "", text_or_null(fault));
        row.end();
    }

    // Prints a negative counter with its sign.
    static AnswerValue signed_cycles(const std::optional<std::uint64_t>& cycles) {
        return cycles && is_underflow(*cycles) ? AnswerValue{static_cast<std::int64_t>(*cycles)}
                                               : whole_if(cycles.has_value(), cycles.value_or(0));
    }

    void warn(const UtilisationWindow& window, const UtilisationShares& shares, std::uint64_t rest) {
        const std::string whose =
            fmt::format("session {} window {}", session_hex(session_->session).substr(0, 8), window.number);
        const auto warn = [&](const std::string& what) { answer_.warnings.push_back(whose + ": " + what); };
        if (window.is_none()) {
            warn("no window: FinalizeLog without ResetLog before it; these are no shares of anything");
            return;
        }
        if (shares.has_underflow) {
            warn(
                "a counter is below 0, as several cores make it (a thread charged before it starts): left out of every "
                "sum");
        }
        if (shares.has_wrapped) {
            warn("the total lacks a multiple of 2^32 that the threads have: it was counted or printed in 32 bits");
        } else if (shares.has_too_much) {
            warn(
                "threads have more than the total: ResetThreadUtilisation belongs before ResetLog, for each thread and "
                "each window; behind it a thread seems to run since the clock began, and without it it keeps what it "
                "had");
        } else if (!shares.has_underflow && !shares.adds_up) {
            warn(fmt::format("threads have {} of {} cycles: {} belong to threads that aren't here",
                             window.total.cycles - rest, window.total.cycles, rest));
        }
    }

    const Scan& scan_;
    const SessionRecord* session_ = nullptr;
    std::string unit_;
    sel4::LogDescription description_;
    std::optional<std::pair<EpochNumber, ThreadNames>> names_;  // of the epoch that is read
    Answer answer_;
};

}  // namespace

Result<Answer> make_utilisation(const Scan& scan) { return UtilisationReport{scan}.make(); }

}  // namespace perfleet
