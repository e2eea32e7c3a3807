#include "target-collector/linux/perf_options.h"

#include <CLI/CLI.hpp>
#include <array>

#include "daemon/option/program_options.h"

namespace perfleet {
namespace {

constexpr const char* kOneStore = "the store keeps rows by time: 'perfleet report --time 10%-20%' cuts a session";
constexpr const char* kOwnWay = "perfleet reads rings, mappings and symbols in its own way";

constexpr std::array kOptions{
    PerfOption{"-T,--timestamp,-P,--period,--sample-cpu,--sample-identifier,-R,--raw-samples,--all-cgroups", false,
               "each row has it", true},
    PerfOption{"--exclude-perf", false, "perfleet's own work isn't recorded", true},
    PerfOption{"-v,--verbose", false, "all messages are shown anyway", true},
    PerfOption{"--tail-synthesize,--no-buffering,--aio,--threads,--timestamp-boundary,--running-time", false, kOwnWay,
               true},
    PerfOption{"--affinity,--mmap-flush,--proc-map-timeout,--synth,--num-thread-synthesize,--vmlinux", true, kOwnWay,
               true},
    PerfOption{"--no-bpf-event,--bpf-event", false, kOwnWay, true},
    PerfOption{"--clang-path,--clang-opt,--aux-sample,--debuginfod", true, kOwnWay, true},
    PerfOption{"--kernel-callchains,--user-callchains", false, "call chains are of the kernel and the program", true},
    PerfOption{"-r,--realtime", true, "the threads that read rings have it if permitted", true},
    PerfOption{"-B,--no-buildid,-N,--no-buildid-cache,--buildid-all,--buildid-mmap", false,
               "build-ids are read when a file is mapped", true},
    PerfOption{"-z,--compression-level", false, "the store is always compressed", true},
    PerfOption{"--overwrite,-S,--snapshot", false, "the store keeps rows by time: cut a session when you query it",
               true},
    PerfOption{"-k,--clockid", true, "times are of CLOCK_MONOTONIC, with its relation to UTC", true},
    PerfOption{"--per-thread", false, "events are opened for each CPU; -t TID records single threads", true},
    PerfOption{"--namespaces", false, "namespaces aren't recorded", true},
    PerfOption{"--kcore", false, "the kernel's symbols are recorded, its code isn't", true},

    PerfOption{"-n,--no-samples", false, "counts without samples: 'perfleet stat -- COMMAND'"},
    PerfOption{"-s,--stat", false, "counts are read for each CPU ('perfleet counters'), not for each thread"},
    PerfOption{"--max-size", true, "use --duration; 'perfleet sessions gc --keep 10g' keeps a store within a size"},
    PerfOption{"--dry-run", false,
               "'perfleet record --list-events' names events; 'perfleet record -- true' tries them"},
    PerfOption{"--switch-max-files,--switch-output-event", true, kOneStore},
    PerfOption{"--timestamp-filename", false, kOneStore},
    PerfOption{"--control", true, "use 'perfleet control --help', which reaches collectors through their gateway"},
    PerfOption{"-G,--cgroup", true, "control groups can't be chosen; use -p, -t, --uid or -C"},
    PerfOption{"--switch-events", false, "'perfleet record -a -e sched:sched_switch -- COMMAND'"},
    PerfOption{"--group", false, "write the events of a group in braces: -e '{a,b}'"},
    // samply's.
    PerfOption{"--save-only,--no-open,--reuse-threads,--fold-recursive-prefix,--per-cpu-threads,--include-args,"
               "--unlink-aux-files,--jit-markers,--gfx,--vm-hack,--keep-etl",
               false, "the recording is stored, and nothing opens", true},
    PerfOption{"--unstable-presymbolicate,--presymbolicate", false, "names stand in all exports", true},
    PerfOption{"--coreclr,--browsers", true, "the recording is stored, and nothing opens", true},
    PerfOption{"--port,--address,--symbol-dir,--breakpad-symbol-server,--windows-symbol-server", true,
               "no page is served: the symbols are stored with the recording", true},
    PerfOption{"--rate", true, "'perfleet record -F 999 -- COMMAND'"},
    PerfOption{"--profile-name", true, "'perfleet record --label name=try -- COMMAND'"},
    PerfOption{"--iteration-count", true, "'perfleet record -- sh -c \"COMMAND; COMMAND\"', or perfleet compare"},
    PerfOption{"--main-thread-only", false, "'perfleet record -- COMMAND' and then perfleet top --tid TID"},
    PerfOption{"--cswitch-markers", false, "'perfleet record -a -e sched:sched_switch -- COMMAND', then a timeline"},
};

}  // namespace

void add_perf_record_options(CLI::App& app, const TakeNote& take_note) { add_perf_options(app, kOptions, take_note); }

void add_perf_options(CLI::App& app, std::span<const PerfOption> options, const TakeNote& take_note) {
    std::vector<OptionRow> rows;
    for (const PerfOption& option : options) {
        // Separate options, so that an error names the one that was typed.
        for (const std::string& name : split_list(option.names)) {
            const auto answer = [name, text = option.text, is_ignored = option.is_ignored, take_note] {
                if (!is_ignored) {
                    throw CLI::ValidationError(name, "no such option here; " + std::string{text});
                }
                take_note(name + ": ignored: " + text);
            };
            if (option.has_value) {
                rows.push_back({name, [answer](const std::string&) { answer(); }, "", is_hidden,
                                [least = option.is_ignored ? 1 : 0](CLI::Option& added, CLI::App&) {
                                    added.expected(least, 1);  // the hint needs no value
                                }});
            } else {
                rows.push_back({name, answer, "", is_hidden});
            }
        }
    }
    add_options(app, rows);
}

}  // namespace perfleet
