// Labels of a sample as in pprof's profiles: a text or a number for each key. Bytes in rows (kRawBytes of kind
// `detailed_sample`) of imported profiles:
//
//  0          4           8           12      16       24
//  ┌──────────┬───────────┬───────────┬───────┬────────┬─────┬──────┬──────┐
//  │ key size │ text size │ unit size │ flags │ number │ key │ text │ unit │   for each label
//  │ u32      │ u32       │ u32       │ u32   │ i64    │     │      │      │
//  └──────────┴───────────┴───────────┴───────┴────────┴─────┴──────┴──────┘
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/session/session_record.h"

namespace perfleet {

// SessionRecord::collector_version of imported profiles.
inline constexpr std::string_view kPprofCollector = "pprof";

// The same for profiles that clients pushed; their rows are amounts, as those of recordings.
inline constexpr std::string_view kPushCollector = "push";
// The label of such sessions that names the program that made the profiles.
inline constexpr const char* kProducerLabel = "producer";

// Whether rows of kind `detailed_sample` have labels as their raw bytes.
[[nodiscard]] inline bool has_sample_labels(const SessionRecord& session) {
    return session.collector_version == kPprofCollector || session.collector_version == kPushCollector;
}

// Whether rows of the session's events are values, not occurrences: kWeight is a signed number (int64_t in two's
// complement) in the event's unit, and may be 0.
[[nodiscard]] inline bool has_imported_values(const SessionRecord& session) {
    return session.collector_version == kPprofCollector;
}

// kValue of a row of imported values that doesn't say how many samples it stands for; those of kind `sample` never do.
inline constexpr std::uint64_t kUnknownSamples = ~std::uint64_t{0};

// Key of the label that has a command's name.
inline constexpr std::string_view kCommLabel = "comm";

struct SampleLabel {
    std::string_view key;
    std::string_view text;  // empty: the value is `number`
    std::string_view unit;  // of the number
    std::int64_t number = 0;
};

[[nodiscard]] std::string encode_labels(const std::vector<SampleLabel>& labels);

// Borrows the input. Empty: malformed.
[[nodiscard]] std::optional<std::vector<SampleLabel>> decode_labels(std::string_view bytes_untrusted);

}  // namespace perfleet
