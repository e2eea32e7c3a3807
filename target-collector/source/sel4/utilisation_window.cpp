#include "target-collector/source/sel4/utilisation_window.h"

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/utilisation_thread.h"

namespace perfleet::sel4 {

UtilisationWindow::UtilisationWindow(KernelInterface& kernel, EventNumber event, std::uint32_t thread_count)
    : kernel_{kernel}, event_{event}, thread_count_{thread_count} {
    PERFLEET_ASSERT(kernel.features().mode == BenchmarkMode::kUtilisation);
    PERFLEET_ASSERT(thread_count > 0 && thread_count <= kThreadsMax);
}

Checked<Done> UtilisationWindow::begin() {
    for (std::uint32_t number = 1; number <= thread_count_; ++number) {
        kernel_.reset_utilisation(ThreadNumber{number});
    }
    begun_ = kernel_.now();
    return check_log_call(LogCall::kResetLog, kernel_.reset_log());
}

Checked<Done> UtilisationWindow::turn(RowSink& sink) {
    (void)kernel_.finalize_log();
    const Ticks now = kernel_.now();
    std::uint64_t accounted = 0;
    std::uint64_t total = 0;
    bool has_system = false;  // the system's figures are in every thread's message
    is_gone_.fill(false);
    for (std::uint32_t number = 1; number <= thread_count_; ++number) {
        const auto message = kernel_.utilisation(ThreadNumber{number});
        if (message.empty()) {
            is_gone_[number - 1] = true;
            continue;
        }
        const auto read = PERFLEET_TRY(read_utilisation(message));
        if (!has_system) {
            has_system = true;
            append(sink, now, kWholeSystem, read.total);
            append(sink, now, kIdleThread, read.idle);
            total = read.total.cycles;
            accounted = read.idle.cycles;
        }
        append(sink, now, number, read.thread);
        ended_cycles_[number - 1] += read.thread.cycles;
        accounted += read.thread.cycles;
    }
    unaccounted_cycles_ = static_cast<std::int64_t>(total - accounted);
    return begin();
}

void UtilisationWindow::append(RowSink& sink, Ticks now, std::uint64_t thread, const UtilisationFigures& figures) {
    using enum ColumnId;
    const auto row = row_of<Kind::kUtilisation>(column<kWindowStart>(begun_.value), column<kThread>(thread),
                                                column<kCycles>(figures.cycles), column<kSchedules>(figures.schedules),
                                                column<kKernelCycles>(figures.kernel_cycles),
                                                column<kKernelEntries>(figures.kernel_entries));
    sink.append({{Kind::kUtilisation, event_}, now, row});
}

std::uint64_t UtilisationWindow::cycles_of(ThreadNumber thread) {
    PERFLEET_ASSERT(thread.value > 0 && thread.value <= thread_count_);
    const auto read = read_utilisation(kernel_.utilisation(thread));
    return ended_cycles_[thread.value - 1] + (read.ok() ? read->thread.cycles : 0);
}

}  // namespace perfleet::sel4
