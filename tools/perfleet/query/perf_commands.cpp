#include "tools/perfleet/query/perf_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "daemon/option/program_options.h"
#include "target-collector/linux/perf_options.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr std::string_view kToPerfMemory =
    "perf itself records and reports it; 'perfleet record -d -W -- COMMAND' has the addresses of data and the costs";

struct Instead {
    std::string_view perf_command;
    std::string_view way;
};

constexpr Instead kInstead[] = {
    {"archive", "the session keeps the symbol tables of sampled files"},
    {"buildid-cache", "the session keeps the symbol tables of sampled files"},
    {"buildid-list", "'perfleet symbols --wide'"},
    {"c2c", kToPerfMemory},
    {"daemon", "perfleet-collector sends to a perfleet-gateway, as a service"},
    {"data", "'perfleet script --format json'"},
    {"evlist", "'perfleet sessions --wide'"},
    {"ftrace", "'perfleet record -a -e sched:sched_switch -- COMMAND', then 'perfleet tracepoints'"},
    {"inject", "perfleet sets names and build-ids by itself"},
    {"kmem", "'perfleet record -a -e kmem:mm_page_alloc -- COMMAND', then 'perfleet tracepoints'"},
    {"kvm", "'perfleet record -a -e sched:sched_switch -- COMMAND' for any tracepoints (kvm:kvm_exit)"},
    {"kwork", "'perfleet record -a -e irq:softirq_entry,irq:softirq_exit -- COMMAND', then 'perfleet tracepoints'"},
    {"load",
     "'perfleet flamegraph -o FILE.html' draws the last recording; perfleet import reads files of perf and pprof"},
    {"lock", "'perfleet record -a -e lock:contention_begin -- COMMAND', then 'perfleet tracepoints'"},
    {"mem", kToPerfMemory},
    {"probe",
     "perf probe sets the probe, and record -e probe:NAME counts it; 'perfleet latency --function "
     "libc:getenv -- COMMAND' times calls without one"},
    {"sched", "'perfleet record -a -e sched:sched_switch -- COMMAND', then 'perfleet timeline -o timeline.html'"},
    {"setup", "'perfleet record -- COMMAND' needs none; its messages name what is missing"},
    {"timechart", "'perfleet record -a -e sched:sched_switch -- COMMAND', then 'perfleet timeline -o timeline.html'"},
    {"trace", "'perfleet record -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -- COMMAND', then 'perfleet script'"},
};

constexpr std::string_view kBenchmarksOfPerf[] = {"sched", "syscall",   "mem",    "numa",       "futex",
                                                  "epoll", "internals", "uprobe", "breakpoint", "all"};

// Options of perf that are another option's name.
struct PerfAlias {
    std::string_view command;
    std::string_view option;
    std::string_view letter;
};
constexpr PerfAlias kAliases[]{
    {"report", "symbol", "S"}, {"report", "comm", "c"},   {"report", "image", "d"}, {"top", "event", "e"},
    {"top", "limit", "E"},     {"script", "symbol", "S"}, {"script", "comm", "c"},  {"annotate", "image", "d"},
};

