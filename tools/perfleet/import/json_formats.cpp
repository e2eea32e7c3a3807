// JSON of seL4 programs: sel4bench's results, and what seL4_BenchmarkDumpAllThreadsUtilisation prints.
#include <nlohmann/json.hpp>

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

// One entry of a benchmark's "Results": its raw results are the values; its other words and numbers name it.
Result<ImportedSeries> series_of(const std::string& benchmark, const Json& result, const ImportHints& hints) {
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = benchmark;
    series.unit = hints.unit.empty() ? "cycles" : hints.unit;
    for (const auto& [key, value] : result.items()) {
        if (value.is_string()) {
            series.event += (series.event.empty() ? "" : " / ") + value.get<std::string>();
        }
    }
    const auto raw = result.find("Raw results");
    if (raw == result.end() || !raw->is_array()) {
        return invalid("\"" + series.event + "\" has no array \"Raw results\"");
    }
    for (const Json& value : *raw) {
        if (!value.is_number_unsigned()) {
            return invalid("\"" + series.event + "\": a raw result that is no whole number");
        }
        series.rows.push_back(single_value(value.get<std::uint64_t>()));
    }
    return series;
}

// A counter of the kernel: the 64 bits of a number that may be printed as negative.
Result<std::uint64_t> counter(const Json& object, const char* key) {
    const auto value = object.find(key);
    if (value == object.end()) {
        return invalid(std::string{"\""} + key + "\" is missing");
    }
    if (value->is_number_unsigned()) {
        return value->get<std::uint64_t>();
    }
    if (value->is_number_integer()) {
        return static_cast<std::uint64_t>(value->get<std::int64_t>());
    }
    return invalid(std::string{"\""} + key + "\" is no whole number");
}

// cpu, window start, thread, cycles, schedules, kernel cycles, kernel entries.
Result<std::vector<std::uint64_t>> utilisation_row(std::uint64_t thread, const Json& object,
                                                   const std::string& prefix) {
    std::vector<std::uint64_t> row{0, 0, thread};
    for (const char* name : {"UTILISATION", "NUMBER_SCHEDULES", "KERNEL_UTILISATION", "NUMBER_KERNEL_ENTRIES"}) {
        const auto value = counter(object, (prefix + name).c_str());
        if (!value.ok()) {
            return Error{value.error()};
        }
        row.push_back(*value);
    }
    return row;
}

}  // namespace

Result<std::vector<ImportedRun>> read_sel4bench(std::string_view text_untrusted, const ImportHints& hints) {
    const auto json = parse(text_untrusted);
    if (!json.ok()) {
        return Error{json.error()};
    }
    const Json benchmarks = json->is_array() ? *json : Json::array({*json});
    std::vector<ImportedRun> runs(1);
    ImportedRun& run = runs[0];
    run.labels = {{"format", "sel4bench"}, {"status", "ok"}};
    for (const Json& benchmark : benchmarks) {
        const auto results = benchmark.is_object() ? benchmark.find("Results") : benchmark.end();
        if (!benchmark.is_object() || results == benchmark.end() || !results->is_array()) {
            return invalid("no sel4bench output: expected [{\"Benchmark\":…,\"Results\":[…]},…]");
        }
        const std::string name = benchmark.value("Benchmark", std::string{});
        for (const Json& result : *results) {
            auto series = series_of(name, result, hints);
            if (!series.ok()) {
                return std::move(series).error();
            }
            run.series.push_back(std::move(*series));
        }
    }
    if (run.series.empty()) {
        return invalid("no results in the file");
    }
    return runs;
}

Result<std::vector<ImportedRun>> read_utilisation(std::string_view text_untrusted, const ImportHints& hints) {
    const auto json = parse(text_untrusted);
    if (!json.ok()) {
        return Error{json.error()};
    }
    if (!json->is_object()) {
        return invalid("no utilisation dump: expected an object with BENCHMARK_TOTAL_UTILISATION");
    }
    std::vector<ImportedRun> runs(1);
    ImportedRun& run = runs[0];
    run.labels = {{"format", "utilisation"}, {"status", "ok"}};
    ImportedSeries series;
    series.kind = Kind::kUtilisation;
    series.event = hints.event.empty() ? "utilisation" : hints.event;
    series.unit = hints.unit.empty() ? "cycles" : hints.unit;
    auto total = utilisation_row(~0ULL, *json, "BENCHMARK_TOTAL_");
    if (!total.ok()) {
        return std::move(total).error();
    }
    series.rows.push_back(std::move(*total));
    for (const auto& [key, threads] : json->items()) {
        if (!threads.is_array()) {
            continue;
        }
        for (const Json& thread : threads) {
            const std::string name = thread.value("NAME", thread.value("BENCHMARK_TCB_NAME", std::string{}));
            const bool is_idle = name == "idle_thread" || name.starts_with("idle_thread");
            const std::uint64_t number = is_idle ? 0 : series.rows.size();
            auto row =
                utilisation_row(number, thread, thread.contains("BENCHMARK_TCB_UTILISATION") ? "BENCHMARK_TCB_" : "");
            if (!row.ok()) {
                return std::move(row).error();
            }
            series.rows.push_back(std::move(*row));
            series.format += std::to_string(number) + " " + name + "\n";
        }
    }
    run.series.push_back(std::move(series));
    return runs;
}

}  // namespace perfleet
