#include "target-collector/linux/command_line.h"

#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "daemon/option/option.h"
#include "daemon/option/program_options.h"
#include "schemas/perf/perf_event.h"
#include "schemas/perf/registers.h"
#include "target-collector/linux/host/cpu_budget.h"
#include "target-collector/linux/host/machine_state.h"
#include "target-collector/linux/host/processor_pmu.h"
#include "target-collector/linux/option_check.h"
#include "target-collector/linux/perf_options.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/cpu_list.h"
#include "target-collector/source/linux/event/event_list.h"
#include "target-collector/source/linux/event/period_jitter.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {
namespace {

namespace type = perf::sample_type;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitNotRunnable = 126;
constexpr int kExitNotFound = 127;

// Refuses what strtoull() would take for a number, a minus sign among others.
std::string check_whole_number(const std::string& text) {
    const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? "" : "'" + text + "' is no whole number";
}

std::string check_process_id(const std::string& text) {
    return check_whole_number(text).empty() ? "" : "'" + text + "' is no process's or thread's number";
}

std::string check_above_zero(const std::string& text) {
    return std::strtod(text.c_str(), nullptr) > 0 ? "" : "'" + text + "' isn't above 0";
}

std::string check_zero_or_more(const std::string& text) {
    return std::strtod(text.c_str(), nullptr) >= 0 ? "" : "'" + text + "' isn't 0 or more";
}

std::string check_cpu_list(const std::string& text) {
    return parse_cpu_list(text).empty() ? "'" + text + "' is no list of CPUs; write 0,2-3" : "";
}

// Runs after the option's transform, which converts the text to bytes.
auto check_size_from(std::size_t size_bytes_min) {
    return [size_bytes_min](const std::string& bytes) {
        const std::uint64_t size_bytes = std::strtoull(bytes.c_str(), nullptr, 10);
        const bool is_within = size_bytes >= size_bytes_min && size_bytes <= kMemorySizeBytesMax;
        return is_within ? std::string{} : size_bounds_text(size_bytes_min);
    };
}

// perf also takes ranges of times here; a recording starts only once.
std::string check_delay(const std::string& text) {
    if (text.find('-', 1) != std::string::npos || text.find(',') != std::string::npos) {
        return "'" + text + "' are ranges, which aren't supported: -D MS names the begin, --duration S the end";
    }
    return std::strtod(text.c_str(), nullptr) >= -1 ? "" : "'" + text + "': milliseconds, or -1 to wait for a command";
}

constexpr const char* kCollectorFooter =
    "perfleet-collector [--gateway ENDPOINT[,ENDPOINT...] | --output FILE]\n"
    "                   [-e EVENTS] [-F HZ | -c COUNT] [-g] [--label K=V]...\n"
    "                   (-a | -C CPUS | -p PID | -t TID | --uid USER | -- COMMAND...)\n\n"
    "Examples:\n"
    "  perfleet-collector --gateway tcp://127.0.0.1:7411 -a -g -F 99\n"
    "  perfleet-collector --gateway tcp://127.0.0.1:7411 -e page-faults -- make -j8\n\n"
    "Memory: on top of --ring-size, --spool-size (without --spool) and the kernel's rings come\n"
    "up to 64 MiB for the program, and with unwinding by tables up to 96 MiB for these.";

// Enough samples even for a short program, at a cost of 1 to 2 %.
constexpr std::uint64_t kRecordFrequencyHz = 999;

constexpr const char* kRecordFooter =
    "perfleet record [-e EVENTS] [-F HZ | -c COUNT] [-g] [--data DIR] [--label K=V]...\n"
    "                (-a | -C CPUS | -p PID | -t TID | --uid USER | -- COMMAND...)\n\n"
    "Examples:\n"
    "  perfleet record -g -- xz -k some-file\n"
    "  perfleet record -e page-faults -c 1 -- make\n"
    "  perfleet record -a -g --duration 10";

// As in perf, a filter applies to the -e before it; several filters of one -e must all match.
void add_filters(const std::vector<std::string>& filters, CollectorOptions& options) {
    if (options.events.empty()) {
        throw CLI::ValidationError("--filter", "it follows the -e whose tracepoints it filters");
    }
    options.event_filters.resize(options.events.size());
    for (const std::string& filter : filters) {
        std::string& whole = options.event_filters.back();
        whole = whole.empty() ? filter : "(" + whole + ") && (" + filter + ")";
    }
}

Result<Done> add_labels(CommandLine& line) {
    CollectorOptions& options = line.options;
    if (line.has_machine_state && !options.key_file.empty()) {
        return Error{ErrorCode::kUsage, "--machine-state: not with --key: labels are those of the key"};
    }
    for (const std::string& label : line.labels) {
        const std::size_t equals = label.find('=');
        options.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
    }
    if (line.has_machine_state) {
        auto state = machine_state();
        for (auto& label : processor_pmu()) {
            state.push_back(std::move(label));
        }
        for (auto& [name, text] : state) {
            const bool is_given = std::any_of(options.labels.begin(), options.labels.end(),
                                              [&, &key = name](const auto& label) { return label.first == key; });
            if (!is_given) {
                options.labels.emplace_back(name, text);
            }
        }
    }
    return Done{};
}

std::uint64_t frequency_of(const std::string& text) {
    if (text == "max") {
        const auto rate_max = read_integer_file(kMaxSampleRatePath);
        if (!rate_max || *rate_max <= 0) {
            throw CLI::ValidationError("-F max", std::string{kMaxSampleRatePath} + " can't be read; give a number");
        }
        return static_cast<std::uint64_t>(*rate_max);
    }
    std::uint64_t frequency_hz = 0;
    if (const std::string wrong = check_whole_number(text);
        !wrong.empty() || !CLI::detail::lexical_cast(text, frequency_hz)) {
        throw CLI::ValidationError("-F", "'" + text + "' is no frequency; write whole Hz, or max");
    }
    if (frequency_hz == 0) {
        throw CLI::ValidationError("-F", "a frequency is at least 1 Hz");
    }
    return frequency_hz;
}

// As in perf: a multiple of 8 bytes, below 64 KiB.
std::uint32_t user_stack_bytes_of(const std::string& text) {
    constexpr std::uint32_t kBytesMax = 65'528;
    std::uint32_t size_bytes = text.empty() ? kUserStackBytes : 0;
    if (!text.empty() && (!check_whole_number(text).empty() || !CLI::detail::lexical_cast(text, size_bytes) ||
                          size_bytes == 0 || size_bytes > kBytesMax)) {
        throw CLI::ValidationError("--call-graph dwarf", "'" + text + "' is no size of a stack's copy; write up to " +
                                                             std::to_string(kBytesMax) + " bytes: dwarf,16384");
    }
    return (size_bytes + 7) / 8 * 8;
}

void choose_callchain(const std::string& mode, CollectorOptions& options) {
    const std::size_t comma = std::min(mode.find(','), mode.size());
    const std::string name = mode.substr(0, comma);
    for (const auto& [known, chosen] :
         {std::pair{"auto", CallChainMode::kAuto}, std::pair{"fp", CallChainMode::kFramePointers},
          std::pair{"bpf", CallChainMode::kBpf}, std::pair{"no", CallChainMode::kNone},
          std::pair{"none", CallChainMode::kNone}}) {
        if (mode == known) {
            options.call_chains = chosen;
            return;
        }
    }
    if (name == "dwarf") {
        options.call_chains = CallChainMode::kDwarf;
        options.user_stack_bytes = user_stack_bytes_of(comma < mode.size() ? mode.substr(comma + 1) : "");
        return;
    }
    if (name == "lbr") {
        throw CLI::ValidationError(
            "--call-graph lbr",
            "branch records of the hardware aren't there yet; auto takes the best of bpf, dwarf and fp");
    }
    throw CLI::ValidationError("--call-graph",
                               "'" + mode + "' is no way to find callers; auto takes the best of bpf, dwarf and fp");
}

void choose_jitter(const std::string& text, CollectorOptions& options) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::uint32_t percent = 0;
    std::uint64_t seed = 0;
    const std::string percent_text = text.substr(0, comma);
    const std::string seed_text = comma < text.size() ? text.substr(comma + 1) : "0";
    if (!check_whole_number(percent_text).empty() || !check_whole_number(seed_text).empty() ||
        !CLI::detail::lexical_cast(percent_text, percent) || !CLI::detail::lexical_cast(seed_text, seed) ||
        percent > PeriodJitter::kPercentMax) {
        throw CLI::ValidationError("--jitter", "'" + text + "' is no jitter; write up to " +
                                                   std::to_string(PeriodJitter::kPercentMax) +
                                                   " percent, and a seed if you like: 10,42");
    }
    options.jitter_percent = percent;
    options.jitter_seed = comma < text.size() ? std::optional{seed} : std::nullopt;
}

