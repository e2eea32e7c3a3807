// Results of benchmark programs: Go's `go test -bench`, Google Benchmark's JSON and text, hyperfine's JSON.
//
// Each repetition is a run with the label `repetition`. It has a series of one value for each benchmark and metric, and
// a counter for its iterations. Times are in ns. Aggregates are skipped, because they can be computed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "query-engine/statistic/answer/value_unit.h"
#include "query-engine/statistic/diff/diff_runs.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "tools/perfleet/import/exact_decimal.h"
#include "tools/perfleet/import/run_parts.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using Json = nlohmann::json;
using Labels = std::map<std::string, std::string>;

constexpr std::size_t kRepetitionsMax = 10'000;
constexpr std::size_t kBenchmarkValuesMax = 1U << 20;
constexpr std::size_t kSeriesARunMax = limits::kEventsMax / 2;  // one for a value, one for its iterations
constexpr const char* kBytesPerSecond = "bytes_per_second";

std::string label_text(std::string_view text) {
    std::string label;
    for (CodePoint next = first_code_point(text); !text.empty(); next = first_code_point(text)) {
        const std::size_t size = std::max<std::size_t>(next.size_bytes, 1);
        if (label.size() + size > limits::kLabelSizeBytesMax) {
            break;
        }
        label += next.size_bytes == 0 ? "?" : text.substr(0, size);
        text.remove_prefix(size);
    }
    return label;
}

// What one kind of value was in each repetition.
struct Measured {
    std::string unit;
    std::vector<long double> values;
    std::vector<std::uint64_t> iterations;  // as many; 0: not known
};

// Values in the finest decimals in which the greatest has at most 12 digits: no clock measures more.
ImportedSeries series_of(const std::string& event, const Measured& measured, std::size_t repetition) {
    constexpr long double kPartsMax = 1e12L;
    constexpr unsigned kDecimalsMax = 15;
    const long double greatest = *std::max_element(measured.values.begin(), measured.values.end());
    const auto parts = [](long double value, unsigned decimals) {
        return std::round(value * std::pow(10.0L, static_cast<long double>(decimals)));
    };
    unsigned decimals = 0;
    while (decimals < kDecimalsMax && parts(greatest, decimals + 1) <= kPartsMax) {
        ++decimals;
    }
    while (decimals > 0 && std::ranges::all_of(measured.values, [&](long double value) {
               return std::fmod(parts(value, decimals), 10.0L) == 0;
           })) {
        --decimals;
    }
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = event;
    series.unit = stored_unit({measured.unit, decimals});
    series.values = {static_cast<std::uint64_t>(parts(measured.values[repetition], decimals))};
    return series;
}

// Collects values and turns them into runs, the k-th of each benchmark into the k-th run.
class Repetitions {
public:
    explicit Repetitions(std::string format) : format_{std::move(format)} {}

    // The metric "" is the time. Negative and missing values are left out with a warning.
    Result<Done> add(const std::string& benchmark, const std::string& metric, const std::string& unit,
                     long double value, std::uint64_t iterations = 0) {
        const std::string event = metric.empty() ? benchmark : benchmark + " " + metric;
        if (!std::isfinite(value) || value < 0 || value > 1e19L) {
            ++left_out_[event];
            return Done{};
        }
        Measured& measured = measured_[event];
        measured.unit = unit;
        measured.values.push_back(value);
        measured.iterations.push_back(metric.empty() ? iterations : 0);
        if (measured.values.size() > kRepetitionsMax || ++value_count_ > kBenchmarkValuesMax) {
            return Error{ErrorCode::kTooLarge,
                         fmt::format("more than {} repetitions of {} or {} values in all; split the file",
                                     kRepetitionsMax, printable(benchmark), kBenchmarkValuesMax)};
        }
        return Done{};
    }
    void fail(const std::string& benchmark, const std::string& why) { failed_.emplace(benchmark, why); }

