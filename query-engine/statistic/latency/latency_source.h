// A source of measured values: a series of single values, or one group of a series of accumulated latencies.
//
// Each pass reads the values again, so memory doesn't grow with their number.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/number/description.h"

namespace perfleet {

// A value and the time at which it was measured; for a pair, the time of its stop event.
struct TimedValue {
    std::uint64_t ticks = 0;
    std::uint64_t value = 0;
};
using TimedPieces = std::function<Result<Done>(const std::function<void(std::span<const TimedValue>)>& visitor)>;

struct ValueSource {
    std::size_t session_index = 0;
    Series series;
    std::string event;
    std::string unit;  // as stored (value_unit.h)
    // Of accumulated latencies only.
    std::optional<std::uint64_t> group;
    std::uint64_t test_size = 1;
    std::uint64_t skipped_tests = 0;  // first tests of the group, or first values of the series, to leave out
    // Start and stop events: values are the times between them, within a thread (tracepoint_rows.h). Empty: measured
    // values.
    std::vector<std::string> pair;

    // Borrows the scan.
    [[nodiscard]] ValuePieces pieces(const Scan& scan) const;
    [[nodiscard]] TimedPieces timed_pieces(const Scan& scan) const;
};

// Whether zeros of the session's tracepoints are measured values (row_clock.h). If not, a tracepoint with nothing but
// zeros carries no value.
[[nodiscard]] bool holds_measured_values(const SessionRecord& session);

// The selected sources, by start of their sessions, then series, then group. If zeros may be unmeasured, tracepoints
// that hold nothing but zeros are left out; `with_zeros` keeps them and skips reading their rows.
// Errors: those of the store; kTooLarge (more than 4,096 groups in a series).
[[nodiscard]] Result<std::vector<ValueSource>> find_value_sources(const Scan& scan, std::uint64_t skipped_tests,
                                                                  bool with_zeros = false);

// The sources of sessions that have both events of `pair` (start, stop). `warnings` names events without a partner.
// Errors: kUsage (an event that no session has); those of pairs_of_tracepoints().
[[nodiscard]] Result<std::vector<ValueSource>> find_pair_sources(const Scan& scan, const std::vector<std::string>& pair,
                                                                 std::uint64_t skipped_tests,
                                                                 std::vector<std::string>& warnings);

// Adds both series of a pair, or the source's one series.
void add_series(AnswerLedger& ledger, const Scan& scan, const ValueSource& source);

// Adds the columns that identify the source.
void add_identity(RowMaker& row, const Scan& scan, const ValueSource& source);

// Adds statistics that don't depend on the values' order: count, bounds, mean with its interval, spread. `described`:
// the statistics of the same values in their order, if known.
void add_moments(RowMaker& row, const Moments& moments, long double confidence, const Description* described = nullptr);

// The first values in the order of measurement; their memory is accounted to `share`. Errors: those of reading;
// kTooLarge (the query's memory is exceeded).
[[nodiscard]] Result<std::vector<std::uint64_t>> first_values(const Scan& scan, const ValueSource& source,
                                                              std::size_t count_max, MemoryShare& share);

// The session's label with this key, or nothing.
[[nodiscard]] std::optional<std::string> label_of(const SessionRecord& session, const std::string& key);

// The cycle counter's frequency in Hz, if the run states it.
[[nodiscard]] std::optional<double> clock_hz_of(const SessionRecord& session);

// Validity warnings of these values, a sentence each, which begins with `name`.
[[nodiscard]] std::vector<std::string> validity_warnings_of(const std::string& name,
                                                            std::vector<std::uint64_t> in_order);
// The same for the source's first values. Errors: as first_values().
[[nodiscard]] Result<std::vector<std::string>> validity_warnings_of(const Scan& scan, const ValueSource& source,
                                                                    const std::string& name);

// The status with which the session's run ended, such as "ok" or "failed": from its label, or from the row that its
// collector wrote (protocol::kRunEnded). Empty: unknown.
[[nodiscard]] std::optional<std::string> run_status(const Scan& scan, std::size_t session_index);

// Which run failed and why, in one sentence; nothing if it didn't fail.
[[nodiscard]] std::optional<std::string> failed_run(const Scan& scan, std::size_t session_index);

// Why the processor's frequency may change during the measurement, as far as the run states it; nothing if the
// frequency is fixed or unknown.
[[nodiscard]] std::optional<std::string> unsteady_frequency(const SessionRecord& session);

// Conditions that decide whether a figure can be trusted and repeated. A run states it by labels with these names. The
// machine's state comes first (import --measured-here fills most of it), then the article's checklist.
inline constexpr std::array<std::string_view, 15> kRunChecklist{
    "machine",        "kernel",      // what it ran on
    "clock_hz",                      // of the cycle counter
    "frequency_khz",                 // of the processor, and what lets it change:
    "governor",       "turbo",       //
    "compiler_flags",                //
    "dead_code",                     // how the measured code was kept from being left out
    "warmup",                        // what ran before
    "data_size",      "data_order",  // enough data, and not too regular: random by a reproducible generator
    "overhead",                      // of the measurement itself
    "preemption",                    // off, or filtered
    "noise",                         // other load
    "parallel_start",                // how parallel runs were made to begin together
};

// The items of the checklist for which there is no label.
[[nodiscard]] std::vector<std::string_view> missing_of_checklist(
    const std::function<bool(std::string_view)>& has_label);

// The same for one run, as a sentence; nothing if it has all.
[[nodiscard]] std::optional<std::string> missing_metadata(const SessionRecord& session);

}  // namespace perfleet