// As perf's -j. A kind's place is its bit.
void choose_branches(const std::string& list, CollectorOptions& options) {
    constexpr std::array<std::string_view, 19> kKinds{
        "u",    "k",     "hv",      "any",  "any_call", "any_ret",   "ind_call",  "abort_tx", "in_tx", "no_tx",
        "cond", "stack", "ind_jmp", "call", "no_flags", "no_cycles", "save_type", "hw_index", "priv"};
    for (const std::string& word : split_list(list)) {
        const auto found = std::find(kKinds.begin(), kKinds.end(), word);
        if (found == kKinds.end()) {
            std::string all;
            for (const std::string_view name : kKinds) {
                all += (all.empty() ? "" : ", ") + std::string{name};
            }
            throw CLI::ValidationError("-j", "'" + word + "' isn't a kind of branches; the kinds are " + all);
        }
        options.details.branch_type |= std::uint64_t{1} << (found - kKinds.begin());
    }
    constexpr std::uint64_t kWhere = 7;
    options.details.branch_type |= (options.details.branch_type & ~kWhere) == 0 ? std::uint64_t{8} : 0;  // any
    options.details.fields |= type::kBranchStack;
}

// As perf: names with commas between, in any case.
Result<std::uint64_t> registers_in(const std::string& list, const std::string& option) {
    utsname system{};
    ::uname(&system);
    const std::string_view machine{system.machine};
    const auto names = perf::registers_of(machine);
    const std::uint64_t known = perf::sampled_registers_of(machine);
    if (!list.empty() && known == 0) {
        return Error{ErrorCode::kUnsupported, option + ": the registers of " + std::string{machine} + " aren't known"};
    }
    std::uint64_t mask = list == "all" ? known : 0;
    for (const std::string& word : list.empty() || list == "all" ? std::vector<std::string>{} : split_list(list)) {
        const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
            return std::equal(name.begin(), name.end(), word.begin(), word.end(), [](char a, char b) {
                return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
            });
        });
        const std::uint64_t bit = found == names.end() ? 0 : known & std::uint64_t{1} << (found - names.begin());
        if (bit == 0) {
            std::string all;
            for (std::size_t i = 0; i < names.size(); ++i) {
                all += (known >> i & 1U) == 0 ? "" : (all.empty() ? "" : ", ") + std::string{names[i]};
            }
            return Error{ErrorCode::kUsage, option + ": '" + word + "' is no register of samples; there are " + all};
        }
        mask |= bit;
    }
    return mask;
}

