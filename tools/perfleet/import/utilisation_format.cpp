// What seL4_BenchmarkDumpAllThreadsUtilisation prints on the serial console:
//
//   {
//     "BENCHMARK_TOTAL_UTILISATION":1000,
//     … three more totals …
//     "BENCHMARK_TCB_": [
//       {
//         "NAME":"rootserver",
//         "UTILISATION":300,
//         … three more …
//       },
//     ]
//   }
//
// A console has other lines, too, before, between and behind; a log may hold several dumps; the kernel doesn't escape
// names, so that a thread called a"b makes no valid JSON. So lines are read, not JSON, unless each dump is valid JSON
// (as other programs lay it out), whatever stands around it.
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <optional>

#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/utilisation_thread.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTotalPrefix = "BENCHMARK_TOTAL_";
constexpr std::string_view kThreadPrefix = "BENCHMARK_TCB_";
constexpr std::string_view kIdleName = "idle_thread";
constexpr std::array<std::string_view, 4> kFigures{"UTILISATION", "NUMBER_SCHEDULES", "KERNEL_UTILISATION",
                                                   "NUMBER_KERNEL_ENTRIES"};

// The figures of the system, or of one thread.
struct DumpedFigures {
    std::string name;
    std::map<std::string, std::uint64_t, std::less<>> values;  // without their prefix
};

struct DumpedWindow {
    DumpedFigures total;
    std::vector<DumpedFigures> threads;
};

// A counter of 64 bits, which may be printed as negative.
std::optional<std::uint64_t> counter(std::string_view text) {
    if (!text.starts_with('-')) {
        return number_of<std::uint64_t>(text);
    }
    const auto magnitude = number_of<std::uint64_t>(text.substr(1));
    return magnitude ? std::optional{0 - *magnitude} : std::nullopt;
}

// "KEY":VALUE, with what the console put around it taken off.
struct DumpedLine {
    std::string_view key;
    std::string_view value;
};
std::optional<DumpedLine> split_line(std::string_view line) {
    if (!line.starts_with('"')) {
        return std::nullopt;
    }
    const std::size_t end = line.find("\":");
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view value = without_space(line.substr(end + 2));
    if (value.ends_with(',')) {
        value = without_space(value.substr(0, value.size() - 1));
    }
    return DumpedLine{line.substr(1, end - 1), value};
}

Result<Done> take_figure(DumpedFigures& figures, std::string_view key, std::string_view text, std::size_t line) {
    const auto value = counter(text);
    if (!value) {
        return invalid("line " + std::to_string(line) + ": \"" + std::string{key.substr(0, 64)} +
                       "\" is no whole number");
    }
    figures.values[std::string{key}] = *value;
    return Done{};
}

Result<std::vector<DumpedWindow>> read_lines(std::string_view text) {
    std::vector<DumpedWindow> windows;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
        ++number;
        const auto split = split_line(line);
        if (!split) {
            continue;
        }
        if (split->key.starts_with(kTotalPrefix)) {
            const std::string_view key = split->key.substr(kTotalPrefix.size());
            if (windows.empty() || windows.back().total.values.contains(key)) {
                windows.emplace_back();
            }
            PERFLEET_TRY(take_figure(windows.back().total, key, split->value, number));
        } else if (split->key == "NAME" && !windows.empty()) {
            std::string_view name = split->value;
            name.remove_prefix(name.starts_with('"') ? 1 : 0);
            name.remove_suffix(name.ends_with('"') ? 1 : 0);
            windows.back().threads.push_back({std::string{name}, {}});
        } else if (std::find(kFigures.begin(), kFigures.end(), split->key) != kFigures.end() && !windows.empty() &&
                   !windows.back().threads.empty()) {
            if (auto taken = take_figure(windows.back().threads.back(), split->key, split->value, number);
                !taken.ok()) {
                return std::move(taken).error();
            }
        }
    }
    return windows;
}

Result<Done> take_object(const Json& object, std::string_view prefix, DumpedFigures& figures) {
    for (const auto& [key, value] : object.items()) {
        if (key.starts_with(prefix) && value.is_number_integer()) {
            figures.values[key.substr(prefix.size())] = value.is_number_unsigned()
                                                            ? value.get<std::uint64_t>()
                                                            : static_cast<std::uint64_t>(value.get<std::int64_t>());
        } else if (key.ends_with("NAME") && value.is_string()) {
            figures.name = value.get<std::string>();
        }
    }
    return Done{};
}

// One dump as valid JSON, laid out anyhow.
Result<std::vector<DumpedWindow>> read_json(const Json& json) {
    std::vector<DumpedWindow> windows;
    for (const Json& dump : json.is_array() ? json : Json::array({json})) {
        if (!dump.is_object()) {
            return invalid("no utilisation dump: expected an object with BENCHMARK_TOTAL_UTILISATION");
        }
        DumpedWindow& window = windows.emplace_back();
        PERFLEET_TRY(take_object(dump, kTotalPrefix, window.total));
        for (const auto& [key, threads] : dump.items()) {
            for (const Json& thread : threads.is_array() ? threads : Json::array()) {
                if (!thread.is_object()) {
                    return invalid("\"" + key + "\": a thread that is no object");
                }
                const bool is_prefixed = thread.contains(std::string{kThreadPrefix} + "UTILISATION");
                if (auto taken = take_object(thread, is_prefixed ? kThreadPrefix : "", window.threads.emplace_back());
                    !taken.ok()) {
                    return std::move(taken).error();
                }
            }
        }
    }
    return windows;
}

