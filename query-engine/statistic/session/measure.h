// The measure of a selection: what a width means in every view and export. It is an event and its amount, or the number
// of its rows (`--measure samples`).
//
// The amount of a row is its weight: the period that a sample stands for (ns of clocks), the value of an imported
// profile, ns off the CPU. Weights are signed, and sums exact or refused (stack/stack_counts.h).
//
// Plain functions over a scan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/number/sum.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/pprof/sample_labels.h"

namespace perfleet {

struct Measure {
    std::string event;
    std::vector<std::string> parts;   // the events that it adds up: `event`; of time off the CPU also the runnable time
    bool is_amount = false;           // else the number of rows
    std::string unit;                 // "ns", "cycles", "bytes", "events"; of rows "samples"
    std::vector<std::string> others;  // further events with rows to profile, sorted
    bool is_sampled = false;          // rows are a sample of all occurrences; of imported values see is_sampled()
    std::string unknown;              // the warning why amounts aren't known; empty: they are

    // The name that is shown for a part if there are several, such as "blocked".
    [[nodiscard]] std::string part_name(std::size_t part) const;
};
inline constexpr const char* kRowUnit = "samples";

// Profiles with fewer samples get a warning. With this many, a share may be 10 percentage points off (two standard
// errors of a share of one half).
inline constexpr std::uint64_t kFewSamples = 100;

// Errors: kUsage when the selected event is in none of the sessions, naming those that are.
[[nodiscard]] Result<Done> check_event(const Scan& scan);

// Of the selected event, else of the first with rows of samples or tracepoints: lowest event number, then name. Nothing
// if there are no such rows. Errors: those of check_event().
[[nodiscard]] Result<std::optional<Measure>> choose_measure(const Scan& scan);

// The chosen one, and also those of `others` if the user chose no event. Errors: those of choose_measure().
[[nodiscard]] Result<std::vector<Measure>> choose_measures(const Scan& scan);

// The session's series of samples and tracepoints of this event that have rows, ascending. In a session without any
// stacks, such as one of imported values, tracepoints are no profile; they are left out here and in the functions
// below.
[[nodiscard]] std::vector<Series> event_series(const ScannedSession& session, const std::string& event);

// Times of the event's first and last selected rows, by the batch records; nothing if it has none.
[[nodiscard]] std::optional<std::pair<UtcNs, UtcNs>> event_time_range(const Scan& scan, const std::string& event);

// The same of all parts of a measure.
[[nodiscard]] std::optional<std::pair<UtcNs, UtcNs>> measure_time_range(const Scan& scan, const Measure& measure);

// The measure of an event, without its `others`.
[[nodiscard]] Measure measure_of(const Scan& scan, std::string event);

// Whether rows of the series are imported values that may say in kValue how many samples they stand for.
[[nodiscard]] inline bool has_sample_numbers(const SessionRecord& session, Series series) {
    return has_imported_values(session) && series.kind == Kind::kDetailedSample;
}
// The number of samples of such a row, 1 if it isn't known; kValue is decoded.
[[nodiscard]] inline std::uint64_t samples_of(const DecodedRows& rows, std::size_t row) {
    const std::uint64_t samples = rows.integers(ColumnId::kValue)[row];
    return samples == kUnknownSamples ? 1 : samples;
}

// The amounts that a format shows, and what it can't hold: amounts below 0 are left out, and sums of 2^53 or more are
// rounded where numbers are doubles. Warnings say so.
class ShownAmounts {
public:
    // Adds an amount. Whether it can be shown.
    [[nodiscard]] bool add(std::int64_t amount) {
        const std::uint64_t magnitude = WeightTotal::magnitude_of(static_cast<std::uint64_t>(amount));
        (amount < 0 ? negative_ : shown_) += magnitude;
        negative_count_ += amount < 0 ? 1 : 0;
        return amount >= 0;
    }
    void warn_of_negative(const std::string& unit, std::vector<std::string>& warnings) const;
    void warn_of_rounding(const std::string& unit, std::vector<std::string>& warnings) const;

private:
    std::uint64_t negative_count_ = 0;
    Uint128 negative_ = 0;  // absolute
    Uint128 shown_ = 0;
};

// What an answer says of its measure. `total`: of all rows of it. Numbers of samples that aren't known give way to
// null.
void set_measure(const Measure& measure, const RowTotal& total, Answer& answer);
// Whether rows are a sample of all occurrences, or stand for a known number of them: shares are estimates then, and
// have intervals.
[[nodiscard]] bool is_sampled(const Measure& measure, const RowTotal& total);

// The ledger of this event's samples and tracepoints in all sessions.
[[nodiscard]] Ledger event_ledger(const Scan& scan, const std::string& event, std::vector<std::string>& warnings);

// Adds a warning that names the other events, or, if the user chose this one, those of its name (`NAME#2`).
void warn_of_other_events(const Scan& scan, const Measure& measure, std::vector<std::string>& warnings);

// Adds a warning that names sessions without an end, if there are any.
void warn_of_open_sessions(const Scan& scan, std::vector<std::string>& warnings);

// Why the selection has no samples at all.
[[nodiscard]] std::string no_samples_text(const Scan& scan);

// Adds a warning if time range and filters leave no sample.
void warn_of_no_samples(const Measure& measure, bool has_samples, std::vector<std::string>& warnings);

// Adds a warning with the error of shares if there are few samples: by Kish's effective number where weights differ.
void warn_of_few_samples(const Measure& measure, const RowTotal& total, std::vector<std::string>& warnings);

// Completes a profile: the ledger of its events, and all warnings.
void finish_profile(const Scan& scan, const Measure& measure, const RowTotal& total, const Symbolizer& symbolizer,
                    Ledger& ledger, std::vector<std::string>& warnings);

// Keeps each line once, in the order of first occurrence.
void drop_repeated(std::vector<std::string>& warnings);

}  // namespace perfleet
