// Limits how many new targets, sessions and labels a gateway accepts per time window: each stays in the store, and
// queries search through all of them.
//
// A window is kCardinalityWindowNs; at its end all counts restart at 0. What the store already has never counts. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "gateway/admission/intake_limits.h"
#include "gateway/ingest/known_keys.h"
#include "schemas/session/session_record.h"

namespace perfleet {

class Cardinality {
public:
    struct Limits {
        std::uint32_t target_sessions_max = intake_limits::kTargetSessionsMax;
        std::uint32_t target_labels_max = intake_limits::kTargetLabelsMax;
        std::uint32_t targets_max = intake_limits::kNewTargetsMax;
        std::uint32_t labels_max = intake_limits::kNewLabelsMax;
        // Known targets and labels that are remembered; forgotten ones count as new again.
        std::size_t targets_known_max = intake_limits::kTargetsKnownMax;
        std::size_t labels_known_max = intake_limits::kLabelsKnownMax;
    };

    explicit Cardinality(const Limits& upper_limits)
        : limits_{upper_limits}, targets_{upper_limits.targets_known_max}, labels_{upper_limits.labels_known_max} {}

    // Remembers a session that the store has.
    void know(const SessionRecord& session);

    // Counts a session that isn't known yet. Returns which limit it exceeds, as text for its collector, and then counts
    // nothing; empty: it is accepted.
    [[nodiscard]] std::optional<std::string> admit(const SessionRecord& session, std::uint64_t now_ns);

private:
    struct Fresh {  // of one target, in this window
        std::uint32_t session_count = 0;
        std::uint32_t label_count = 0;
    };

    Limits limits_;
    std::uint64_t window_since_ns_ = 0;
    std::unordered_map<std::uint64_t, Fresh> fresh_;  // by target
    std::uint32_t new_target_count_ = 0;
    std::uint32_t new_label_count_ = 0;
    KnownKeys targets_;
    KnownKeys labels_;  // by hash
};

}  // namespace perfleet