    // Adds the runs of what was added since the last call; all have these labels.
    void finish(const Labels& labels, std::vector<ImportedRun>& runs) {
        std::vector<std::string> warnings;
        for (const auto& [event, count] : left_out_) {
            warnings.push_back(
                fmt::format("{}: left out, below 0 or no number: {}", event, counted_noun(count, "value")));
        }
        for (const auto& [benchmark, why] : failed_) {
            warnings.push_back(fmt::format("{} failed: {}", benchmark, why));
        }
        std::map<std::pair<std::size_t, std::size_t>, ImportedRun> found;  // by repetition and part
        std::size_t number = 0;
        for (const auto& [event, measured] : measured_) {
            const std::size_t part = number++ / kSeriesARunMax;
            for (std::size_t i = 0; i < measured.values.size(); ++i) {
                ImportedRun& run = found.try_emplace({i, part}, new_run(format_)).first->second;
                run.labels.insert(labels.begin(), labels.end());
                run.labels[kRepetitionLabel] = std::to_string(i + 1);
                run.series.push_back(series_of(event, measured, i));
                if (const std::uint64_t iterations = measured.iterations[i]; iterations != 0) {
                    ImportedSeries& counter = run.series.emplace_back();
                    counter.kind = Kind::kCounter;
                    counter.event = event;
                    counter.unit = "iterations";
                    counter.rows.push_back(imported_row<Kind::kCounter>(column<ColumnId::kValue>(iterations),
                                                                        column<ColumnId::kTimeEnabled>(1),
                                                                        column<ColumnId::kTimeRunning>(1)));
                }
            }
        }
        for (auto& [key, run] : found) {
            run.warnings = std::exchange(warnings, {});
            runs.push_back(std::move(run));
        }
        measured_.clear();
        left_out_.clear();
        failed_.clear();
    }

private:
    std::string format_;
    std::map<std::string, Measured> measured_;
    std::map<std::string, std::size_t> left_out_;
    std::map<std::string, std::string> failed_;
    std::size_t value_count_ = 0;
};

Result<std::vector<ImportedRun>> runs_of(Repetitions& repetitions, const Labels& labels, const std::string& what) {
    std::vector<ImportedRun> runs;
    repetitions.finish(labels, runs);
    return runs.empty() ? Result<std::vector<ImportedRun>>{invalid("no repetition of a benchmark: expected " + what)}
                        : std::move(runs);
}

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    while (!(line = without_space(line)).empty()) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        fields.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
    return fields;
}

std::optional<long double> real_of(std::string_view text) {
    const ParsedDecimal parsed = parse_decimal(text);
    return parsed.fault == DecimalFault::kNone
               ? std::optional{static_cast<long double>(parsed.value.digits) *
                               std::pow(10.0L, static_cast<long double>(-parsed.value.decimals))}
               : std::nullopt;
}

std::optional<long double> nanoseconds_in(std::string_view unit) {
    constexpr std::array<std::pair<std::string_view, long double>, 5> kUnits{
        {{"ns", 1}, {"us", 1e3L}, {"µs", 1e3L}, {"ms", 1e6L}, {"s", 1e9L}}};
    const auto* const found = std::ranges::find(kUnits, unit, [](const auto& one) { return one.first; });
    return found == kUnits.end() ? std::nullopt : std::optional{found->second};
}

// --- Go ---

// BenchmarkName-8  iterations  value unit  value unit …
bool is_go_result(std::span<const std::string_view> fields) {
    return fields.size() >= 4 && fields.size() % 2 == 0 && fields[0].starts_with("Benchmark") &&
           number_of<std::uint64_t>(fields[1]) && fields[2].find_first_of("0123456789IN") <= 1;
}

// --- Google Benchmark ---

bool is_google_head(std::span<const std::string_view> fields) {
    return fields.size() >= 4 && fields[0] == "Benchmark" && fields[1] == "Time" && fields[2] == "CPU" &&
           fields[3] == "Iterations";
}

