// Labels of a pprof sample. An import stores them in rows of kind `record`, one for each thread
// (record_types::kSampleLabels), and an export writes them again.
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

namespace perfleet {

// SessionRecord::collector_version of sessions with such rows.
inline constexpr std::string_view kPprofCollector = "pprof";

struct SampleLabel {
    std::string_view key;
    std::string_view text;  // else it is a number
    std::string_view unit;  // of the number
    std::int64_t number = 0;
};

[[nodiscard]] std::string encode_labels(const std::vector<SampleLabel>& labels);

// Borrows the input. Empty: malformed.
[[nodiscard]] std::optional<std::vector<SampleLabel>> decode_labels(std::string_view bytes_untrusted);

}  // namespace perfleet
