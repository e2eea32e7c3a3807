// Files of other programs, as `perfleet import` reads them.
#include <array>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "tests/fuzz/fuzz_input.h"
#include "tools/perfleet/import/imported_run.h"

namespace perfleet {
namespace {

// Columns of a kind that a row has: integers, and the time only when the run has a clock.
std::size_t row_size(Kind kind, bool has_clock) {
    std::size_t count = has_clock ? 0 : std::size_t{0} - 1;
    for (const ColumnRule& rule : columns_of(kind)) {
        count += rule.shape == ColumnShape::kInteger ? 1 : 0;
    }
    return count;
}

void expect_rows(const ImportedRun& run) {
    PERFLEET_ASSERT(run.series.size() <= limits::kEventsMax || run.labels.at("format") != "sel4bench");
    for (const ImportedSeries& series : run.series) {
        const std::size_t size = row_size(series.kind, run.clock.has_value());
        PERFLEET_ASSERT(series.values.empty() || series.kind == Kind::kTracepoint);
        for (const auto& row : series.rows) {
            PERFLEET_ASSERT(row.size() == size);
        }
        for (const auto& [reason, count] : series.lost) {
            PERFLEET_ASSERT(is_loss(reason) && count != 0);
        }
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    constexpr std::array kReaders{read_kbench,      read_columns,          read_bernat,           read_sel4bench,
                                  read_utilisation, read_sel4_entries,     read_sel4_tracepoints, read_sel4_utilisation,
                                  read_go_bench,    read_google_benchmark, read_hyperfine};
    constexpr std::array kArchitectures{"aarch64", "ia32", "aarch32", ""};
    FuzzInput input{data, size_bytes};
    const auto reader = kReaders[input.byte() % kReaders.size()];
    const std::uint8_t choice = input.byte();
    ImportHints hints;
    hints.architecture = kArchitectures[choice % kArchitectures.size()];
    hints.is_mcs = (choice & 4) != 0;
    hints.kernel_version = (choice & 8) != 0 ? "13.0.0" : "";
    if (const unsigned size = choice >> 4 & 3U; size != 0) {
        hints.initial_test_size = size;
    }
    hints.log_index = input.byte();
    hints.tracepoint_count = input.byte();
    if (const auto runs = reader(input.rest_text(), hints); runs.ok()) {
        for (const ImportedRun& run : *runs) {
            expect_rows(run);
        }
    }
    return 0;
}
