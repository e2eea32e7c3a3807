#include "target-collector/sel4/domain/domain.h"

#include "target-collector/bare-metal/console.h"
#include "target-collector/sel4/domain/microkit_slots.h"
#include "target-collector/sel4/kernel/run_report.h"

#ifndef CONFIG_BENCHMARK_TRACK_UTILISATION
#error "this kernel doesn't report to domains which thread runs: use the SDK's configuration `benchmark`"
#endif

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kTicksPerSecond = 1'000;

}  // namespace

Domain::Caps Domain::find_caps(const DomainTable& table) {
    Caps caps{};
    caps[0].tcb = microkit_slot_of_own_tcb;
    for (std::size_t i = 0; i < table.children().size(); ++i) {
        caps[i + 1].tcb = microkit_slot_of_first_child_tcb + table.children()[i].id;
    }
    return caps;
}

SmallTarget Domain::describe(const DomainTable& table, const BoardClock& clock, bool has_keys) {
    // No entropy: the gateway grants the session. With keys, name, id and labels are those that the gateway knows the
    // key by.
    return {.target = has_keys ? TargetId{} : TargetId{table.target_id},
            .name = has_keys ? std::string_view{} : table.target_name(),
            .architecture = "aarch64",
            .pid = CollectorRun::kPid,
            .clock = {.name = "pmccntr", .ticks_per_second = clock.cycles_per_second, .linux_clockid = -1},
            .start_point = clock.start,
            .host = {.os_release = "Microkit " PERFLEET_MICROKIT_VERSION,
                     .cpus_online = 1,
                     .cpus_configured = 1,
                     .page_size_bytes = 4'096},
            .labels = has_keys ? decltype(pmu_labels_.labels()){} : pmu_labels_.labels(),
            .events = events_.descriptions(),
            .images = watched_.images(),
            .threads = watched_.threads(),
            .taker = &requests_};
}

Domain::Domain(const DomainTable& table, const BoardClock& clock, std::uint64_t seed, ByteStream& stream,
               ZmtpMechanism* keys)
    : run_seconds_{table.run_seconds},
      watched_{table},
      caps_{find_caps(table)},
      kernel_{{}, std::span{caps_}.first(watched_.thread_count()), {}, clock.cycles_per_second},
      alarm_{microkit_slot_of_first_interrupt + table.tick_channel},
      machine_{alarm_, nullptr, counters_, nullptr},
      events_{StockKernel::built_for(), clock.cycles_per_second / kTicksPerSecond, counters_},
      timer_{alarm_, seed},
      requests_{{.event_count = events_.descriptions().size(), .cycles_per_second = clock.cycles_per_second},
                timer_,
                nullptr},
      target_{describe(table, clock, keys != nullptr)},
      driver_{stream, ZmtpDriver::Options{.mechanism = keys}},
      collector_{target_, driver_},
      run_{{.kernel = kernel_,
            .collector = collector_,
            .events = events_,
            .machine = machine_,
            .timer = timer_,
            .requests = requests_,
            .cycles_per_second = clock.cycles_per_second,
            .thread_count = watched_.thread_count(),
            .sampled = watched_.sampled()}} {}

bool Domain::turn() {
    run_.turn({.is_tick = true});
    if (run_seconds_ == 0 || !run_.is_over(run_seconds_)) {
        return true;
    }
    end();
    return false;
}

void Domain::end() {
    run_.end_ticks();
    run_.finish();
    print_run(run_, timer_);
    print_end(collector_, driver_.counts().handshakes);
    bare_metal::print("\n");
}

}  // namespace perfleet::sel4
