#include "query-engine/statistic/command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "query-engine/statistic/counters.h"
#include "query-engine/statistic/diff_command.h"
#include "query-engine/statistic/event_choice.h"
#include "query-engine/statistic/inventory.h"
#include "query-engine/statistic/kernel_entries.h"
#include "query-engine/statistic/latency_command.h"
#include "query-engine/statistic/session_changes.h"
#include "query-engine/statistic/top.h"
#include "query-engine/statistic/tracepoints.h"
#include "query-engine/statistic/tree.h"
#include "query-engine/statistic/usage.h"
#include "query-engine/statistic/utilisation.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kThreadsMax = 64;
constexpr std::array<std::string_view, 8> kSelectionOptions{"select", "session", "event",   "from",
                                                            "to",     "exact",   "threads", "memory"};
constexpr std::uint64_t kMemorySizeBytesMax = std::uint64_t{1} << 44U;
constexpr std::size_t kSymbolsShare = 4;  // symbol tables that are kept take a quarter of a query's memory at most
constexpr std::array<std::string_view, 12> kCommands{"targets",        "sessions",    "losses",      "top",
                                                     "tree",           "counters",    "tracepoints", "latency",
                                                     "kernel-entries", "utilisation", "diff",        "controls"};

const std::string* find(const CommandOptions& options, const std::string& name) {
    const auto option = options.find(name);
    return option == options.end() ? nullptr : &option->second;
}

Result<std::uint64_t> parse_number(const std::string& name, const std::string& text, std::uint64_t max) {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || value > max) {
        return usage("--" + name + ": \"" + text.substr(0, 64) + "\" is not a number from 0 to " + std::to_string(max));
    }
    return value;
}

Result<Done> parse_by(const std::string& text, TopOptions& top) {
    top.by_symbol = top.by_image = top.by_command = top.by_thread = false;
    std::size_t start = 0;
    while (start <= text.size()) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const std::string name = text.substr(start, end - start);
        if (name == "symbol") {
            top.by_symbol = true;
        } else if (name == "image") {
            top.by_image = true;
        } else if (name == "command") {
            top.by_command = true;
        } else if (name == "thread") {
            top.by_thread = true;
        } else {
            return usage("--by: \"" + name.substr(0, 64) + "\" is none of symbol, image, command, thread");
        }
        start = end + 1;
    }
    return Done{};
}

Result<TopOptions> parse_top(const CommandOptions& options) {
    TopOptions top;
    if (const std::string* by = find(options, "by")) {
        if (Result<Done> parsed = parse_by(*by, top); !parsed.ok()) {
            return std::move(parsed).error();
        }
    }
    if (const std::string* limit = find(options, "limit")) {
        const Result<std::uint64_t> number = parse_number("limit", *limit, ~0ULL);
        if (!number.ok()) {
            return Error{number.error()};
        }
        top.row_count_max = *number;
    }
    top.sum_weights = find(options, "weight") != nullptr;
    return top;
}

Result<TreeOptions> parse_tree(const CommandOptions& options) {
    TreeOptions tree;
    if (const std::string* text = find(options, "min-percent")) {
        const char* end = text->data() + text->size();
        const auto [rest, status] = std::from_chars(text->data(), end, tree.percent_min);
        if (status != std::errc{} || rest != end || !(tree.percent_min >= 0 && tree.percent_min <= 100)) {
            return usage("--min-percent: \"" + text->substr(0, 64) + "\" is not a number from 0 to 100");
        }
    }
    tree.sum_weights = find(options, "weight") != nullptr;
    return tree;
}

bool has_option(std::string_view command, std::string_view name) {
    if (std::find(kSelectionOptions.begin(), kSelectionOptions.end(), name) != kSelectionOptions.end()) {
        return name != "event" || (command != "targets" && command != "sessions" && command != "controls");
    }
    if (command == "top") {
        return name == "by" || name == "limit" || name == "weight";
    }
    if (command == "latency") {
        return is_latency_option(name);
    }
    if (command == "kernel-entries") {
        return is_kernel_entry_option(name);
    }
    if (command == "tracepoints") {
        return is_tracepoint_option(name);
    }
    if (command == "diff") {
        return is_diff_option(name);
    }
    if (command == "counters") {
        return is_counter_option(name);
    }
    return command == "tree" && (name == "min-percent" || name == "weight");
}

