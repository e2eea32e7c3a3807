// Which event a profile is about, and its ledger.
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
    std::string unit;                 // of its rows' weight
    std::vector<std::string> others;  // further events with rows to profile, sorted
    bool is_sampled = false;          // rows stand for others that weren't taken: shares are estimates
};

// Fewer are told to be few: a share of so many may be 10 percentage points off, 19 times of 20.
inline constexpr std::uint64_t kFewSamples = 100;

// Errors: kUsage when the selected event is in none of the sessions, naming those that are.
[[nodiscard]] Result<Done> check_event(const Scan& scan);

// The selected event, else the first with rows of samples or tracepoints: the least event number, then name. Nothing
// when there are no such rows, of the selected event either. Errors: those of check_event().
[[nodiscard]] Result<std::optional<EventChoice>> choose_event(const Scan& scan);

// The chosen event, and the `others` as well where the user chose none. Errors: those of choose_event().
[[nodiscard]] Result<std::vector<EventChoice>> choose_events(const Scan& scan);

// The session's series of samples and tracepoints of this event that have rows; of a session without any stack, such as
// one of imported values, tracepoints are no profile and left out, here as in the rest. Ascending.
[[nodiscard]] std::vector<Series> event_series(const ScannedSession& session, const std::string& event);

// When the event's rows lie that the scan selects, as their batches say, first and last; nothing: there are none.
[[nodiscard]] std::optional<std::pair<UtcNs, UtcNs>> event_time_range(const Scan& scan, const std::string& event);

// Of the samples and tracepoints of this event, over all sessions.
[[nodiscard]] Ledger event_ledger(const Scan& scan, const std::string& event, std::vector<std::string>& warnings);

// One line that names the events beside the chosen one, unless the user chose it.
void warn_of_other_events(const Scan& scan, const EventChoice& choice, std::vector<std::string>& warnings);

// One line that names the sessions without an end, if there are any.
void warn_of_open_sessions(const Scan& scan, std::vector<std::string>& warnings);

// One line where a range of time, or what else was selected, left no sample over.
void warn_of_no_samples(const EventChoice& choice, bool has_samples, std::vector<std::string>& warnings);

// One line that says how far off shares of so few samples may be.
void warn_of_few_samples(const EventChoice& choice, std::uint64_t sample_count, std::vector<std::string>& warnings);

// What stands at the end of a profile: its event's ledger, and all that is to be said about it.
void finish_profile(const Scan& scan, const EventChoice& choice, const Symbolizer& symbolizer, Ledger& ledger,
                    std::vector<std::string>& warnings);

// Each line once, in the order of first mention.
void drop_repeated(std::vector<std::string>& warnings);

}  // namespace perfleet