// 25.4499G/s of bytes are 25.4499 × 2^30 (later versions write Gi), 12.3M of anything else are 12.3 × 10^6.
std::optional<long double> counter_of(std::string_view name, std::string_view text) {
    constexpr std::string_view kGreater = "kMGTPEZY";
    constexpr std::string_view kLess = "munpfazy";
    text = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
    const bool is_binary = text.ends_with('i') || name == kBytesPerSecond;
    text = text.ends_with('i') ? text.substr(0, text.size() - 1) : text;
    long double factor = 1;
    if (!text.empty()) {
        const auto greater = kGreater.find(text.back());
        const auto less = kLess.find(text.back());
        const long double step = is_binary ? 1'024 : 1'000;
        if (greater != std::string_view::npos || less != std::string_view::npos) {
            factor = greater != std::string_view::npos ? std::pow(step, static_cast<long double>(greater + 1))
                                                       : std::pow(step, -static_cast<long double>(less + 1));
            text.remove_suffix(1);
        }
    }
    const auto number = real_of(text);
    return number ? std::optional{*number * factor} : std::nullopt;
}

std::string unit_of_counter(std::string_view name) {
    return name == kBytesPerSecond ? "B/s" : name == "items_per_second" ? "items/s" : "count";
}

// NAME_mean and the like, where NAME has several of them.
bool is_aggregate(std::string_view name, const std::set<std::string_view>& names) {
    constexpr std::array<std::string_view, 8> kAggregates{"mean", "median", "stddev", "cv",
                                                          "min",  "max",    "BigO",   "RMS"};
    const std::size_t at = name.rfind('_');
    const std::string base{name.substr(0, at)};
    return at != std::string_view::npos && std::ranges::find(kAggregates, name.substr(at + 1)) != kAggregates.end() &&
           names.contains(base + "_mean") && names.contains(base + "_stddev");
}

Result<std::vector<ImportedRun>> read_google_text(std::string_view text) {
    std::vector<std::vector<std::string_view>> lines;
    std::set<std::string_view> names;
    PERFLEET_TRY(each_line(text, [&](const TextLine& line) -> Result<Done> {
        auto fields = fields_of(line.text);
        if (fields.size() >= 6 || (fields.size() > 2 && fields[1] == "ERROR" && fields[2] == "OCCURRED:")) {
            names.insert(fields[0]);
            lines.push_back(std::move(fields));
        }
        return Done{};
    }));
    Repetitions repetitions{"google-benchmark"};
    for (const auto& fields : lines) {
        const std::string name{fields[0]};
        if (fields[1] == "ERROR") {
            repetitions.fail(name, fmt::format("{}", fmt::join(fields.begin() + 3, fields.end(), " ")));
            continue;
        }
        const auto real = real_of(fields[1]);
        const auto cpu = real_of(fields[3]);
        const auto iterations = number_of<std::uint64_t>(fields[5]);
        const auto real_unit = nanoseconds_in(fields[2]);
        const auto cpu_unit = nanoseconds_in(fields[4]);
        if (!real || !cpu || !iterations || !real_unit || !cpu_unit || is_aggregate(name, names)) {
            continue;
        }
        PERFLEET_TRY(repetitions.add(name, "", "ns", *real * *real_unit, *iterations));
        PERFLEET_TRY(repetitions.add(name, "cpu_time", "ns", *cpu * *cpu_unit));
        for (std::size_t i = 6; i < fields.size(); ++i) {
            const std::size_t equals = fields[i].find('=');
            const std::string_view key = fields[i].substr(0, equals);
            const auto value =
                equals == std::string_view::npos ? std::nullopt : counter_of(key, fields[i].substr(equals + 1));
            if (value) {
                PERFLEET_TRY(repetitions.add(name, std::string{key}, unit_of_counter(key), *value));
            }
        }
    }
    return runs_of(repetitions, {}, "NAME TIME ns CPU ns ITERATIONS below Google Benchmark's heading");
}

