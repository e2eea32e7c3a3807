#include "tools/perfleet/query/perf_commands.h"

#include <CLI/CLI.hpp>

#include "daemon/option/program_options.h"
#include "target-collector/linux/perf_options.h"

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
    {"data", "perfleet script --format json"},
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

constexpr const char* kToPerfReport = "use 'perfleet export --to perf.data -o perf.data', then perf";

constexpr PerfOption kTop[]{
    {"-f,--force,--no-inline,--ignore-vmlinux,--skip-empty", false, nullptr},
    {"-w,--column-widths", true, nullptr},
    {"-G", false, "use 'perfleet top --callers FUNCTION' or 'perfleet tree --inverted'"},
    {"-F,--fields", true, "use --by COLUMNS"},
    {"--hierarchy", false, "use --by command,image or 'perfleet tree'"},
    {"--inline", false, "use --inlines"},
    {"-v,--verbose", false, "use --addresses, or 'perfleet symbols' for build-ids"},
    {"-D,--dump-raw-trace,--stats,--tasks,--mmaps", false, kToPerfReport},
    {"-k,--vmlinux,--kallsyms", true, "not needed: the kernel's symbols are stored with the session"},
    {"-d", true, "use --image NAMES"},
    {"-c", true, "use --comm NAMES"},
    {"-S", true, "use --symbol NAMES"},
    {"-t,--field-separator", true, "use --format csv"},
    {"--header,--header-only", false, "use 'perfleet sessions --wide'"},
    {"-p", true, "to record a process use 'perfleet record -p PID'; --pid selects among those that were recorded"},
    {"-a,--all-cpus", false, "to watch the machine run 'perfleet record -a -g' and beside it 'perfleet top --watch 2'"},
};
constexpr PerfOption kTree[]{
    {"--limit,--max-stack", true, "use --min-percent P"},
};
constexpr const char* kNameEvents = "name the events: -e cycles,instructions,L1-dcache-loads,LLC-load-misses";
constexpr const char* kToPerfStat = "counts are sums over processors and threads; 'perf stat' has them apart";
constexpr PerfOption kStat[]{
    {"-B,--big-num", false, nullptr},
    {"-j,--json-output", false, "use --format json"},
    {"--timeout", true, "use --duration SECONDS"},
    {"-D,--delay", true, "start the program first, then use -p PID"},
    {"-t,--tid", true, "use -p PID: a process is counted with its threads"},
    {"-C,--cpu", true, kToPerfStat},
    {"-A,--no-aggr,--per-core,--per-socket,--per-die,--per-node,--per-thread", false, kToPerfStat},
    {"-M,--metrics", true, kNameEvents},
    {"-T,--transaction,--topdown", false, kNameEvents},
    {"-d,--detailed", false, kNameEvents},
    {"-x,--field-separator", true, "use --format csv"},
};
constexpr PerfOption kScript[]{
    {"--max-events", true, "use '| head'"},
    {"--reltime,--deltatime", false, kToPerfReport},
    {"-s,--script,-g,--gen-script", true, kToPerfReport},
    {"-c", true, "use --comm NAMES"},
    {"-S", true, "use --symbol NAMES"},
    {"-I,--show-info,--header", false, "use 'perfleet sessions --wide'"},
};
constexpr PerfOption kAnnotate[]{
    {"--stdio,--stdio2", false, nullptr},
    {"-l,--print-line,-P,--full-paths", false, nullptr},
    {"-d", true, "use --image NAMES"},
    {"-s", true, "the function is an argument: perfleet annotate FUNCTION"},
};

// top's table is the same as with `-g none`.
void add_call_graph_option(CLI::App& top) {
    for (const char* const name : {"-g", "--call-graph"}) {
        add_options(top, {{std::string{name} + " GRAPH",
                           [name](const std::string& graph) {
                               if (graph != "none") {
                                   throw CLI::ValidationError(
                                       name, "use 'perfleet tree' for callees, 'perfleet tree --inverted' for callers");
                               }
                           },
                           "", is_hidden, [](CLI::Option& option, CLI::App&) { option.expected(0, 1); }}});
    }
}

}  // namespace

void add_perf_query_options(CLI::App& app) {
    add_call_graph_option(*app.get_subcommand("top"));
    add_perf_options(*app.get_subcommand("top"), kTop);
    add_perf_options(*app.get_subcommand("tree"), kTree);
    add_perf_options(*app.get_subcommand("stat"), kStat);
    add_perf_options(*app.get_subcommand("script"), kScript);
    add_perf_options(*app.get_subcommand("annotate"), kAnnotate);
}

std::string_view instead_of_perf_command(std::string_view name) {
    for (const Instead& entry : kInstead) {
        if (entry.perf_command == name) {
            return entry.way;
        }
    }
    return "";
}

}  // namespace perfleet