constexpr PerfOption kOfProfiles[]{
    {"-f,--force", false, "files of any owner are read", true},
    {"-k,--vmlinux,--kallsyms", true, "the kernel's symbols are stored with the session", true},
    {"--ignore-vmlinux", false, "the kernel's symbols are stored with the session", true},
    {"--skip-empty,--no-inline", false, "that is so already", true},
    {"--demangle,--no-demangle,--demangle-kernel", false, "names are always demangled", true},
    {"-w,--column-widths", true, "columns are as wide as they need to be", true},
    {"-v,--verbose", false, "--addresses and --wide show more", true},
    {"--tui,--gtk,--raw-trace,--ns,-I,--show-info", false, "the table is text", true},
    {"--percentage,-M,--disassembler-style", true, "percentages are those of what is selected", true},
    {"--max-stack", true, "whole call chains are counted", true},
    {"--inline", false, "use --inlines"},
    {"-G", false, "'perfleet top --callers FUNCTION' or 'perfleet tree --inverted'"},
    {"--hierarchy", false, "'perfleet top --by command,image', or 'perfleet tree'"},
    {"--header,--header-only", false, "'perfleet sessions --wide'"},
};
constexpr PerfOption kReport[]{
    {"-q,--quiet", false, "warnings stand on standard error", true},
    {"-x,--exclude-other", false, "without --parent nothing is another", true},
    {"--group,--no-group", false, "a profile is of one event; --event chooses it", true},
    {"-F,--fields", true, "'perfleet report --by COLUMNS'"},
    {"-t,--field-separator", true, "'perfleet report --format csv'"},
    {"-p,--parent", true, "'perfleet top --callers FUNCTION'"},
    {"-b,--branch-stack,--mem-mode", false,
     "'perfleet script' lists what samples have; perf reads 'perfleet export --to perf.data'"},
    {"-U,--hide-unresolved", false, "'perfleet report --symbol FUNCTION' chooses functions"},
    {"--stats,--mmaps", false, "'perfleet losses', and 'perfleet events'"},
    {"-D,--dump-raw-trace", false, "'perfleet script'"},
    {"--tasks", false, "'perfleet report --by thread'"},
};
constexpr PerfOption kTop[]{
    {"-m,--mmap-pages", true, "rings belong to perfleet record", true},
    {"-r,--realtime", true, "rings belong to perfleet record", true},
};
constexpr PerfOption kTree[]{
    {"--limit", true, "'perfleet tree --min-percent 5'"},
    {"--max-stack", true, "whole call chains are counted", true},
};
constexpr const char* kNameEvents = "'perfleet stat -e cycles,instructions,cache-references,cache-misses -- COMMAND'";
constexpr const char* kSums = "counts are sums over processors and threads";
constexpr PerfOption kStat[]{
    {"-B,--big-num,--no-big-num", false, "the table has no separators of thousands", true},
    {"-v,--verbose,-q,--quiet,--table,-n,--null,-c,--scale,-S,--sync", false, "the table is as it is", true},
    {"-A,--no-aggr,--per-core,--per-socket,--per-die,--per-node,--per-thread,--per-cache", false, kSums, true},
    {"--timeout", true, "'perfleet stat -a --duration 1'"},
    {"-D,--delay", true, "start the program first, then 'perfleet stat -p PID -- COMMAND'"},
    {"-t,--tid", true, "a process is counted with its threads: 'perfleet stat -p PID -- COMMAND'"},
    {"-C,--cpu", true, "all processors are counted: 'perfleet stat -a -- COMMAND'"},
    {"-M,--metrics", true, kNameEvents},
    {"-T,--transaction,--topdown,-d,--detailed,--metric-only,--smi-cost", false, kNameEvents},
    {"-i,--no-inherit", false, "children are counted, too", true},
    {"--append", false, "'perfleet stat --force -o FILE -- COMMAND' replaces a file"},
};
constexpr PerfOption kScript[]{
    {"--max-events", true, "use '| head'"},
    {"--reltime,--deltatime", false, "times are those of the clock: 'perfleet script -F +time'"},
    {"-s,--script,-g,--gen-script", true, "'perfleet export --to perf.data', then perf script runs scripts"},
    {"-I,--show-info,--header", false, "'perfleet sessions --wide'"},
};
constexpr PerfOption kAnnotate[]{
    {"--stdio,--stdio2,--tui,-l,--print-line,-P,--full-paths", false, "the listing is text, with whole paths", true},
    {"-k,--vmlinux", true, "the kernel's symbols are stored with the session", true},
    {"-s", true, "the function is an argument: 'perfleet annotate FUNCTION'"},
};
// hyperfine's.
constexpr const char* kMarkdown = "'perfleet compare --format markdown -- COMMAND' prints the table";
constexpr PerfOption kCompare[]{
    {"-N", false, "commands run without a shell, unless --shell names one", true},
    {"--style,--sort", true, "the table is text, in the order of the command line", true},
    {"-u,--time-unit", true, "times are in the units that suit them", true},
    {"--output,--min-benchmarking-time", true, "what commands print on standard output is dropped", true},
    {"--show-output", false, "what commands print on standard output is dropped", true},
    {"-m,--min-runs", true, "'perfleet compare --precision 500 -- COMMAND' runs until the time is known"},
    {"-M,--max-runs", true, "'perfleet compare --precision 500 --runs 20 -- COMMAND' runs at most so often"},
    {"-P,--parameter-scan", true, "'perfleet compare --parameter n 1..3 -- COMMAND'"},
    {"-D,--parameter-step-size", true, "'perfleet compare --parameter n 1 3 5 -- COMMAND'"},
    {"--command-name", true, "commands are named by their words; '--save NAME' keeps a baseline"},
    {"-C,--conclude", true, "'perfleet compare --prepare true -- COMMAND' runs it before each run"},
    {"--export-json", true, "'perfleet compare --format json -- COMMAND' prints it"},
    {"--export-csv", true, "'perfleet compare --format csv -- COMMAND' prints it"},
    {"--export-markdown,--export-asciidoc,--export-orgmode", true, kMarkdown},
};

void note(const std::string& text) { print_note(text); }

}  // namespace

void add_perf_query_options(CLI::App& app) {
    for (const char* const name : {"top", "report"}) {
        add_perf_options(*app.get_subcommand(name), kOfProfiles, note);
    }
    add_perf_options(*app.get_subcommand("top"), kTop, note);
    add_perf_options(*app.get_subcommand("report"), kReport, note);
    add_perf_options(*app.get_subcommand("compare"), kCompare, note);
    add_perf_options(*app.get_subcommand("tree"), kTree, note);
    add_perf_options(*app.get_subcommand("stat"), kStat, note);
    add_perf_options(*app.get_subcommand("script"), kScript, note);
    add_perf_options(*app.get_subcommand("annotate"), kAnnotate, note);
}

std::vector<OptionSpec> with_perf_aliases(std::string_view command, std::vector<OptionSpec> options) {
    for (const PerfAlias& alias : kAliases) {
        for (OptionSpec& option : options) {
            if (alias.command == command && alias.option == option.name) {
                option.aliases.emplace_back(alias.letter);
            }
        }
    }
    return options;
}

std::string_view instead_of_perf_command(std::string_view name, std::string_view next) {
    if (name == "bench" && std::ranges::find(kBenchmarksOfPerf, next) != std::end(kBenchmarksOfPerf)) {
        return "those benchmarks are perf's own; 'perfleet stat -r 3 -- COMMAND' counts what one does";
    }
    for (const Instead& entry : kInstead) {
        if (entry.perf_command == name) {
            return entry.way;
        }
    }
    return "";
}

}  // namespace perfleet
