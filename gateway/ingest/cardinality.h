// How many new targets, sessions and labels a gateway takes in a while: what each of them leaves in the store stays
// there, and queries look through it.
//
// Counts are of kCardinalityWindowNs, after which all start again; what the store knew before never counts. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "gateway/admission/intake_limits.h"
#include "gateway/ingest/known_keys.h"
#include "schemas/vocabulary/ids.h"
#include "storage/model/session.h"

namespace perfleet {

class Cardinality {
public:
    struct Limits {
        std::uint32_t target_sessions_max = intake_limits::kTargetSessionsMax;
        std::uint32_t target_labels_max = intake_limits::kTargetLabelsMax;
        std::uint32_t targets_max = intake_limits::kNewTargetsMax;
        std::uint32_t labels_max = intake_limits::kNewLabelsMax;
        // Of which is known that they aren't new; those forgotten count as new once more.
        std::size_t targets_known_max = intake_limits::kTargetsKnownMax;
        std::size_t labels_known_max = intake_limits::kLabelsKnownMax;
    };

    explicit Cardinality(const Limits& upper_limits)
        : limits_{upper_limits}, targets_{upper_limits.targets_known_max}, labels_{upper_limits.labels_known_max} {}

    // A session of the store.
    void know(const SessionRecord& session);

    // A session that nobody knows yet. What is wrong with it, in words for its collector; nothing when it may come in,
    // and then it is counted.
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
    KnownKeys labels_;  // their hashes
};

}  // namespace perfleet