// As perf's -m: a plain number counts pages, a size has a unit.
std::uint32_t ring_pages_of(const std::string& text) {
    std::uint64_t value = 0;
    std::uint64_t unit_bytes = 0;  // 0: pages
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string unit = text.substr(end);
    for (const auto& [name, bytes] : {std::pair{"B", 1ULL}, std::pair{"K", 1ULL << 10U}, std::pair{"M", 1ULL << 20U},
                                      std::pair{"G", 1ULL << 30U}}) {
        unit_bytes = unit == name || (unit.size() == 2 && unit.front() == *name && unit.back() == 'B' && *name != 'B')
                         ? bytes
                         : unit_bytes;
    }
    const bool is_number = end > 0 && end < 16 && CLI::detail::lexical_cast(text.substr(0, end), value) && value > 0;
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t pages = unit_bytes == 0 ? value : ((value * unit_bytes) + page_bytes - 1) / page_bytes;
    if (!is_number || (!unit.empty() && unit_bytes == 0) || value > (1ULL << 40U) || pages > kRingPagesMax) {
        throw CLI::ValidationError("-m", "'" + text + "' is no size of a ring; write pages, at most " +
                                             std::to_string(kRingPagesMax) + ", or a size like 512K or 1M");
    }
    return static_cast<std::uint32_t>(std::bit_ceil(pages));
}

