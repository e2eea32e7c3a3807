#include "tools/perfleet/record/function_latency.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "daemon/option/program_options.h"
#include "query-engine/statistic/number/histogram.h"
#include "schemas/session/session_record.h"
#include "tools/perfleet/session/session_destination.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"
#include "tools/perfleet/shell/watch.h"

namespace perfleet {
namespace {

// The histogram as funclatency prints it.
std::string drawn(const std::string& name, const FunctionCounts& counts) {
    std::string text = name + "\n";
    if (counts.returned != 0) {
        Log2Histogram histogram;
        for (std::size_t bucket = 0; bucket < counts.buckets.size(); ++bucket) {
            histogram.add(Log2Histogram::bucket_low(bucket), counts.buckets[bucket]);
        }
        text += log2_bars(histogram, "nsecs") + "\n";
    }
    return text + fmt::format("avg = {} nsecs, total: {} nsecs, count: {}\n\n",
                              counts.returned == 0 ? 0 : counts.sum_ns / counts.returned, counts.sum_ns,
                              counts.returned);
}

// The columns of latency --histogram, and the function of each row.
Answer answer_of(const FunctionRun& run) {
    Answer answer;
    answer.columns = {{"from", "ns"},  {"to", "ns"}, {"count", ""}, {"so_far", ""}, {"so_far_share", "percent"},
                      {"function", ""}};
    for (std::size_t i = 0; i < run.names.size(); ++i) {
        const FunctionCounts& counts = run.counts[i];
        std::uint64_t so_far = 0;
        for (std::size_t bucket = 0; bucket < counts.buckets.size(); ++bucket) {
            if (counts.buckets[bucket] != 0) {
                so_far += counts.buckets[bucket];
                answer.rows.push_back(
                    {Log2Histogram::bucket_low(bucket), Log2Histogram::bucket_high(bucket), counts.buckets[bucket],
                     so_far, 100.0 * static_cast<double>(so_far) / static_cast<double>(counts.returned), run.names[i]});
            }
        }
    }
    answer.warnings = run.warnings;
    return answer;
}

Result<Done> show_counts(const FunctionRun& run, const OutputOptions& printing) {
    const Answer answer = answer_of(run);
    if (!printing.is_text()) {
        return print_answer(answer, printing);
    }
    std::string text;
    for (std::size_t i = 0; i < run.names.size(); ++i) {
        text += drawn(run.names[i], run.counts[i]);
    }
    return print_answer(answer, text, printing);
}

void show_live(std::span<const std::string> names, std::span<const FunctionCounts> counts) {
    std::string text = ::isatty(STDOUT_FILENO) == 1 ? kClearScreen : "";
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += drawn(names[i], counts[i]);
    }
    (void)print_text(text);
}

int show_session(const FunctionRun& run, QueryOptions& query, const OutputOptions& printing,
                 const std::function<int()>& show) {
    query.values["session"] = session_hex(*run.session);
    if (!query.values.contains("histogram") || query.values.contains("pair")) {
        constexpr std::array kViews{"table", "kbench", "runs", "sketch", "mode", "pair"};
        const bool has_view =
            std::any_of(kViews.begin(), kViews.end(), [&](const char* view) { return query.values.contains(view); });
        if (printing.is_text() && !has_view) {
            for (std::size_t i = 0; i < run.names.size(); ++i) {
                (void)print_text(drawn(run.names[i], run.counts[i]));
            }
        }
        return show();
    }
    for (std::size_t i = 0; i < run.names.size(); ++i) {
        query.values["event"] = run.names[i];
        if (printing.is_text()) {
            (void)print_text(fmt::format("{}{}\n", i == 0 ? "" : "\n", run.names[i]));
        }
        if (const int status = show(); status != 0) {
            return status;
        }
    }
    return 0;
}

}  // namespace

