// sel4bench's JSON: [{"Benchmark":NAME,"Results":[{…,"Raw results":[…]},…],"Iteration":N},…]. On its console it stands
// between the lines "JSON OUTPUT" and "END JSON OUTPUT". Each iteration, and each output of a log, is a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "schemas/text/layout.h"
#include "schemas/vocabulary/batch_limits.h"
#include "tools/perfleet/import/run_parts.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using Json = nlohmann::json;

// `first_line`: where the text begins in its file.
Result<Json> parse(std::string_view text, std::size_t first_line) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        const std::string_view before = text.substr(0, error.byte);
        const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
        return invalid(first_line + lines, "invalid JSON from here on; is the output complete?");
    } catch (const Json::out_of_range&) {
        return invalid("a number in the JSON is greater than any that was measured");
    }
}

constexpr std::size_t kValueColumn = place_in_row<Kind::kTracepoint, ColumnId::kValue>();
constexpr std::string_view kRawResults = "Raw results";
constexpr std::size_t kOutputsMax = 1'024;  // in one log

// Figures that sel4bench computes for each result; all other keys identify the result.
bool is_figure(std::string_view key) {
    constexpr std::array<std::string_view, 11> kFigures{"Min",          "Max",     "Mean",     "Stddev",
                                                        "Variance",     "Mode",    "Median",   "1st quantile",
                                                        "3rd quantile", "Samples", kRawResults};
    return std::find(kFigures.begin(), kFigures.end(), key) != kFigures.end();
}

std::string name_of(const std::string& benchmark, const Json& result) {
    std::string name = benchmark;
    const auto add = [&](const std::string& part) { name += (name.empty() ? "" : " / ") + part; };
    // Words first: they need no key.
    for (const auto& [key, value] : result.items()) {
        if (!is_figure(key) && value.is_string()) {
            add(value.get<std::string>());
        }
    }
    for (const auto& [key, value] : result.items()) {
        if (!is_figure(key) && (value.is_number() || value.is_boolean())) {
            add(key + " " + value.dump());
        }
    }
    return name.empty() ? "result" : name;
}

// For files that were cut or edited: checks sel4bench's figures against the raw results.
void check_figures(const Json& result, const ImportedSeries& series, std::uint64_t count, ImportedRun& run) {
    const auto check = [&](const char* key, std::uint64_t seen) {
        const auto said = result.find(key);
        if (said != result.end() && said->is_number_unsigned() && said->get<std::uint64_t>() != seen) {
            run.fail(fmt::format("\"{}\": {} {} where the raw results have {}", series.event, key, said->dump(), seen));
        }
    };
    check("Samples", count);
    if (!series.rows.empty() && series.lost.empty()) {
        const auto [least, greatest] =
            std::minmax_element(series.rows.begin(), series.rows.end(),
                                [](const auto& a, const auto& b) { return a[kValueColumn] < b[kValueColumn]; });
        check("Min", (*least)[kValueColumn]);
        check("Max", (*greatest)[kValueColumn]);
    }
}

// One entry of a benchmark's "Results". Nothing without raw results: sel4bench omits them unless built to print them,
// and omits those that it only sums up while measuring ("early processing").
Result<std::optional<ImportedSeries>> series_of(const std::string& benchmark, const Json& result,
                                                const ImportHints& hints, ImportedRun& run) {
    if (!result.is_object()) {
        return invalid("\"" + benchmark + "\": a result that is no object");
    }
    ImportedSeries series = new_series(Kind::kTracepoint, hints, "");
    series.event = name_of(benchmark, result);
    const auto raw = result.find(kRawResults);
    if (raw == result.end()) {
        return std::optional<ImportedSeries>{};
    }
    if (!raw->is_array()) {
        return invalid("\"" + series.event + "\": \"Raw results\" is no array");
    }
    for (const Json& value : *raw) {
        if (value.is_number_unsigned()) {
            series.rows.push_back(imported_row<Kind::kTracepoint>(
                column<ColumnId::kWeight>(1), column<ColumnId::kValue>(value.get<std::uint64_t>())));
        } else if (value.is_number_integer()) {
            ++series.lost[CountName::kLostMalformed];
        } else {
            return invalid("\"" + series.event + "\": a raw result that is no whole number");
        }
    }
    if (!series.lost.empty()) {
        run.warnings.push_back(fmt::format(
            "\"{}\": {} negative (less than the overhead that sel4bench takes "
            "off): counted, not stored",
            series.event, counted_noun(series.lost[CountName::kLostMalformed], "result is", "results are")));
    }
    const auto same = [&](const ImportedSeries& other) { return other.event == series.event; };
    if (const auto times = std::count_if(run.series.begin(), run.series.end(), same); times != 0) {
        series.event += " #" + std::to_string(times + 1);
    }
    check_figures(result, series, raw->size(), run);
    return std::optional{std::move(series)};
}