// What is sampled, how often and with which call chains: the rows that `top` has, too, whose --pid chooses rows.
std::vector<OptionRow> sampling_rows(CommandLine& line, bool is_top) {
    CollectorOptions& options = line.options;
    return {
        {"-F,--freq HZ", [&options](const std::string& text) { options.frequency_hz = frequency_of(text); },
         "Samples a second on each CPU; max: as many as the kernel allows. Default: " +
             std::to_string(options.default_frequency_hz) + ", for tracepoints -c 1"},
        {"-c,--count N", options.period, "A sample every so many events", is_checked_by(check_whole_number),
         is_checked_by(check_above_zero), excludes({"--freq"})},
        {"-g",
         [&options] {
             if (options.call_chains == CallChainMode::kNone) {
                 options.call_chains = CallChainMode::kAuto;
             }
         },
         "Record call chains, as --call-graph auto"},
        {"--call-graph MODE", [&options](const std::string& mode) { choose_callchain(mode, options); },
         "Record call chains: bpf (unwound in the kernel by the programs' unwind tables), dwarf[,SIZE] (by the same "
         "tables from a copy of SIZE bytes of the stack, 8192 by default), fp (by frame pointers), or auto: bpf, "
         "where it isn't possible dwarf for programs without frame pointers, else fp"},
        {"-a,--all-cpus", options.all_cpus, "Everything that runs on the machine"},
        {is_top ? "-p PID" : "-p,--pid PID", options.pids, "Processes, with their threads and children",
         is_checked_by(check_process_id), is_comma_list},
        {"-u,--uid USER", line.user, "The processes that a user runs now, and their children"},
        {is_top ? "-K,--all-user,--hide_kernel_symbols" : "--all-user", options.all_user, "User space only"},
        {is_top ? "-U,--all-kernel,--hide_user_symbols" : "--all-kernel", options.all_kernel, "The kernel only"}};
}