void add_function_options(CLI::App& command, FunctionRunOptions& options) {
    constexpr const char* kGroup = "Measure functions";
    command.footer(
        "  perfleet latency [OPTIONS]\n"
        "  perfleet latency --function [IMAGE:]FUNCTION [-p PID | -a | -- COMMAND...] [OPTIONS]\n"
        "  perfleet latency --function A --function B --pair A%entry,B -- COMMAND...\n\n"
        "The second form times each call of a function until Ctrl-C, or until the program\n"
        "ends, and stores each call as a row of a session. IMAGE is a path, or the name of\n"
        "the program or of a library; FUNCTION is a name of its symbol table, also of C++\n"
        "without parameters. COMMAND's output goes to standard error. The third form has\n"
        "the time from the begin of a call of A to the next end of one of B in a thread.\n\n"
        "Examples:\n"
        "  perfleet latency --function libc:malloc -- git log\n"
        "  perfleet latency --function ./server:db::Query::run -p 4711 --watch 1 --no-rows\n"
        "  perfleet latency --function libssl:SSL_read -a --histogram log2 -- sleep 10");
    add_options(
        command,
        {{"--function FUNCTION", options.functions,
          "time the calls of FUNCTION, of the program itself or of IMAGE, such as main, libc:malloc, kernel:vfs_read; "
          "may be given "
          "several times",
          is_one_each, is_in_group(kGroup)},
         {"-p PID", options.pids, "with --function: of these processes, with commas", is_comma_list,
          is_checked_by(CLI::PositiveNumber), is_in_group(kGroup)},
         {"-a,--all-cpus", options.all_cpus, "with --function: of all processes of this machine", is_in_group(kGroup)},
         {"-f,--follow", options.follows_children,
          "with --function: also of processes that these, or COMMAND, start; then the probes are active in the whole "
          "machine, and slow calls of others, too",
          is_in_group(kGroup)},
         {"--no-rows", options.counts_only,
          "with --function: no row a call, only a log2 histogram, which is counted in the kernel and costs less",
          is_in_group(kGroup)},
         {"--uretprobe", options.uses_uretprobes,
          "with --function: if code can't be read, let the kernel catch returns by an address of its own on the stack; "
          "crashes programs that switch stacks or throw exceptions within a call",
          is_in_group(kGroup)},
         {"--objdump PATH", options.objdump, "with --function: the objdump that reads their code", is_in_group(kGroup)},
         {"command COMMAND", options.command,
          "with --function: the program to run, after --; with -p or -a measuring lasts as long as it"}});
    command.positionals_at_end();
}

Result<Done> check_function_options(const FunctionRunOptions& options) {
    if (!options.functions.empty()) {
        return Done{};
    }
    const char* const given = !options.pids.empty()      ? "-p"
                              : options.all_cpus         ? "-a"
                              : options.follows_children ? "--follow"
                              : options.counts_only      ? "--no-rows"
                              : options.uses_uretprobes  ? "--uretprobe"
                              : !options.command.empty() ? options.command.front().c_str()
                                                         : nullptr;
    return given == nullptr ? Result<Done>{Done{}}
                            : Error{ErrorCode::kUsage, std::string{given} + ": needs --function [IMAGE:]FUNCTION"};
}

Result<int> run_function_latency(FunctionRunOptions options, QueryOptions& query, const OutputOptions& printing,
                                 const std::function<int()>& show) {
    const auto usage = [](const char* text) { return Error{ErrorCode::kUsage, text}; };
    if (options.pids.empty() && !options.all_cpus && options.command.empty()) {
        return usage("--function: whose calls are timed? -p PID, -a or -- COMMAND");
    }
    if (!options.pids.empty() && options.all_cpus) {
        return usage("-a: not together with -p");
    }
    if (!query.gateway.empty()) {
        return usage("--gateway: functions are timed on this machine, and stored in --data");
    }
    if (options.watch_s && !printing.is_text()) {
        return usage("--watch: with --function it draws text; leave out --format");
    }
    if (options.counts_only && query.values.contains("histogram") &&
        query.values.at("histogram") != OptionValue{std::string{"log2"}}) {
        return usage("--no-rows: its histogram is log2");
    }
    options.follows_children = options.follows_children && !options.all_cpus;
    options.paths = query.symbol_paths();
    std::unique_ptr<SessionDestination> destination;
    if (!options.counts_only) {
        query.data = PERFLEET_TRY(data_folder_of(query.data));
        destination = PERFLEET_TRY(open_destination(query.data));
    }
    const auto run = run_functions(options, destination.get(), show_live);
    destination.reset();
    if (!run.ok()) {
        return run.error();
    }
    const int ended = run->signal != 0 ? kEndBySignal + run->signal : run->exit_status;
    if (options.counts_only) {
        PERFLEET_TRY(show_counts(*run, printing));
        return ended;
    }
    const int status = show_session(*run, query, printing, show);
    for (const std::string& warning : run->warnings) {
        print_warning(warning);
    }
    return status != 0 ? status : ended;
}

}  // namespace perfleet
