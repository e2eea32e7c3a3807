// sel4bench's JSON: [{"Benchmark":NAME,"Results":[{…,"Raw results":[…]},…]},…]. On its console it stands between the
// lines "JSON OUTPUT" and "END JSON OUTPUT".
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "schemas/vocabulary/limits.h"
#include "tools/perfleet/import/imported_run.h"

namespace perfleet {
namespace {

using Json = nlohmann::json;

Result<Json> parse(std::string_view text) {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) {
        return Error{ErrorCode::kInvalid, "the file is no valid JSON"};
    }
    return json;
}

Error invalid(const std::string& what) { return Error{ErrorCode::kInvalid, what}; }

std::vector<std::uint64_t> single_value(std::uint64_t value) { return {0, 0, 0, 0, 1, value, 0}; }

constexpr std::string_view kRawResults = "Raw results";

// What sel4bench reckons of each result; everything else says which result it is.
bool is_figure(std::string_view key) {
    constexpr std::array<std::string_view, 11> kFigures{"Min",          "Max",     "Mean",     "Stddev",
                                                        "Variance",     "Mode",    "Median",   "1st quantile",
                                                        "3rd quantile", "Samples", kRawResults};
    return std::find(kFigures.begin(), kFigures.end(), key) != kFigures.end();
}

std::string name_of(const std::string& benchmark, const Json& result) {
    std::string name = benchmark;
    const auto add = [&](const std::string& part) { name += (name.empty() ? "" : " / ") + part; };
    // Words first: they stand for themselves.
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
    return name;
}

// One entry of a benchmark's "Results". Nothing when it has no raw results: sel4bench leaves them out unless it was
// built to print them, and of what it sums up while it measures ("early processing").
Result<std::optional<ImportedSeries>> series_of(const std::string& benchmark, const Json& result,
                                                const ImportHints& hints, ImportedRun& run) {
    if (!result.is_object()) {
        return invalid("\"" + benchmark + "\": a result that is no object");
    }
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = name_of(benchmark, result);
    series.unit = hints.unit.empty() ? "cycles" : hints.unit;
    const auto raw = result.find(kRawResults);
    if (raw == result.end()) {
        return std::optional<ImportedSeries>{};
    }
    if (!raw->is_array()) {
        return invalid("\"" + series.event + "\": \"Raw results\" is no array");
    }
    for (const Json& value : *raw) {
        if (value.is_number_unsigned()) {
            series.rows.push_back(single_value(value.get<std::uint64_t>()));
        } else if (value.is_number_integer()) {
            ++series.lost[TallyName::kLostMalformed];
        } else {
            return invalid("\"" + series.event + "\": a raw result that is no whole number");
        }
    }
    if (!series.lost.empty()) {
        run.warnings.push_back("\"" + series.event + "\": " + std::to_string(series.lost[TallyName::kLostMalformed]) +
                               " results are negative (less than the overhead that sel4bench takes off): counted, not "
                               "stored");
    }
    return std::optional{std::move(series)};
}

// From a console's output, what stands between sel4bench's marks.
std::string_view json_part(std::string_view text) {
    constexpr std::string_view kBegin = "JSON OUTPUT";
    constexpr std::string_view kEnd = "END JSON OUTPUT";
    const std::size_t end = text.find(kEnd);
    const std::size_t begin = text.find(kBegin);
    return begin < end && end != std::string_view::npos
               ? text.substr(begin + kBegin.size(), end - begin - kBegin.size())
               : text;
}

}  // namespace

Result<std::vector<ImportedRun>> read_sel4bench(std::string_view text_untrusted, const ImportHints& hints) {
    const auto json = parse(json_part(text_untrusted));
    if (!json.ok()) {
        return Error{json.error()};
    }
    const Json benchmarks = json->is_array() ? *json : Json::array({*json});
    std::vector<ImportedRun> runs;
    std::size_t without_values = 0;
    for (const Json& benchmark : benchmarks) {
        const auto results = benchmark.is_object() ? benchmark.find("Results") : benchmark.end();
        if (!benchmark.is_object() || results == benchmark.end() || !results->is_array()) {
            return invalid("no sel4bench output: expected [{\"Benchmark\":…,\"Results\":[…]},…]");
        }
        const auto label = benchmark.find("Benchmark");
        const std::string name = label != benchmark.end() && label->is_string() ? label->get<std::string>() : "";
        for (const Json& result : *results) {
            if (runs.empty() || runs.back().series.size() == limits::kEventsMax) {
                runs.emplace_back().labels = {{"format", "sel4bench"}, {"status", "ok"}};
            }
            auto series = series_of(name, result, hints, runs.back());
            if (!series.ok()) {
                return std::move(series).error();
            }
            if (!*series) {
                ++without_values;
                continue;
            }
            runs.back().series.push_back(std::move(**series));
        }
    }
    if (runs.empty() || runs.front().series.empty()) {
        return invalid(without_values == 0 ? "no results in the file"
                                           : "no result has \"Raw results\": build sel4bench with OutputRawResults");
    }
    if (without_values != 0) {
        runs.front().warnings.push_back(std::to_string(without_values) +
                                        " results without values (\"Raw results\") were left out");
    }
    return runs;
}

}  // namespace perfleet