// Errors: kInvalid names what is missing.
Result<Json> parse_results(std::string_view text, const char* list) {
    try {
        Json json = Json::parse(text);
        if (!json.is_object() || !json.contains(list) || !json[list].is_array()) {
            return invalid(fmt::format("JSON without an array \"{}\"", list));
        }
        return json;
    } catch (const Json::exception&) {
        return invalid("invalid JSON; is the output complete?");
    }
}

std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? "" : found->is_string() ? found->get<std::string>() : found->dump();
}

Result<std::vector<ImportedRun>> read_google_json(std::string_view text) {
    constexpr std::array<std::string_view, 9> kNoCounters{"family_index",  "per_family_instance_index",
                                                          "repetitions",   "repetition_index",
                                                          "threads",       "iterations",
                                                          "real_time",     "cpu_time",
                                                          "aggregate_unit"};
    const Json json = PERFLEET_TRY(parse_results(text, "benchmarks"));
    Repetitions repetitions{"google-benchmark"};
    for (const Json& one : json["benchmarks"]) {
        const std::string name = one.is_object() ? text_in(one, "name") : "";
        if (name.empty() || text_in(one, "run_type") == "aggregate") {
            continue;
        }
        if (text_in(one, "error_occurred") == "true") {
            repetitions.fail(name, text_in(one, "error_message"));
            continue;
        }
        const auto unit = nanoseconds_in(one.contains("time_unit") ? text_in(one, "time_unit") : "ns");
        for (const auto& [key, value] : one.items()) {
            const bool is_time = key == "real_time" || key == "cpu_time";
            if (!value.is_number() || (is_time && !unit) ||
                (!is_time && std::ranges::find(kNoCounters, key) != kNoCounters.end())) {
                continue;
            }
            const auto iterations = one.find("iterations");
            PERFLEET_TRY(repetitions.add(
                name, key == "real_time" ? "" : key, is_time ? "ns" : unit_of_counter(key),
                static_cast<long double>(value.get<double>()) * (is_time ? *unit : 1),
                iterations != one.end() && iterations->is_number_unsigned() ? iterations->get<std::uint64_t>() : 0));
        }
    }
    Labels labels;
    if (const auto context = json.find("context"); context != json.end() && context->is_object()) {
        for (const char* key : {"host_name", "executable", "num_cpus", "mhz_per_cpu", "library_build_type"}) {
            if (context->contains(key)) {
                labels[key] = label_text(text_in(*context, key));
            }
        }
    }
    return runs_of(repetitions, labels, "entries of \"benchmarks\" that are no aggregates");
}

}  // namespace

std::string benchmark_format_of(std::string_view head_untrusted) {
    std::string_view head = without_space(without_mark(head_untrusted));
    head = head.substr(std::min(head.find_first_not_of("\r\n\t "), head.size()));
    if (head.starts_with('{')) {
        const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
        return has("\"results\"") && has("\"command\"") && has("\"mean\"") ? "hyperfine"
               : has("\"context\"") && has("\"num_cpus\"")                 ? "google-benchmark"
                                                                           : "";
    }
    while (!head.empty()) {
        const auto fields = fields_of(take_part(head, '\n'));
        if (is_go_result(fields)) {
            return "go-bench";
        }
        if (is_google_head(fields)) {
            return "google-benchmark";
        }
    }
    return "";
}

