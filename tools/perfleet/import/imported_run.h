// The result of parsing a file: runs, each with its series of rows and everything that the file says about it.
//
// Plain values. Formats reject no measurements: a failed run is imported as failed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

struct ImportedSeries {
    Kind kind{};
    std::string event;
    std::string unit;
    // Each row: the integers of columns_of(kind), in that order; with a time only if the run has a clock.
    std::vector<std::vector<std::uint64_t>> rows;
    // Used instead of rows for a series of single values: there may be many.
    std::vector<std::uint64_t> values;
    std::map<CountName, std::uint64_t> lost;  // rows that were produced but aren't here, by reason
    std::string format;                       // the event's description, as text
};

// A row of such a series, from columns by name; without a time, and with it.
template <Kind kKind, ColumnId... kIds>
[[nodiscard]] std::vector<std::uint64_t> imported_row(ColumnValue<kIds>... values) {
    const auto row = row_of<kKind>(values...);
    return {row.begin(), row.end()};
}
template <Kind kKind, ColumnId... kIds>
[[nodiscard]] std::vector<std::uint64_t> timed_row(std::uint64_t time, ColumnValue<kIds>... values) {
    auto row = imported_row<kKind>(values...);
    row.insert(row.begin(), time);
    return row;
}

// The clock of the rows' times.
struct ImportedClock {
    std::string name;
    std::uint64_t ticks_per_second = 1'000'000'000;
};

struct ImportedRun {
    std::vector<ImportedSeries> series;
    std::optional<ImportedClock> clock;         // none: a row's time is its number
    std::map<std::string, std::string> labels;  // parameters and results: "format", "status", "clock_hz", …
    std::vector<std::string> warnings;

    // Marks the run as failed; its measurements are kept.
    void fail(const std::string& why) {
        labels["status"] = "failed";
        labels.try_emplace("error", why);
        warnings.push_back("stored as failed: " + why);
    }
};

// Options that the user gives for the file.
struct ImportHints {
    std::string event;                               // name of the event; empty: the format's own
    std::string unit;                                // of plain numbers; empty: "cycles"
    std::optional<std::uint64_t> initial_test_size;  // of a table without a header
    std::uint64_t test_size_delta = 1;
    // For logs of a seL4 kernel.
    std::string architecture;
    std::string kernel_version;  // empty: like 14.0.0
    bool is_mcs = false;
    std::optional<std::uint64_t> log_index;         // as seL4_BenchmarkFinalizeLog returned it
    std::optional<std::uint64_t> tracepoint_count;  // KernelMaxNumTracePoints
    std::uint64_t clock_hz = 0;                     // 0: not known
    std::vector<std::string> thread_names;
    std::vector<std::pair<std::string, std::string>> points;  // event, and the text with its timestamps
};

// The formats. `text_untrusted` is a whole file. Errors: kInvalid names the line.
[[nodiscard]] Result<std::vector<ImportedRun>> read_kbench(std::string_view text_untrusted, const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_columns(std::string_view text_untrusted, const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_bernat(std::string_view text_untrusted, const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_sel4bench(std::string_view text_untrusted,
                                                              const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_utilisation(std::string_view text_untrusted,
                                                                const ImportHints& hints);
// Results of benchmark programs: each repetition is a run (benchmark_formats.cpp).
[[nodiscard]] Result<std::vector<ImportedRun>> read_go_bench(std::string_view text_untrusted, const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_google_benchmark(std::string_view text_untrusted,
                                                                     const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_hyperfine(std::string_view text_untrusted,
                                                              const ImportHints& hints);
// The format of a file that begins with these bytes, of these formats; empty: none.
[[nodiscard]] std::string benchmark_format_of(std::string_view head_untrusted);
// Bytes of the log buffer; and of the IPC buffer after seL4_BenchmarkGetThreadUtilisation, one thread after another.
[[nodiscard]] Result<std::vector<ImportedRun>> read_sel4_entries(std::string_view bytes_untrusted,
                                                                 const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_sel4_tracepoints(std::string_view bytes_untrusted,
                                                                     const ImportHints& hints);
[[nodiscard]] Result<std::vector<ImportedRun>> read_sel4_utilisation(std::string_view bytes_untrusted,
                                                                     const ImportHints& hints);

}  // namespace perfleet
