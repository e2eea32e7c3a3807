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
    std::string_view name;
};
constexpr PerfAlias kAliases[]{
    {"report", "symbol", "S"},   {"report", "comm", "c"},   {"report", "image", "d"}, {"report", "by", "F"},
    {"report", "by", "fields"},  {"top", "by", "fields"},   {"top", "event", "e"},    {"top", "limit", "E"},
    {"top", "limit", "entries"}, {"script", "symbol", "S"}, {"script", "comm", "c"},  {"annotate", "image", "d"},
    {"diff", "symbol", "S"},     {"diff", "image", "d"},
};

constexpr const char* kKernelSymbols = "the kernel's symbols are stored with the session";
constexpr const char* kAsItIs = "the table is as it is";
constexpr const char* kOneEvent = "a profile is of one event; --event chooses it";
constexpr const char* kDisassembly = "'perfleet annotate FUNCTION' disassembles";
constexpr const char* kProcessorTraces = "processor traces aren't recorded; perf itself reads them";
constexpr const char* kPartOfTime = "'perfleet report --time 10%-20%' chooses a part of the time";
constexpr PerfOption kOfProfiles[]{
    {"-k,--vmlinux,--kallsyms", true, kKernelSymbols, true},
    {"--ignore-vmlinux", false, kKernelSymbols, true},
    {"--skip-empty,--no-inline", false, "that is so already", true},
    {"--demangle,--no-demangle,--demangle-kernel", false, "names are always demangled", true},
    {"-w,--column-widths", true, "columns are as wide as they need to be", true},
    {"-v,--verbose", false, "--addresses and --wide show more", true},
    {"--tui,--gtk", false, "the table is text", true},
    {"--raw-trace,--ns,-I,--show-info,--show-on-off-events,--stitch-lbr", false, kAsItIs, true},
    {"--percentage", true, "percentages are those of what is selected", true},
    {"--stdio-color", true, "--color and NO_COLOR choose colours", true},
    {"--max-stack", true, "whole call chains are counted", true},
    {"--group-sort-idx", true, kOneEvent, true},
    {"--group,--no-group", false, kOneEvent, true},
    {"-M,--disassembler-style,--objdump,--prefix,--prefix-strip", true, kDisassembly, true},
    {"--asm-raw,--source,--no-source", false, kDisassembly, true},
    {"--switch-on,--switch-off", true, kPartOfTime},
    {"--ignore-callees", true, "'perfleet top --callers FUNCTION'"},
    {"--inline", false, "use --inlines"},
    {"-G,--inverted", false, "'perfleet top --callers FUNCTION' or 'perfleet tree --inverted'"},
    {"--hierarchy", false, "'perfleet top --by command,image', or 'perfleet tree'"},
    {"--header,--header-only", false, "'perfleet sessions --wide'"},
};
constexpr PerfOption kReport[]{
    {"-f,--force", false, "files of any owner are read", true},
    {"-m,--modules", false, kKernelSymbols, true},
    {"-q,--quiet", false, "warnings stand on standard error", true},
    {"-x,--exclude-other", false, "without --parent nothing is another", true},
    {"--full-source-path,--show-ref-call-graph,--disable-order", false, kAsItIs, true},
    {"--pretty,--percent-type", true, kAsItIs, true},
    {"-t,--field-separator", true, "'perfleet report --format csv'"},
    {"-p,--parent", true, "'perfleet top --callers FUNCTION'"},
    {"-b,--branch-stack,--mem-mode,--branch-history,--total-cycles", false,
     "'perfleet script' lists what samples have; perf reads 'perfleet export --to perf.data'"},
    {"-U,--hide-unresolved", false, "'perfleet report --symbol FUNCTION' chooses functions"},
    {"--symbol-filter", true, "'perfleet report --symbol FUNCTION'"},
    {"--socket-filter", true, "'perfleet report --cpu 0' chooses processors"},
    {"--show-cpu-utilization", false, "'perfleet report --by image' has the kernel's share"},
    {"--samples", true, "'perfleet script' lists each sample"},
    {"--time-quantum", true, "'perfleet timeline -o timeline.html'"},
    {"--itrace", true, kProcessorTraces},
    {"--stats,--mmaps", false, "'perfleet losses', and 'perfleet events'"},
    {"-D,--dump-raw-trace", false, "'perfleet script'"},
    {"--tasks,-T", false, "'perfleet report --by thread'"},
};
constexpr PerfOption kTop[]{
    {"-m,--mmap-pages,-r,--realtime,--proc-map-timeout,--num-thread-synthesize", true,
     "rings belong to perfleet record", true},
    {"--overwrite,--all-cgroups,--namespaces,--no-bpf-event", false, "rings belong to perfleet record", true},
    {"-D,--dump-symtab,--zero,--no-inherit", false, kAsItIs, true},
    {"--delay", true, "'perfleet top -d 1'"},
    {"-f,--count-filter", true, "'perfleet top --percent-limit 1'"},
    {"--sym-annotate", true, "'perfleet annotate FUNCTION'"},
    {"-t", true, "-p samples a process with its threads, and --tid shows one thread of a recording"},
    {"-j,--branch-filter", true, "perfleet record -b has branches"},
    {"-b,--branch-any", false, "perfleet record -b has branches"},
};
constexpr PerfOption kTree[]{
    {"--limit", true, "'perfleet tree --min-percent 5'"},
    {"--max-stack", true, "whole call chains are counted", true},
};
constexpr const char* kNameEvents = "'perfleet stat -e cycles,instructions,cache-references,cache-misses -- COMMAND'";
constexpr const char* kSums = "counts are sums over processors and threads";
constexpr PerfOption kStat[]{
    {"-B,--big-num,--no-big-num", false, "the table has no separators of thousands", true},
    {"-v,--verbose,-q,--quiet,--table,-n,--null,-c,--scale,-S,--sync", false, kAsItIs, true},
    {"--interval-clear,--summary,--no-csv-summary,--hybrid-merge,--no-merge", false, kAsItIs, true},
    {"--metric-no-group,--metric-no-merge,--percore-show-thread", false, kAsItIs, true},
    {"--cputype", true, kAsItIs, true},
    {"--all-user,--all-kernel", false, "'perfleet stat -e task-clock:u -- COMMAND', or :k"},
    {"--interval-count", true, "'perfleet stat -a -I 50 --duration 0.2'"},
    {"--log-fd", true, "'perfleet stat --force -o FILE -- COMMAND'"},
    {"--pre,--post", true, "'perfleet compare --prepare true -- COMMAND' runs it before each run"},
    {"--control", true, "'perfleet stat -p PID -- COMMAND' counts while another command runs"},
    {"--filter", true, "'perfleet record -e sched:sched_switch -- COMMAND' has --filter"},
    {"-G,--cgroup,--for-each-cgroup", true, "a command is counted with its children, and the machine with -a"},
    {"-g,--group", false, "events in braces are counted together: -e {cs,faults}"},
    {"--iostat,--td-level", true, kNameEvents},
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
constexpr const char* kScripts = "'perfleet export --to perf.data', then perf script runs scripts";
constexpr const char* kRows = "samples and tracepoints are printed; 'perfleet losses' counts what was lost";
constexpr PerfOption kScript[]{
    {"--max-events", true, "use '| head'"},
    {"--reltime,--deltatime", false, "times are those of the clock: 'perfleet script -F +time'"},
    {"-s,--script,-g,--gen-script,--dlfilter,--dlarg", true, kScripts},
    {"-l,--list,--list-dlfilters", false, kScripts},
    {"-I,--show-info,--header,--header-only", false, "'perfleet sessions --wide'"},
    {"-f,--force", false, "files of any owner are read", true},
    {"-k,--vmlinux,--kallsyms", true, kKernelSymbols, true},
    {"--guestkallsyms,--guestmodules,--guestmount,--guestvmlinux", true, "guests' symbols aren't read", true},
    {"-v,--verbose,-d,--debug-mode,-L,--Latency,--demangle,--demangle-kernel,--full-source-path", false, kAsItIs, true},
    {"--show-kernel-path,--guest-code,--stitch-lbr", false, kAsItIs, true},
    {"--show-task-events,--show-mmap-events,--show-switch-events,--show-namespace-events", false, kRows, true},
    {"--show-cgroup-events,--show-lost-events,--show-round-events,--show-bpf-events", false, kRows, true},
    {"--show-text-poke-events,--show-on-off-events", false, kRows, true},
    {"--max-stack,--stop-bt", true, "whole call chains are printed", true},
    {"-a,--all-cpus", false, "'perfleet record -a -- COMMAND', then perfleet script"},
    {"-D,--dump-raw-trace,--dump-unsorted-raw-trace", false, "perf reads 'perfleet export --to perf.data'"},
    {"--per-event-dump", false, "--event chooses one"},
    {"--inline", false, "'perfleet top --inlines'"},
    {"--switch-on,--switch-off", true, kPartOfTime},
    {"--itrace,--call-trace,--call-ret-trace,--insn-trace,--graph-function,--addr-range,--max-blocks", true,
     kProcessorTraces},
    {"--xed", false, kProcessorTraces},
};
constexpr PerfOption kAnnotate[]{
    {"--stdio,--stdio2,--tui,-l,--print-line,-P,--full-paths", false, "the listing is text, with whole paths", true},
    {"-k,--vmlinux", true, kKernelSymbols, true},
    {"--ignore-vmlinux,-m,--modules", false, kKernelSymbols, true},
    {"-f,--force", false, "files of any owner are read", true},
    {"-q,--quiet,-v,--verbose,-D,--dump-raw-trace,--skip-missing,--group,--demangle,--demangle-kernel", false, kAsItIs,
     true},
    {"-n,--show-nr-samples,--show-total-period,--source,--asm-raw", false, kAsItIs, true},
    {"-M,--disassembler-style,--prefix,--prefix-strip,--percent-type,--percent-limit,--stdio-color", true, kAsItIs,
     true},
    {"--itrace", true, kProcessorTraces},
    {"-s", true, "the function is an argument: 'perfleet annotate FUNCTION'"},
};
constexpr PerfOption kDiff[]{
    {"-f,--force", false, "files of any owner are read", true},
    {"-q,--quiet,-v,--verbose,-F,--formula,-p,--period,-b,--baseline-only,--cycles-hist,--stream", false, kAsItIs,
     true},
    {"-m,--modules", false, kKernelSymbols, true},
    {"--kallsyms", true, kKernelSymbols, true},
    {"-c,--compute,-o,--order,--percentage", true, "both shares, their difference and its interval are shown", true},
    {"-s,--sort", true, "profiles are compared by function; --comm, --image and --symbol choose rows"},
    {"-t,--field-separator", true, "'perfleet diff --format csv'"},
    {"-D,--dump-raw-trace", false, "'perfleet script'"},
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
    add_perf_options(*app.get_subcommand("diff"), kDiff, note);
}

std::vector<OptionSpec> with_perf_aliases(std::string_view command, std::vector<OptionSpec> options) {
    for (const PerfAlias& alias : kAliases) {
        for (OptionSpec& option : options) {
            if (alias.command == command && alias.option == option.name) {
                option.aliases.emplace_back(alias.name);
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