// From a console's output, the text between sel4bench's marks; without marks all of it.
struct JsonPart {
    std::string_view text;
    std::size_t first_line = 1;
};

std::vector<JsonPart> json_parts(std::string_view text) {
    constexpr std::string_view kBegin = "JSON OUTPUT";
    constexpr std::string_view kEnd = "END JSON OUTPUT";
    const auto lines_before = [&](std::size_t at) {
        return static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    };
    std::vector<JsonPart> parts;
    for (std::size_t begin = text.find(kBegin); begin != std::string_view::npos && parts.size() < kOutputsMax;) {
        const std::size_t start = begin + kBegin.size();
        const std::size_t end = std::min(text.find(kEnd, start), text.size());
        parts.push_back({text.substr(start, end - start), lines_before(start) + 1});
        begin = text.find(kBegin, std::min(end + kEnd.size(), text.size()));
    }
    return parts.empty() ? std::vector<JsonPart>{{text, 1}} : parts;
}

class OutputReader {
public:
    explicit OutputReader(const ImportHints& hints) : hints_{hints} {}

    Result<Done> take(const Json& json) {
        run_of_iteration_.clear();
        const Json benchmarks = json.is_array() ? json : Json::array({json});
        for (const Json& benchmark : benchmarks) {
            const auto results = benchmark.is_object() ? benchmark.find("Results") : benchmark.end();
            if (!benchmark.is_object() || results == benchmark.end() || !results->is_array()) {
                return invalid("no sel4bench output: expected [{\"Benchmark\":…,\"Results\":[…]},…]");
            }
            const auto label = benchmark.find("Benchmark");
            const std::string name = label != benchmark.end() && label->is_string() ? label->get<std::string>() : "";
            const std::string iteration = benchmark.contains("Iteration") ? benchmark["Iteration"].dump() : "";
            for (const Json& result : *results) {
                PERFLEET_TRY(take_result(name, iteration, result));
            }
        }
        return Done{};
    }

    Result<std::vector<ImportedRun>> finish() {
        std::erase_if(runs_, [](const ImportedRun& run) { return run.series.empty(); });
        if (runs_.empty()) {
            return invalid(without_values_ == 0
                               ? "no results in the file"
                               : "no result has \"Raw results\": build sel4bench with OutputRawResults");
        }
        if (without_values_ != 0) {
            runs_.front().warnings.push_back("left out, without values (\"Raw results\"): " +
                                             counted_noun(without_values_, "result"));
        }
        return std::move(runs_);
    }

private:
    Result<Done> take_result(const std::string& name, const std::string& iteration, const Json& result) {
        const auto [place, is_new] = run_of_iteration_.try_emplace(iteration, runs_.size());
        if (!is_new && runs_[place->second].series.size() == limits::kEventsMax) {
            place->second = runs_.size();
        }
        if (place->second == runs_.size()) {
            runs_.push_back(new_run("sel4bench"));
            if (!iteration.empty()) {
                runs_.back().labels["iteration"] = iteration.substr(0, limits::kLabelSizeBytesMax);
            }
        }
        ImportedRun& run = runs_[place->second];
        auto series = PERFLEET_TRY(series_of(name, result, hints_, run));
        if (series) {
            run.series.push_back(std::move(*series));
        } else {
            ++without_values_;
        }
        return Done{};
    }

    const ImportHints& hints_;
    std::map<std::string, std::size_t> run_of_iteration_;
    std::vector<ImportedRun> runs_;
    std::size_t without_values_ = 0;
};

}  // namespace

Result<std::vector<ImportedRun>> read_sel4bench(std::string_view text_untrusted, const ImportHints& hints) {
    const std::string text = without_escapes(without_mark(text_untrusted));
    OutputReader reader{hints};
    for (const JsonPart& part : json_parts(text)) {
        const auto json = PERFLEET_TRY(parse(part.text, part.first_line));
        PERFLEET_TRY(reader.take(json));
    }
    return reader.finish();
}

}  // namespace perfleet
