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
// A console prints other lines before, between and after; a log may hold several dumps; the kernel doesn't escape
// names, so that a thread called a"b makes invalid JSON. So lines are read instead of JSON, unless each dump is valid
// JSON (as other programs format it), whatever surrounds it.
#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/utilisation_thread.h"
#include "tools/perfleet/import/run_parts.h"
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

// "KEY":VALUE, without what the console added around it.
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

Result<Done> take_figure(DumpedFigures& figures, std::string_view key, const DumpedLine& dumped, std::size_t line) {
    const auto value = counter(dumped.value);
    if (!value) {
        return invalid(line, fmt::format("\"{}\" is no whole number", key.substr(0, 64)));
    }
    figures.values[std::string{key}] = *value;
    return Done{};
}

Result<Done> take_line(const TextLine& line, std::vector<DumpedWindow>& windows) {
    const auto dumped = split_line(line.text);
    if (!dumped) {
        return Done{};
    }
    if (dumped->key.starts_with(kTotalPrefix)) {
        const std::string_view key = dumped->key.substr(kTotalPrefix.size());
        if (windows.empty() || windows.back().total.values.contains(key)) {
            windows.emplace_back();
        }
        return take_figure(windows.back().total, key, *dumped, line.number);
    }
    if (windows.empty()) {
        return Done{};
    }
    auto& threads = windows.back().threads;
    if (dumped->key == "NAME") {
        std::string_view name = dumped->value;
        name.remove_prefix(name.starts_with('"') ? 1 : 0);
        name.remove_suffix(name.ends_with('"') ? 1 : 0);
        threads.push_back({std::string{name}, {}});
    } else if (!threads.empty() && std::find(kFigures.begin(), kFigures.end(), dumped->key) != kFigures.end()) {
        return take_figure(threads.back(), dumped->key, *dumped, line.number);
    }
    return Done{};
}

Result<std::vector<DumpedWindow>> read_lines(std::string_view text) {
    std::vector<DumpedWindow> windows;
    PERFLEET_TRY(each_line(text, [&](const TextLine& line) { return take_line(line, windows); }));
    return windows;
}

void take_object(const Json& object, std::string_view prefix, DumpedFigures& figures) {
    for (const auto& [key, value] : object.items()) {
        if (key.starts_with(prefix) && value.is_number_integer()) {
            figures.values[key.substr(prefix.size())] = value.is_number_unsigned()
                                                            ? value.get<std::uint64_t>()
                                                            : static_cast<std::uint64_t>(value.get<std::int64_t>());
        } else if (key.ends_with("NAME") && value.is_string()) {
            figures.name = value.get<std::string>();
        }
    }
}

// One dump as valid JSON, in any layout.
Result<std::vector<DumpedWindow>> read_json(const Json& json) {
    std::vector<DumpedWindow> windows;
    for (const Json& dump : json.is_array() ? json : Json::array({json})) {
        if (!dump.is_object()) {
            return invalid("no utilisation dump: expected an object with BENCHMARK_TOTAL_UTILISATION");
        }
        DumpedWindow& window = windows.emplace_back();
        take_object(dump, kTotalPrefix, window.total);
        for (const auto& [key, threads] : dump.items()) {
            for (const Json& thread : threads.is_array() ? threads : Json::array()) {
                if (!thread.is_object()) {
                    return invalid("\"" + key + "\": a thread that is no object");
                }
                const bool is_prefixed = thread.contains(std::string{kThreadPrefix} + "UTILISATION");
                take_object(thread, is_prefixed ? kThreadPrefix : "", window.threads.emplace_back());
            }
        }
    }
    return windows;
}

// The dumps among other text, if each is valid JSON; otherwise nothing. A dump begins at a brace before a total.
std::optional<Json> dumps_among(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    Json dumps = Json::array();
    std::istringstream stream{std::string{text}};
    for (std::size_t start = text.find('{'); start != std::string_view::npos; start = text.find('{', start)) {
        const std::size_t key = std::min(text.find_first_not_of(kBlank, start + 1), text.size());
        if (text.substr(key).starts_with('"' + std::string{kTotalPrefix})) {
            stream.seekg(static_cast<std::streamoff>(start));
            try {
                stream >> dumps.emplace_back();
            } catch (const Json::exception&) {
                return std::nullopt;
            }
            start = static_cast<std::size_t>(stream.tellg());
        } else {
            ++start;
        }
    }
    return dumps.empty() ? std::nullopt : std::optional{std::move(dumps)};
}

Result<sel4::UtilisationFigures> figures_of(const DumpedFigures& dumped, const std::string& whose) {
    std::array<std::uint64_t, kFigures.size()> values{};
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
        const auto value = dumped.values.find(kFigures[i]);
        if (value == dumped.values.end()) {
            return invalid(fmt::format("{} has no \"{}\": the dump was cut", whose, kFigures[i]));
        }
        values[i] = value->second;
    }
    return sel4::UtilisationFigures{values[0], values[1], values[2], values[3]};
}

Result<ImportedRun> run_of(const DumpedWindow& window, const ImportHints& hints) {
    ImportedRun run = new_run("utilisation");
    ImportedSeries& series = run.series.emplace_back(new_series(Kind::kUtilisation, hints, "utilisation"));
    series.rows.push_back(utilisation_row(kWholeSystem, PERFLEET_TRY(figures_of(window.total, "the total"))));
    sel4::LogDescription description;
    description.architecture_name = hints.architecture;
    description.architecture = sel4::architecture_of(hints.architecture);
    description.version = hints.kernel_version;
    if (description.architecture && sel4::word_size_of(*description.architecture) == sel4::WordSize::k32) {
        // The kernel prints words.
        description.counter_bits = 32;
    }
    bool has_idle = false;
    for (const DumpedFigures& thread : window.threads) {
        const bool is_idle = !has_idle && thread.name == kIdleName;
        has_idle = has_idle || is_idle;
        const std::uint64_t number = is_idle ? kIdleThread : series.rows.size();
        const auto figures = figures_of(thread, "thread \"" + thread.name + "\"");
        if (!figures.ok()) {
            run.fail(figures.error().message);
            break;
        }
        series.rows.push_back(utilisation_row(number, *figures));
        description.thread_names[number] = thread.name;
    }
    if (window.threads.empty()) {
        run.fail("no thread could be read, not even the idle one: the dump was cut, or is laid out in another way");
    }
    series.format = sel4::format_description(description);
    return run;
}

}  // namespace

Result<std::vector<ImportedRun>> read_utilisation(std::string_view text_untrusted, const ImportHints& hints) {
    std::optional<Json> json = Json::parse(text_untrusted, nullptr, false);
    if (json->is_discarded()) {
        json = dumps_among(text_untrusted);
    }
    const auto windows = PERFLEET_TRY(json ? read_json(*json) : read_lines(text_untrusted));
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
