// Chooses the event of a profile and computes its ledger and warnings.
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
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct EventChoice {
    std::string name;
    std::string unit;                 // of the weight of its rows
    std::vector<std::string> others;  // further events with rows to profile, sorted
    bool is_sampled = false;          // rows are a sample of all occurrences: shares are estimates
};

// Profiles with fewer samples get a warning. With this many, a share may be 10 percentage points off (two standard
// errors of a share of one half).
inline constexpr std::uint64_t kFewSamples = 100;

// Errors: kUsage when the selected event is in none of the sessions, naming those that are.
[[nodiscard]] Result<Done> check_event(const Scan& scan);

// The selected event, else the first with rows of samples or tracepoints: lowest event number, then name. Nothing if
// there are no such rows. Errors: those of check_event().
[[nodiscard]] Result<std::optional<EventChoice>> choose_event(const Scan& scan);

// The chosen event, and also `others` if the user chose none. Errors: those of choose_event().
[[nodiscard]] Result<std::vector<EventChoice>> choose_events(const Scan& scan);

// The session's series of samples and tracepoints of this event that have rows, ascending. In a session without any
// stacks, such as one of imported values, tracepoints are no profile; they are left out here and in the functions
// below.
[[nodiscard]] std::vector<Series> event_series(const ScannedSession& session, const std::string& event);

// Times of the event's first and last selected rows, by the batch records; nothing if it has none.
[[nodiscard]] std::optional<std::pair<UtcNs, UtcNs>> event_time_range(const Scan& scan, const std::string& event);

// The ledger of this event's samples and tracepoints in all sessions.
[[nodiscard]] Ledger event_ledger(const Scan& scan, const std::string& event, std::vector<std::string>& warnings);

// Adds a warning that names the other events, unless the user chose this one.
void warn_of_other_events(const Scan& scan, const EventChoice& choice, std::vector<std::string>& warnings);

// Adds a warning that names sessions without an end, if there are any.
void warn_of_open_sessions(const Scan& scan, std::vector<std::string>& warnings);

// Adds a warning if time range and filters leave no sample.
void warn_of_no_samples(const EventChoice& choice, bool has_samples, std::vector<std::string>& warnings);

// Adds a warning with the error of shares if there are few samples.
void warn_of_few_samples(const EventChoice& choice, std::uint64_t sample_count, std::vector<std::string>& warnings);

// Completes a profile: its event's ledger, and all warnings.
void finish_profile(const Scan& scan, const EventChoice& choice, const Symbolizer& symbolizer, Ledger& ledger,
                    std::vector<std::string>& warnings);

// Keeps each line once, in the order of first occurrence.
void drop_repeated(std::vector<std::string>& warnings);

}  // namespace perfleet
