// Plain columns of numbers, and the lines of Bernat's kernel module.
//
// columns: a table of numbers (number_table.h). Each column is a series of single values.
//
// bernat: numbers, and lines of key=value as the module's "run" file prints them. A file may hold several runs: a run
// ends if a key is repeated, or if numbers follow its line. A nonzero err, or a msg, marks a failed run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "query-engine/statistic/number/bernat.h"
#include "tools/perfleet/import/number_table.h"
#include "tools/perfleet/import/run_parts.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using Settings = std::map<std::string, std::string>;

Result<Done> add_series(NumberTable table, const ImportHints& hints, ImportedRun& run) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        NumberColumn& column = table.columns[i];
        ImportedSeries& series = run.series.emplace_back(new_series(Kind::kTracepoint, hints, "value"));
        if (!column.name.empty()) {
            series.event = column.name;
        } else if (table.columns.size() > 1) {
            series.event += "-" + std::to_string(i + 1);
        }
        PERFLEET_TRY(name_unit(hints.unit, column));
        series.unit = stored_unit(column.unit);
        series.values = std::move(column.values);
    }
    run.warnings.insert(run.warnings.end(), table.warnings.begin(), table.warnings.end());
    return Done{};
}

// key=value and key="several words", after what a log may print before them.
std::optional<Settings> settings_of(std::string_view line) {
    const std::size_t first = line.find('=');
    if (first == std::string_view::npos || first == 0) {
        return std::nullopt;
    }
    const std::size_t blank = line.find_last_of(" \t", first);
    line.remove_prefix(blank == std::string_view::npos ? 0 : blank + 1);
    Settings found;
    while (!line.empty()) {
        const std::size_t equals = line.find('=');
        if (equals == 0 || equals == std::string_view::npos ||
            line.substr(0, equals).find_first_of(" \t\"") != std::string_view::npos) {
            return std::nullopt;
        }
        const std::string key{line.substr(0, equals)};
        line.remove_prefix(equals + 1);
        const bool is_quoted = line.starts_with('"');
        if (is_quoted) {
            line.remove_prefix(1);
        }
        const std::size_t end = std::min(line.find_first_of(is_quoted ? "\"" : " \t"), line.size());
        found[key] = std::string{line.substr(0, end)};
        line = without_space(line.substr(std::min(end + 1, line.size())));
    }
    return found.empty() ? std::nullopt : std::optional{std::move(found)};
}

bool is_settings(std::string_view line) { return settings_of(line).has_value(); }

// One run of a file: its lines, and the module's own report about it.
struct RunPart {
    TextPart part;
    Settings reported;
    bool has_numbers = false;
};

Result<std::vector<RunPart>> parts_of(std::string_view text) {
    constexpr std::size_t kRunsMax = 4'096;
    std::vector<RunPart> parts(1);
    bool ended = false;  // a line of key=value followed the numbers
    std::size_t start = 0;
    std::size_t number = 0;
    const auto begin_part = [&](std::size_t at, std::size_t line_number) {
        parts.back().part.text = text.substr(start, at - start);
        start = at;
        ended = false;
        parts.push_back({{{}, line_number, is_settings}, {}, false});
    };
    parts.back().part.is_left_out = is_settings;
    for (std::size_t at = 0; at < text.size();) {
        if (parts.size() > kRunsMax) {
            return too_large(number, fmt::format("more than {} runs in one file; split it", kRunsMax));
        }
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = without_space(text.substr(at, end - at));
        ++number;
        if (auto settings = settings_of(line)) {
            const auto is_again = [&](const auto& one) { return parts.back().reported.contains(one.first); };
            if (std::any_of(settings->begin(), settings->end(), is_again)) {
                begin_part(at, number);
            }
            parts.back().reported.merge(*settings);
            ended = parts.back().has_numbers;
        } else if (!line.empty() && is_row_of_numbers(line)) {
            if (ended) {
                begin_part(at, number);
            }
            parts.back().has_numbers = true;
        }
        at = end + 1;
    }
    parts.back().part.text = text.substr(start);
    return parts;
}

// A figure in the module's line, with the module's rule for computing it from sorted values.
struct FigureRule {
    const char* key;
    std::uint64_t (*of)(const std::vector<std::uint64_t>& sorted);
};
constexpr std::array<FigureRule, 7> kFigureRules{{
    {"min", [](const auto& sorted) { return sorted.front(); }},
    {"max", [](const auto& sorted) { return sorted.back(); }},
    {"count", [](const auto& sorted) { return std::uint64_t{sorted.size()}; }},
    {"50th", [](const auto& sorted) { return bernat_percentile(sorted, 50).value; }},
    {"90th", [](const auto& sorted) { return bernat_percentile(sorted, 90).value; }},
    {"95th", [](const auto& sorted) { return bernat_percentile(sorted, 95).value; }},
    {"mad", [](const auto& sorted) { return bernat_deviation(sorted).value; }},
}};

void check_reported(const Settings& reported, ImportedRun& run) {
    if (run.series.size() != 1 || value_unit(run.series[0].unit).decimals != 0) {
        return;
    }
    std::vector<std::uint64_t> values = run.series[0].values;
    std::sort(values.begin(), values.end());
    for (const auto& [key, of] : kFigureRules) {
        const auto said = reported.find(key);
        const std::uint64_t computed = of(values);
        if (said != reported.end() && said->second != std::to_string(computed)) {
            run.warnings.push_back(fmt::format("{}={} was reported; of these {} values it is {}", key,
                                               said->second.substr(0, 24), values.size(), computed));
        }
    }
}

// The failure that the module reports, if any.
std::optional<std::string> failure_of(const Settings& reported) {
    const auto message = reported.find("msg");
    const auto code = reported.find("err");
    if (message != reported.end() && !message->second.empty()) {
        return message->second;
    }
    return code != reported.end() && code->second != "0" ? std::optional{"err=" + code->second} : std::nullopt;
}

}  // namespace

Result<std::vector<ImportedRun>> read_columns(std::string_view text_untrusted, const ImportHints& hints) {
    auto table = PERFLEET_TRY(read_number_table({without_mark(text_untrusted), 1, nullptr}));
    if (table.columns.empty()) {
        return invalid("no line of numbers");
    }
    std::vector<ImportedRun> runs{new_run("columns")};
    PERFLEET_TRY(add_series(std::move(table), hints, runs[0]));
    return runs;
}

Result<std::vector<ImportedRun>> read_bernat(std::string_view text_untrusted, const ImportHints& hints) {
    std::vector<ImportedRun> runs;
    const auto parts = PERFLEET_TRY(parts_of(without_mark(text_untrusted)));
    for (const RunPart& part : parts) {
        auto table = PERFLEET_TRY(read_number_table(part.part));
        if (table.columns.empty() && part.reported.empty()) {
            continue;
        }
        ImportedRun& run = runs.emplace_back(new_run("bernat"));
        if (parts.size() > 1) {
            run.labels["run"] = std::to_string(runs.size());
        }
        // The module's own report, beside the figures that are computed here.
        for (const auto& [key, value] : part.reported) {
            run.labels["reported_" + key] = value;
        }
        PERFLEET_TRY(add_series(std::move(table), hints, run));
        if (const auto failure = failure_of(part.reported)) {
            run.fail(*failure);
        } else if (run.series.empty()) {
            run.warnings.emplace_back(
                "no values, only what the module says of them: kept as labels reported_…, which nothing can check");
        } else {
            check_reported(part.reported, run);
        }
    }
    if (runs.empty()) {
        return invalid("neither numbers nor a line of key=value");
    }
    return runs;
}

}  // namespace perfleet