// The dumps among other text, if each is valid JSON; nothing otherwise. It begins at a brace before a total.
std::optional<std::vector<Json>> dumps_among(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    std::vector<Json> dumps;
    for (std::size_t start = text.find('{'); start != std::string_view::npos; start = text.find('{', start)) {
        const std::size_t key = std::min(text.find_first_not_of(kBlank, start + 1), text.size());
        if (!text.substr(key).starts_with('"') || !text.substr(key + 1).starts_with(kTotalPrefix)) {
            ++start;
            continue;
        }
        std::size_t depth = 0;
        bool is_inside = false;  // of quotes
        std::size_t end = start;
        for (; end < text.size(); ++end) {
            const char c = text[end];
            if (is_inside) {
                end += c == '\\' ? 1 : 0;
                is_inside = c != '"';
            } else if (c == '"') {
                is_inside = true;
            } else if (c == '{') {
                ++depth;
            } else if (c == '}' && --depth == 0) {
                break;
            }
        }
        Json dump = end < text.size() ? Json::parse(text.substr(start, end + 1 - start), nullptr, false) : Json{};
        if (!dump.is_object()) {
            return std::nullopt;
        }
        dumps.push_back(std::move(dump));
        start = end;
    }
    return dumps.empty() ? std::nullopt : std::optional{std::move(dumps)};
}

Result<std::vector<std::uint64_t>> utilisation_row(std::uint64_t thread, const DumpedFigures& figures,
                                                   const std::string& whose) {
    std::array<std::uint64_t, kFigures.size()> values{};
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
        const std::string_view name = kFigures[i];
        const auto value = figures.values.find(name);
        if (value == figures.values.end()) {
            return invalid(whose + " has no \"" + std::string{name} + "\": the dump was cut");
        }
        values[i] = value->second;
    }
    using enum ColumnId;
    return imported_row<Kind::kUtilisation>(column<kThread>(thread), column<kCycles>(values[0]),
                                            column<kSchedules>(values[1]), column<kKernelCycles>(values[2]),
                                            column<kKernelEntries>(values[3]));
}

Result<ImportedRun> run_of(const DumpedWindow& window, const ImportHints& hints) {
    ImportedRun run;
    run.labels = {{"format", "utilisation"}, {"status", "ok"}};
    ImportedSeries series;
    series.kind = Kind::kUtilisation;
    series.event = hints.event.empty() ? "utilisation" : hints.event;
    series.unit = hints.unit.empty() ? "cycles" : hints.unit;
    auto total = PERFLEET_TRY(utilisation_row(kWholeSystem, window.total, "the total"));
    series.rows.push_back(std::move(total));
    sel4::LogDescription description;
    description.architecture_name = hints.architecture;
    description.architecture = sel4::architecture_of(hints.architecture);
    description.version = hints.kernel_version;
    if (description.architecture && sel4::word_size_of(*description.architecture) == sel4::WordSize::k32) {
        // It prints words.
        description.counter_bits = 32;
    }
    bool has_idle = false;
    for (const DumpedFigures& thread : window.threads) {
        const bool is_idle = !has_idle && thread.name == kIdleName;
        has_idle = has_idle || is_idle;
        const std::uint64_t number = is_idle ? kIdleThread : series.rows.size();
        auto row = utilisation_row(number, thread, "thread \"" + thread.name + "\"");
        if (!row.ok()) {
            run.fail(row.error().message);
            break;
        }
        series.rows.push_back(std::move(*row));
        description.thread_names[number] = thread.name;
    }
    if (window.threads.empty()) {
        run.fail("no thread could be read, not even the idle one: the dump was cut, or is laid out in another way");
    }
    series.format = sel4::format_description(description);
    run.series.push_back(std::move(series));
    return run;
}

}  // namespace

Result<std::vector<ImportedRun>> read_utilisation(std::string_view text_untrusted, const ImportHints& hints) {
    const Json json = Json::parse(text_untrusted, nullptr, false);
    const auto dumps = json.is_discarded() ? dumps_among(text_untrusted) : std::nullopt;
    const auto windows = PERFLEET_TRY(dumps                 ? read_json(*dumps)
                                      : json.is_discarded() ? read_lines(text_untrusted)
                                                            : read_json(json));
    if (windows.empty()) {
        return invalid("no utilisation dump: expected a line with \"BENCHMARK_TOTAL_UTILISATION\":N");
    }
    std::vector<ImportedRun> runs;
    for (const DumpedWindow& window : windows) {
        auto run = PERFLEET_TRY(run_of(window, hints));
        if (windows.size() > 1) {
            run.labels["window"] = std::to_string(runs.size() + 1);
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

}  // namespace perfleet