Result<Done> refuse_unknown(std::string_view command, const CommandOptions& options) {
    for (const auto& [name, value] : options) {
        if (!has_option(command, name)) {
            return usage(std::string{command} + " has no option --" + name.substr(0, 64));
        }
    }
    return Done{};
}

}  // namespace

Result<Selection> parse_selection(const CommandOptions& options, UtcNs now) {
    Selection selection;
    for (const char* name : {"select", "session", "event", "from", "to"}) {
        if (const std::string* text = find(options, name); text != nullptr && text->empty()) {
            return usage(std::string{"--"} + name + ": is empty; leave it out to select everything");
        }
    }
    if (const std::string* text = find(options, "select")) {
        Result<std::vector<Matcher>> matchers = parse_matchers(*text);
        if (!matchers.ok()) {
            return std::move(matchers).error();
        }
        selection.matchers = std::move(matchers).value();
    }
    if (const std::string* session = find(options, "session")) {
        selection.session = *session;
    }
    if (const std::string* event = find(options, "event")) {
        selection.event = *event;
    }
    selection.is_exact = find(options, "exact") != nullptr;
    const auto parse_bound = [&](const char* name, std::optional<UtcNs>& bound) -> Result<Done> {
        if (const std::string* text = find(options, name)) {
            const Result<UtcNs> time = parse_time(*text, now);
            if (!time.ok()) {
                return usage(std::string{"--"} + name + ": " + time.error().message);
            }
            bound = *time;
        }
        return Done{};
    };
    if (Result<Done> parsed = parse_bound("from", selection.from); !parsed.ok()) {
        return std::move(parsed).error();
    }
    if (Result<Done> parsed = parse_bound("to", selection.to); !parsed.ok()) {
        return std::move(parsed).error();
    }
    if (selection.from && selection.to && *selection.to <= *selection.from) {
        return usage("--to: lies not after --from");
    }
    if (const std::string* threads = find(options, "threads")) {
        const Result<std::uint64_t> number = parse_number("threads", *threads, kThreadsMax);
        if (!number.ok()) {
            return Error{number.error()};
        }
        selection.thread_count = static_cast<unsigned>(*number);
    }
    if (const std::string* memory = find(options, "memory")) {
        const Result<std::uint64_t> number = parse_number("memory", *memory, kMemorySizeBytesMax);
        if (!number.ok()) {
            return Error{number.error()};
        }
        if (*number < limits::kQueryMemorySizeBytesMin) {
            return usage("--memory: at least " + std::to_string(limits::kQueryMemorySizeBytesMin) + " bytes");
        }
        selection.memory_size_bytes_max = static_cast<std::size_t>(*number);
    }
    return selection;
}

std::vector<std::string_view> table_commands() { return {kCommands.begin(), kCommands.end()}; }

Result<Done> check_table_command(std::string_view command, const CommandOptions& options, UtcNs now) {
    if (std::find(kCommands.begin(), kCommands.end(), command) == kCommands.end()) {
        return usage("there is no command \"" + std::string{command.substr(0, 64)} + "\"");
    }
    if (Result<Done> checked = refuse_unknown(command, options); !checked.ok()) {
        return checked;
    }
    const Result<Selection> selection = parse_selection(options, now);
    if (!selection.ok()) {
        return Error{selection.error()};
    }
    if (command == "diff") {
        const Result<DiffQuestion> question = parse_diff(options, *selection, now);
        return question.ok() ? Result<Done>{Done{}} : Error{question.error()};
    }
    const auto check = [&](std::string_view whose, const auto& parsed) -> Result<Done> {
        return command != whose || parsed.ok() ? Result<Done>{Done{}} : Result<Done>{Error{parsed.error()}};
    };
    for (Result<Done>& checked :
         std::array{check("top", parse_top(options)), check("tree", parse_tree(options)),
                    check("latency", parse_latency(options)), check("kernel-entries", parse_kernel_entries(options)),
                    check("tracepoints", parse_tracepoints(options)), check("counters", parse_counters(options))}) {
        if (!checked.ok()) {
            return std::move(checked);
        }
    }
    return Done{};
}