void add_common_options(CLI::App& app, CommandLine& line) {
    CollectorOptions& options = line.options;
    using Words = std::vector<std::string>;
    // Called in the order of the command line, so that a filter applies to the events before it.
    add_options(
        app,
        {{"-e,--event EVENTS",
          [&options](const Words& lists) { std::ranges::copy(lists, std::back_inserter(options.events)); },
          "Events as perf spells them, with commas between: cpu-clock, page-faults:u, 'sched:*', cycles/period=10000/, "
          "cpu/event=0xc2,umask=1/, r1a8, mem:0x601040:w; in braces those that are counted all or none: "
          "{cache-misses,instructions}. Default: cycles, or cpu-clock where there is no counter",
          is_one_each, is_called_in_order},
         {"--filter FILTER", [&options](const Words& filters) { add_filters(filters, options); },
          "Record only those entries of the -e before it, which is of tracepoints, whose fields pass: 'prev_pid == 0 "
          "&& prev_comm ~ \"make*\"'",
          is_one_each, is_called_in_order}});
    add_options(app, sampling_rows(line, false));
    add_options(
        app,
        {{"--strict-freq", options.is_frequency_strict,
          "Refuse a frequency above the kernel's limit, instead of sampling at the limit"},
         {"--jitter PERCENT[,SEED]", [&options](const std::string& text) { choose_jitter(text, options); },
          "With -c: how far the periods of processors and threads may be off N, in percent, so that no loop of a "
          "program is in step with all of them; each sample weighs its own. 0: all are N. With a SEED the periods are "
          "the same each time (default: 10)"},
         {"-d", [&options] { options.details.fields |= type::kAddr | type::kDataSrc; },
          "Record the data address of each sample, if the event has one, such as page-faults"},
         {"--phys-data", [&options] { options.details.fields |= type::kAddr | type::kPhysAddr; },
          "Record the address of data as a physical one, too"},
         {"--data-page-size", [&options] { options.details.fields |= type::kAddr | type::kDataPageSize; },
          "Record the size of the page of data"},
         {"--code-page-size", [&options] { options.details.fields |= type::kCodePageSize; },
          "Record the size of the page of code"},
         {"-W,--weight", [&options] { options.details.fields |= type::kWeight; },
          "Record the hardware's weight of samples, such as the latency of a load"},
         {"--transaction", [&options] { options.details.fields |= type::kTransaction; },
          "Record the flags of transactions"},
         {"-b,--branch-any", [&options] { choose_branches("any", options); },
          "Record the latest branches with each sample, where the processor keeps them"},
         {"-j,--branch-filter FILTER", [&options](const std::string& list) { choose_branches(list, options); },
          "Only branches of these kinds: any, any_call, any_ret, ind_call, call, cond, u, k … with commas"},
         {"-I{all},--intr-regs{all}", line.interrupt_registers,
          "Record the registers where a sample interrupted: all, or with commas those of a list: --intr-regs=ax,ip. "
          "'perfleet script -F +iregs' prints them"},
         {"--user-regs{all}", line.user_registers,
          "Record the registers of the program, also where a sample interrupted the kernel: all, or a list. "
          "'perfleet script -F +uregs' prints them"},
         {"--off-cpu", options.has_off_cpu,
          "Follow threads off the CPU, too, by BPF where it can be: time blocked (event offcpu-time), runnable but "
          "waiting for a CPU (runqueue-time), and who woke them (wakeup-time), by call chain; about a row for each "
          "-F-th of a second of it"},
         {"-C,--cpu LIST", [&line](const std::string& list) { line.cpu_lists.push_back(list); },
          "Only these CPUs: 0,2-3. Alone, or with a command, everything that runs on them",
          is_checked_by(check_cpu_list), is_called_in_order},
         {"-t,--tid TID", options.tids, "Threads, without their children", is_checked_by(check_process_id),
          is_comma_list},
         {"-i,--no-inherit", [&options] { options.is_inherited = false; },
          "Without the threads and processes that start later"},
         {"-D,--delay MS", options.delay_ms,
          "Begin to sample so many milliseconds after the start; -1: at a request of 'perfleet control'",
          is_checked_by(check_delay)},
         {"--label KEY=VALUE", line.labels, "A label of this target, KEY=VALUE", is_label},
         {"--machine-state", line.has_machine_state,
          "Governor, turbo, frequency, kernel, processor and its counters as labels, as they are at the start. Not "
          "with --key: there labels are those of the key"},
         {"--target NAME", options.target_name, "The target's name. Default: that of the key, else the host's"},
         {"--include-self", options.include_self, "With -a: the collector's own samples, too"},
         {"--duration S", options.duration_s, "Stop after so many seconds", is_checked_by(check_above_zero)},
         {"-m,--mmap-pages,--ring-pages PAGES|SIZE",
          [&options](const std::string& text) { options.ring_pages = ring_pages_of(text); },
          "The kernel's ring on each CPU: pages, or a size (64K, 1M), rounded up to a power of two. Default: 1 MB; "
          "if stacks are copied (-g), enough for half a second of copies, from 1 MB to a total of 64 MB for all CPUs"},
         {"--ring-size SIZE", options.collector_ring_size_bytes, "Size of the collector's own ring (KB, MB)", is_size,
          is_checked_by(check_size_from(kBatchRingSizeBytesMin))},
         {"--spool-size SIZE", options.spool_size_bytes,
          "Space for batches that aren't acknowledged yet (KB, MB); the oldest are dropped when it is full. Default: "
          "64 MB of memory, or 256 MB of the --spool folder",
          is_size, is_checked_by(check_size_from(kSpoolSizeBytesMin))},
         {"--exit-wait S", options.exit_wait_s, "At the end: seconds to wait for the last acknowledgement",
          is_checked_by(check_zero_or_more)},
         {"!--no-keep-symbols", options.keeps_symbols,
          "Don't keep the symbol tables of sampled files in the store: a file that is rebuilt or removed loses its "
          "names"},
         {"--cache DIR", options.cache_folder,
          "Folder where symbols and tables for unwinding are kept for later sessions, at most 256 MiB; no other user "
          "may write to it. none: they are made anew. Default: $XDG_CACHE_HOME/perfleet, or ~/.cache/perfleet",
          is_not_empty}});
    add_perf_record_options(app, [&line](const std::string& note) { line.notes.push_back(note); });
    add_options(app, {{"command COMMAND", options.command,
                       "The command to profile, after --; with -a, -C, -p, -t or --uid recording lasts as long as it",
                       is_at_end}});
}

void add_record_options(CLI::App& app, CommandLine& line) {
    add_options(
        app,
        {{"--data DIR", line.data_folder,
          "Folder of the store. Default: $XDG_DATA_HOME/perfleet, else ~/.local/share/perfleet", is_not_empty},
         {"-o,--output FILE", line.output_file,
          "Also write a file at the end: perf.data, or the format of its suffix (.html, .svg, .json, .speedscope.json, "
          ".pb.gz, .folded); an existing FILE is kept as FILE.old",
          is_not_empty},
         {"-q,--quiet", line.is_quiet, "Print errors only"},
         {"--switch-output{signal}", line.switch_output,
          "Not needed: the store keeps rows by time. Cut a session when you query it, with --from and --until"}});
}

