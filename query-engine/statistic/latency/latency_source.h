// Where measured values are: a series of single values, or one group of a series of accumulated latencies.
//
// Values are read anew at each pass, so that memory doesn't grow with their number.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
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

// A value, and when it was measured: of a pair, when it stopped.
struct TimedValue {
    std::uint64_t ticks = 0;
    std::uint64_t value = 0;
};
using TimedPieces = std::function<Result<Done>(const std::function<void(std::span<const TimedValue>)>& visitor)>;

struct ValueSource {
    std::size_t session_index = 0;
    Series series;
    std::string event;
    std::string unit;  // as stored: value_unit.h
    // Of accumulated latencies only.
    std::optional<std::uint64_t> group;
    std::uint64_t test_size = 1;
    std::uint64_t skipped_tests = 0;  // of accumulated latencies the group's first tests, else the first values
    // Start and stop: values are the times between them, of one thread (tracepoint_rows.h). Empty: they were measured.
    std::vector<std::string> pair;

    // Borrows the scan.
    [[nodiscard]] ValuePieces pieces(const Scan& scan) const;
    [[nodiscard]] TimedPieces timed_pieces(const Scan& scan) const;
};

// Whether the values of the session's tracepoints were measured, zeros included (row_clock.h); otherwise those that are
// all 0 are of a tracepoint that carries none.
[[nodiscard]] bool holds_measured_values(const SessionRecord& session);

// By start of their sessions, then series, then group. A tracepoint without any value but 0 has none where values
// aren't known to have been measured, unless `with_zeros`: then its rows aren't looked at.
// Errors: those of the store; kTooLarge (more than 4,096 groups in a series).
[[nodiscard]] Result<std::vector<ValueSource>> find_value_sources(const Scan& scan, std::uint64_t skipped_tests,
                                                                  bool with_zeros = false);

// Those of the sessions that have both events, `pair`: start, stop. What has no partner is named in `warnings`.
// Errors: kUsage (an event that no session has); those of pairs_of_tracepoints().
[[nodiscard]] Result<std::vector<ValueSource>> find_pair_sources(const Scan& scan, const std::vector<std::string>& pair,
                                                                 std::uint64_t skipped_tests,
                                                                 std::vector<std::string>& warnings);

// Both series of a pair, else the one that there is.
void add_series(AnswerLedger& ledger, const Scan& scan, const ValueSource& source);

// The columns of an answer's row that say whose values it is about.
void add_identity(RowMaker& row, const Scan& scan, const ValueSource& source);

// Those that say what is known of values without any order among them: count, bounds, mean with its interval, spread.
// `described`: of the same values, if they were looked at in their order.
void add_moments(RowMaker& row, const Moments& moments, long double confidence, const Description* described = nullptr);

// The first values in the order in which they were measured; they are added to `share`. Errors: those of reading;
// kTooLarge (the query's memory is exceeded).
[[nodiscard]] Result<std::vector<std::uint64_t>> first_values(const Scan& scan, const ValueSource& source,
                                                              std::size_t count_max, MemoryShare& share);

// "1000 of a label" and the like: the session's label, or nothing.
[[nodiscard]] std::optional<std::string> label_of(const SessionRecord& session, const std::string& key);

// Ticks a second of the cycle counter, when the run says so.
[[nodiscard]] std::optional<double> clock_hz_of(const SessionRecord& session);

// What these values give reason to doubt, a sentence each; `name` says whose they are.
[[nodiscard]] std::vector<std::string> validity_warnings_of(const std::string& name,
                                                            std::vector<std::uint64_t> in_order);
// Of the source's first values. Errors: as first_values().
[[nodiscard]] Result<std::vector<std::string>> validity_warnings_of(const Scan& scan, const ValueSource& source,
                                                                    const std::string& name);

// How the session's run ended, "ok" or "failed" among others: by its label, or by the row that its collector wrote
// (protocol::kRunEnded). Empty: neither says so.
[[nodiscard]] std::optional<std::string> run_status(const Scan& scan, std::size_t session_index);

// Which run failed and why, in one sentence; nothing of one that did not.
[[nodiscard]] std::optional<std::string> failed_run(const Scan& scan, std::size_t session_index);

// What lets the processor's frequency change while it measures, as far as the run says; nothing when it is steady, or
// the run doesn't say.
[[nodiscard]] std::optional<std::string> unsteady_frequency(const SessionRecord& session);

// What decides whether a figure can be believed and repeated; a run says it by labels of these names. The machine's
// state first (import --measured-here knows most of it), then the article's checklist.
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

// What runs should say of themselves and don't, as the end of a sentence after "say": how much it is, or each by its
// name. Nothing when all is there.
[[nodiscard]] std::optional<std::string> missing_of_checklist(const std::function<bool(std::string_view)>& is_said,
                                                              bool by_name);

// The same of one run, in one sentence.
[[nodiscard]] std::optional<std::string> missing_metadata(const SessionRecord& session, bool by_name);

}  // namespace perfleet
