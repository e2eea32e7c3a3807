#include "tools/perfleet/perf_commands.h"

namespace perfleet {
namespace {

constexpr std::string_view kToPerf = "perfleet export --to perf.data -o perf.data; then perf reads that file";

struct Instead {
    std::string_view perf_command;
    std::string_view way;
};

constexpr Instead kInstead[] = {
    {"archive", "the session keeps the symbol tables of sampled files"},
    {"buildid-cache", "the session keeps the symbol tables of sampled files"},
    {"buildid-list", kToPerf},
    {"c2c", kToPerf},
    {"daemon", "perfleet-collector sends to a perfleet-gateway, as a service"},
    {"data", "perfleet export --to json"},
    {"evlist", "perfleet sessions --wide"},
    {"ftrace", "perfleet record -e SYSTEM:EVENT; then perfleet tracepoints"},
    {"inject", "perfleet sets names and build-ids by itself"},
    {"kmem", "perfleet record -a -e 'kmem:*'; then perfleet tracepoints"},
    {"kvm", "perfleet record -a -e 'kvm:*'; then perfleet tracepoints"},
    {"kwork", "perfleet record -a -e 'irq:*' -e 'workqueue:*'; then perfleet tracepoints"},
    {"list", "perfleet record --list-events"},
    {"lock", "perfleet record -a -e 'lock:*'; then perfleet tracepoints"},
    {"mem", kToPerf},
    {"probe", "perf probe sets the probe; perfleet record -e probe:NAME counts it"},
    {"sched", "perfleet record -a -e 'sched:*' -o perf.data; then perf sched latency -i perf.data"},
    {"timechart", "perfleet record -a -e 'sched:*' -e 'power:*' -o perf.data; then perf timechart -i perf.data"},
    {"trace", "perfleet record -e 'syscalls:*' -- COMMAND; then perfleet tracepoints"},
};

}  // namespace

std::string_view instead_of_perf_command(std::string_view name) {
    for (const Instead& entry : kInstead) {
        if (entry.perf_command == name) {
            return entry.way;
        }
    }
    return "";
}

}  // namespace perfleet