void add_collector_options(CLI::App& app, CommandLine& line) {
    CollectorOptions& options = line.options;
    add_options(app, gateway_rows(options));
    add_options(app,
                {{"--output FILE", options.output_file, "Write to a file instead of a gateway", is_not_empty,
                  excludes({"--gateway"})},
                 {"--force", options.is_output_forced, "Replace the file of --output if it exists", needs("--output")},
                 {"--spool DIR", options.spool_folder,
                  "Folder for batches that aren't acknowledged yet: after a kill or restart the next run with it "
                  "delivers them. One collector a folder",
                  is_not_empty},
                 {"--spool-sync S", options.spool_sync_s,
                  "With --spool: sync it every so many seconds, for machines that may lose their power. "
                  "Default: when the kernel does, mostly within 30 s; a kill alone loses nothing",
                  is_between(kSpoolSyncSMin, kSpoolSyncSMax), is_not_nan},
                 {"--cpu-budget PERCENT", line.cpu_budget_percent,
                  "With -a: how much of one core the collector and its BPF programs may use, in percent; above it the "
                  "frequency of -F is lowered, and raised again below half of it. 0: no limit. Default: 1 where a "
                  "service manager has started it, else none",
                  is_between(0.0, CpuBudget::kPercentMax), is_not_nan}});
}

Result<Done> choose_registers(CommandLine& line) {
    line.options.details.interrupt_registers = PERFLEET_TRY(registers_in(line.interrupt_registers, "--intr-regs"));
    line.options.details.user_registers = PERFLEET_TRY(registers_in(line.user_registers, "--user-regs"));
    return Done{};
}

Result<Done> choose_what_is_profiled(CommandLine& line) {
    CollectorOptions& options = line.options;
    for (const std::string& list : line.cpu_lists) {
        const std::vector<std::uint32_t> cpus = parse_cpu_list(list);
        if (cpus.empty()) {
            return Error{ErrorCode::kUsage, "-C " + list + ": this is no list of CPUs; write 0,2-3"};
        }
        options.cpus.insert(options.cpus.end(), cpus.begin(), cpus.end());
    }
    if (!line.user.empty()) {
        const passwd* const user = ::getpwnam(line.user.c_str());
        std::uint32_t uid = user != nullptr ? user->pw_uid : 0;
        if (user == nullptr && (!check_whole_number(line.user).empty() || !CLI::detail::lexical_cast(line.user, uid))) {
            return Error{ErrorCode::kUsage, "--uid " + line.user + ": there is no user of this name"};
        }
        options.uid = uid;
    }
    // As in perf, a command then only determines the duration.
    if (!options.cpus.empty() && options.pids.empty() && options.tids.empty() && !options.uid) {
        options.all_cpus = true;
    }
    return Done{};
}

Result<Done> choose_budget(CommandLine& line) {
    CollectorOptions& options = line.options;
    const double wanted = line.cpu_budget_percent.value_or(0);
    if (wanted > 0 && (!options.all_cpus || options.period)) {
        return Error{ErrorCode::kUsage,
                     "--cpu-budget: only the frequency of -F can follow a budget, and only with -a: processes that are "
                     "named keep the rate that they began with"};
    }
    if (wanted > 0 && wanted < CpuBudget::kPercentMin) {
        return Error{ErrorCode::kUsage, "--cpu-budget: at least 0.01 percent of a core, or 0 for no limit"};
    }
    if (wanted > 0) {
        options.cpu_budget_percent = wanted;
    }
    return Done{};
}

}  // namespace

void describe_command_line(CommandLineForm form, CLI::App& app, CommandLine& line) {
    const bool is_record = form == CommandLineForm::kRecord;
    if (is_record) {
        line.options.default_frequency_hz = kRecordFrequencyHz;
        line.options.exit_wait_s = kRecordExitWaitS;
    }
    app.description(is_record ? "Profile a program or this machine, and show where the time went; needs no gateway"
                              : "Profiles this machine and sends the data to a perfleet gateway.");
    app.footer(is_record ? kRecordFooter : kCollectorFooter);
    app.option_defaults()->always_capture_default(false);
    is_record ? add_record_options(app, line) : add_collector_options(app, line);
    add_options(
        app, {{"--list-events", line.lists_events,
               "List named events, and whether this machine counts them, and exit; after it: parts of names or globs, "
               "also of tracepoints"}});
    add_common_options(app, line);
}