Result<std::vector<ImportedRun>> read_go_bench(std::string_view text_untrusted, const ImportHints&) {
    constexpr std::array<std::string_view, 3> kSettings{"goos", "goarch", "cpu"};
    struct Line {
        std::string package;
        std::vector<std::string_view> fields;
    };
    Repetitions repetitions{"go-bench"};
    Labels labels;
    std::vector<Line> lines;
    std::set<std::string> packages;
    std::string package;
    PERFLEET_TRY(each_line(without_mark(text_untrusted), [&](const TextLine& line) -> Result<Done> {
        std::string_view value = line.text;
        const std::string key{take_part(value, ':')};
        value = without_space(value);
        if (key == "pkg") {
            package = label_text(value);
        } else if (std::ranges::find(kSettings, key) != kSettings.end()) {
            labels[key] = label_text(value);
        } else if (key == "--- FAIL" && value.starts_with("Benchmark")) {
            repetitions.fail(std::string{fields_of(value)[0]}, "go test says so");
        } else if (auto fields = fields_of(line.text); is_go_result(fields)) {
            packages.insert(package);
            lines.push_back({package, std::move(fields)});
        }
        return Done{};
    }));
    for (const auto& [of_package, fields] : lines) {
        // Names of benchmarks are unique within a package.
        const std::string name = (packages.size() > 1 ? of_package + "." : "") + std::string{fields[0]};
        for (std::size_t i = 2; i + 1 < fields.size(); i += 2) {
            const bool is_time = fields[i + 1] == "ns/op";
            const std::string unit = is_time ? "ns" : label_text(fields[i + 1]);
            PERFLEET_TRY(repetitions.add(name, is_time ? "" : unit, unit, real_of(fields[i]).value_or(-1),
                                         *number_of<std::uint64_t>(fields[1])));
        }
    }
    if (packages.size() == 1 && !packages.begin()->empty()) {
        labels["pkg"] = *packages.begin();
    }
    return runs_of(repetitions, labels, "lines of go test -bench: BenchmarkName-8 ITERATIONS VALUE ns/op");
}

Result<std::vector<ImportedRun>> read_google_benchmark(std::string_view text_untrusted, const ImportHints&) {
    const std::string text = without_escapes(without_mark(text_untrusted));
    return text.find_first_not_of(" \t\r\n") < text.size() && text[text.find_first_not_of(" \t\r\n")] == '{'
               ? read_google_json(text)
               : read_google_text(text);
}

Result<std::vector<ImportedRun>> read_hyperfine(std::string_view text_untrusted, const ImportHints& hints) {
    const Json json = PERFLEET_TRY(parse_results(without_mark(text_untrusted), "results"));
    std::vector<ImportedRun> runs;
    Repetitions repetitions{"hyperfine"};
    std::set<std::string> commands;
    for (const Json& one : json["results"]) {
        if (!one.is_object() || !one.contains("times") || !one["times"].is_array()) {
            return invalid("a result without its \"times\": export it with hyperfine --export-json");
        }
        std::string command = label_text(text_in(one, "command"));
        for (int number = 2; !commands.insert(command).second; ++number) {
            command = label_text(text_in(one, "command")).substr(0, limits::kLabelSizeBytesMax - 8) +
                      fmt::format(" #{}", number);
        }
        Labels labels{{kCommandLabel, command}};
        if (const auto parameters = one.find("parameters"); parameters != one.end() && parameters->is_object()) {
            for (const auto& [name, value] : parameters->items()) {
                labels[label_text("parameter_" + name)] = label_text(text_in(*parameters, name.c_str()));
            }
        }
        for (const Json& time : one["times"]) {
            PERFLEET_TRY(repetitions.add(hints.event.empty() ? "elapsed" : hints.event, "", "ns",
                                         time.is_number() ? std::round(time.get<double>() * 1e9L) : -1.0L));
        }
        const std::size_t first = runs.size();
        repetitions.finish(labels, runs);
        const auto codes = one.find("exit_codes");
        for (std::size_t i = first; codes != one.end() && i < runs.size() && i - first < codes->size(); ++i) {
            if (const Json& code = (*codes)[i - first]; code != 0) {
                runs[i].fail(fmt::format("{} ended with {}", command, code.is_null() ? "a signal" : code.dump()));
            }
        }
    }
    return runs.empty() ? Result<std::vector<ImportedRun>>{invalid("no \"times\" of a command")} : std::move(runs);
}

}  // namespace perfleet