namespace {

Symbolizer make_symbolizer(const Selection& selection, const StoreReader& store, const SymbolPaths& paths) {
    return Symbolizer{&store, paths, selection.memory_size_bytes_max / kSymbolsShare};
}

// Each side has half of the memory.
Result<Answer> answer_diff(const CommandOptions& options, Selection common, const StoreReader& store,
                           const SymbolPaths& paths, UtcNs now, MemoryPool* pool) {
    common.memory_size_bytes_max /= 2;
    const Result<DiffQuestion> question = parse_diff(options, common, now);
    if (!question.ok()) {
        return Error{question.error()};
    }
    const auto open = [&](const char* name, const Selection& selection) -> Result<Scan> {
        Result<Scan> scan = Scan::open(store, selection, pool);
        return scan.ok() ? std::move(scan)
                         : Error{scan.error().code, std::string{"--"} + name + ": " + scan.error().message};
    };
    const Result<Scan> before = open("before", question->before);
    if (!before.ok()) {
        return Error{before.error()};
    }
    const Result<Scan> after = open("after", question->after);
    if (!after.ok()) {
        return Error{after.error()};
    }
    if (const auto checked = check_event(*before); !checked.ok() && !check_event(*after).ok()) {
        return Error{checked.error()};
    }
    Symbolizer symbolizer = make_symbolizer(common, store, paths);
    return make_diff(*before, *after, symbolizer, question->options);
}

Result<Answer> answer_table_command(std::string_view command, const CommandOptions& options, const StoreReader& store,
                                    const SymbolPaths& paths, UtcNs now, MemoryPool* pool) {
    if (Result<Done> checked = check_table_command(command, options, now); !checked.ok()) {
        return std::move(checked).error();
    }
    const Result<Selection> selection = parse_selection(options, now);
    if (command == "diff") {
        return answer_diff(options, *selection, store, paths, now, pool);
    }
    const Result<Scan> scan = Scan::open(store, *selection, pool);
    if (!scan.ok()) {
        return Error{scan.error()};
    }
    if (const auto checked_event = check_event(*scan); !checked_event.ok()) {
        return Error{checked_event.error()};
    }
    if (command == "targets") {
        return make_targets(*scan);
    }
    if (command == "sessions") {
        return make_sessions(*scan);
    }
    if (command == "controls") {
        return make_controls(*scan);
    }
    if (command == "losses") {
        return make_losses(*scan);
    }
    if (command == "counters") {
        return make_counters(*scan, *parse_counters(options));
    }
    if (command == "tracepoints") {
        return make_tracepoints(*scan, *parse_tracepoints(options));
    }
    if (command == "utilisation") {
        return make_utilisation(*scan);
    }
    if (command == "latency") {
        return make_latency(*scan, *parse_latency(options));
    }
    Symbolizer symbolizer = make_symbolizer(*selection, store, paths);
    if (command == "kernel-entries") {
        return make_kernel_entries(*scan, symbolizer, *parse_kernel_entries(options));
    }
    return command == "tree" ? make_tree(*scan, symbolizer, *parse_tree(options))
                             : make_top(*scan, symbolizer, *parse_top(options));
}

// An empty table alone doesn't tell whether the question or the recording was another than meant.
void say_where_nothing_is(std::string_view command, Answer& answer) {
    static constexpr const char* kHint = " (perfleet losses lists what there is)";
    struct Missing {
        std::string_view command;
        const char* what;
        const char* hint;
    };
    static constexpr std::array<Missing, 9> kMissing{{{"targets", "targets", ""},
                                                      {"sessions", "sessions", ""},
                                                      {"losses", "rows", ""},
                                                      {"controls", "orders", ""},
                                                      {"counters", "counters", kHint},
                                                      {"tracepoints", "tracepoints", kHint},
                                                      {"kernel-entries", "kernel entries", kHint},
                                                      {"utilisation", "windows of utilisation", kHint},
                                                      {"latency", "measured values", kHint}}};
    if (!answer.rows.empty() || !answer.warnings.empty()) {
        return;
    }
    for (const Missing& missing : kMissing) {
        if (missing.command == command) {
            answer.warnings.push_back(std::string{"no "} + missing.what + " are in the selection" + missing.hint);
        }
    }
}

}  // namespace

Result<Answer> run_table_command(std::string_view command, const CommandOptions& options, const StoreReader& store,
                                 const SymbolPaths& paths, UtcNs now, MemoryPool* pool) {
    auto answer = answer_table_command(command, options, store, paths, now, pool);
    if (answer.ok()) {
        for (const std::string& note : store.damage()) {
            const std::string warning = "not readable: " + note;
            if (std::find(answer->warnings.begin(), answer->warnings.end(), warning) == answer->warnings.end()) {
                answer->warnings.push_back(warning);
            }
        }
        say_where_nothing_is(command, *answer);
    }
    return answer;
}

}  // namespace perfleet