void add_live_options(CLI::App& app, CommandLine& line, const std::string& group) {
    line.options.default_frequency_hz = kRecordFrequencyHz;
    add_options(app, sampling_rows(line, true), group);
}

Result<std::optional<CommandLine>> finish_command_line(CommandLine line) {
    if (!line.switch_output.empty()) {
        return Error{ErrorCode::kUsage,
                     "--switch-output: there are no output files to switch: the store keeps rows by time, so record "
                     "once and cut the session when you query it, with --from and --until"};
    }
    PERFLEET_TRY(add_labels(line));
    PERFLEET_TRY(choose_what_is_profiled(line));
    PERFLEET_TRY(choose_budget(line));
    PERFLEET_TRY(choose_registers(line));
    if (line.lists_events) {
        const std::vector<std::string>& patterns = line.options.command;
        const std::string text =
            patterns.empty() ? list_events(try_named_events()) : list_matching_events(try_named_events(), patterns);
        if (text.empty()) {
            return Error{ErrorCode::kUsage, "--list-events: no event matches '" + patterns.front() + "'"};
        }
        std::fputs(text.c_str(), stdout);
        return std::optional<CommandLine>{};
    }
    return std::optional<CommandLine>{std::move(line)};
}

int exit_status_of(const Error& error, bool has_command) {
    if (error.code == ErrorCode::kUsage) {
        return kExitUsage;
    }
    if (has_command && error.code == ErrorCode::kNotFound) {
        return kExitNotFound;
    }
    return has_command && error.code == ErrorCode::kInvalid ? kExitNotRunnable : kExitFailure;
}

std::string summary_line(const CollectorSummary& summary) {
    std::string line = std::to_string(summary.rows_produced) + (summary.rows_produced == 1 ? " row, " : " rows, ");
    for (const auto& [count, kind] : {std::pair{summary.samples_produced, " of them samples, "},
                                      std::pair{summary.tracepoints_produced, " of them tracepoint entries, "}}) {
        line += count != 0 && count != summary.rows_produced ? std::to_string(count) + kind : "";
    }
    line += std::to_string(summary.rows_lost) + " lost";
    const char* separator = " (";
    if (summary.rows_undelivered > 0) {
        line += separator + std::string("undelivered ") + std::to_string(summary.rows_undelivered);
        separator = ", ";
    }
    for (const auto& [reason, count] : summary.lost_by_reason) {
        line += separator + std::string(count_name(reason)) + " " + std::to_string(count);
        separator = ", ";
    }
    line += summary.rows_undelivered == 0 && summary.lost_by_reason.empty() ? "" : ")";
    line += "; " + std::to_string(summary.batches_sealed) + (summary.batches_sealed == 1 ? " batch, " : " batches, ");
    if (summary.batches_dropped > 0) {
        line += std::to_string(summary.batches_dropped) + " dropped, ";
    }
    line += summary.everything_acknowledged ? "all acknowledged" : "not all acknowledged";
    if (summary.is_rest_in_file) {
        line += ": " + std::to_string(summary.batches_kept) + " are in a file";
    } else if (!summary.everything_acknowledged && summary.is_rest_kept) {
        line += ": " + std::to_string(summary.batches_kept) + " stay in the spool for the next run";
    }
    if (summary.earlier_sessions > 0) {
        line += "; of earlier runs, too, sessions wait in the spool: " + std::to_string(summary.earlier_sessions);
    }
    if (summary.damaged_spool_files > 0) {
        line += "; damaged files of earlier runs in the spool: " + std::to_string(summary.damaged_spool_files);
    }
    char session[80];
    std::snprintf(session, sizeof(session), "%.3f s of own CPU; session %016llx%016llx",
                  static_cast<double>(summary.own_cpu_ns) / 1e9, static_cast<unsigned long long>(summary.session.high),
                  static_cast<unsigned long long>(summary.session.low));
    line += "; " + std::string(session);
    if (summary.command_exit_status != 0) {
        line += "; the command's exit status was " + std::to_string(summary.command_exit_status);
    }
    return line;
}

}  // namespace perfleet
