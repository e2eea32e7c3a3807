#include "target-collector/sel4/kernel/run_report.h"

#include <algorithm>

#include "target-collector/bare-metal/console.h"

namespace perfleet::sel4 {

using bare_metal::print;

void print_named(std::string_view name, std::uint64_t value) {
    print(" ");
    print(name);
    print("=");
    bare_metal::print_number(value);
}

void print_run(const CollectorRun& run, const TickTimer& timer) {
    const TickTimer::Coverage& coverage = timer.coverage();
    const CollectorRun::Counts& counts = run.counts();
    print("ran");
    print_value("ticks", coverage.ticks);
    print_value("samples", counts.samples);
    print_value("uncovered_ppm", coverage.uncovered * 1'000'000 / std::max<std::uint64_t>(coverage.measured, 1));
    print_value("gap_max_us", coverage.gap_max * 1'000'000 / timer.ticks_per_second());
    print_value("own_permille", counts.own_cycles * 1'000 / std::max<std::uint64_t>(counts.cycles, 1));
    print_value("latencies", counts.round_trips);
    if (const LogFollower::Counts* const log = run.log_counts()) {
        print_value("records", log->records);
        print_value("resets", log->resets);
        print_value("recovered", log->recovered);
        print_value("saturations", log->saturations);
        print_value("lost", log->lost);
    }
    if (counts.windows > 0) {
        print_value("windows", counts.windows);
        print_value("windows_unaccounted", counts.windows_unaccounted);
    }
    print("\n");
}

void print_end(const SmallCollector& collector, std::uint64_t handshakes) {
    print("end");
    print_value("handshakes", handshakes);
    print_value("acknowledged", collector.status().batches_acknowledged);
    print_value("dropped", collector.status().batches_dropped);
    print_value("finished", collector.status().finished ? 1 : 0);
}

}  // namespace perfleet::sel4
