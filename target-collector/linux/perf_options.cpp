#include "target-collector/linux/perf_options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <string>

#include "daemon/option/program_options.h"

namespace perfleet {
namespace {

constexpr std::array kOptions{
    // Accepted without effect: always done, or not needed.
    PerfOption{"-T,--timestamp", false, nullptr},
    PerfOption{"-P,--period", false, nullptr},
    PerfOption{"-R,--raw-samples", false, nullptr},
    PerfOption{"--sample-cpu", false, nullptr},
    PerfOption{"--sample-identifier", false, nullptr},
    PerfOption{"--exclude-perf", false, nullptr},
    PerfOption{"--all-cgroups", false, nullptr},  // cgroups are always recorded
    PerfOption{"-v,--verbose", false, nullptr},
    PerfOption{"--tail-synthesize,--no-buffering,--aio,--threads", false, nullptr},
    PerfOption{"--affinity,--mmap-flush,--proc-map-timeout,--synth", true, nullptr},
    PerfOption{"-r,--realtime", true, nullptr},  // the threads that read rings have it if permitted
    // Build-ids are read when a file is mapped, and perf's cache isn't used.
    PerfOption{"-B,--no-buildid", false, nullptr},
    PerfOption{"-N,--no-buildid-cache", false, nullptr},
    PerfOption{"--buildid-all", false, nullptr},
    PerfOption{"--buildid-mmap", false, nullptr},

    PerfOption{"-n,--no-samples", false, "to count without samples use 'perfleet stat'"},
    PerfOption{"-s,--stat", false, "counts are read for each CPU ('perfleet counters'), not for each thread"},
    PerfOption{"--per-thread", false, "events are always opened for each CPU; -t records single threads"},
    PerfOption{"--overwrite", false, "not needed: the store keeps rows by time; cut a session when you query it"},
    PerfOption{"-S,--snapshot", false, "not needed: the store keeps rows by time; cut a session when you query it"},
    PerfOption{"--max-size", true, "use --duration; 'perfleet sessions gc' keeps a store within a size"},
    PerfOption{"--control", true, "use 'perfleet control', which reaches the collector through its gateway"},
    PerfOption{"-G,--cgroup", true, "control groups can't be chosen; use -p, -t, --uid or -C"},
    PerfOption{"--namespaces", false, "namespaces aren't recorded"},
    PerfOption{"--switch-events", false, "use -e sched:sched_switch"},
    PerfOption{"--group", false, "write the events of a group in braces: -e '{a,b}'"},
    PerfOption{"--kcore", false, "the kernel's symbols are recorded, its code isn't"},
};

}  // namespace

void add_perf_record_options(CLI::App& app) {
    add_options(app, {{"-k,--clockid CLOCK",
                       [](const std::string& clock) {
                           if (clock != "mono" && clock != "monotonic" && clock != "CLOCK_MONOTONIC") {
                               throw CLI::ValidationError(
                                   "-k", "times are always of CLOCK_MONOTONIC (-k mono), with its relation to UTC");
                           }
                       },
                       "", is_hidden}});
    add_perf_options(app, kOptions);
}

void add_perf_options(CLI::App& app, std::span<const PerfOption> options) {
    std::vector<OptionRow> rows;
    for (const PerfOption& option : options) {
        // Separate options, so that an error names the one that was typed.
        for (const std::string& name : split_list(option.names)) {
            const auto answer = [name, instead = option.instead] {
                if (instead != nullptr) {
                    throw CLI::ValidationError(name, instead);
                }
            };
            if (option.has_value) {
                rows.push_back({name, [answer](const std::string&) { answer(); }, "", is_hidden});
            } else {
                rows.push_back({name, answer, "", is_hidden});
            }
        }
    }
    add_options(app, rows);
}

}  // namespace perfleet
