#include "gateway/ingest/cardinality.h"

#include <functional>
#include <string_view>
#include <utility>

namespace perfleet {
namespace {

std::uint64_t hash_of(const std::pair<std::string, std::string>& label) {
    const std::hash<std::string_view> hash;
    return hash(label.first) * 0x9e3779b97f4a7c15ULL ^ hash(label.second);
}

std::string too_many(const char* what, std::uint32_t count_max) {
    return std::string{what} + ": at most " + std::to_string(count_max) + " in " +
           std::to_string(intake_limits::kCardinalityWindowNs / 60'000'000'000) +
           " minutes are accepted; it is deferred";
}

}  // namespace

void Cardinality::know(const SessionRecord& session) {
    targets_.add(session.target.value, 1);
    for (const auto& label : session.labels) {
        labels_.add(hash_of(label), 1);
    }
}

std::optional<std::string> Cardinality::admit(const SessionRecord& session, std::uint64_t now_ns) {
    if (now_ns - window_since_ns_ >= intake_limits::kCardinalityWindowNs) {
        window_since_ns_ = now_ns;
        fresh_.clear();
        new_target_count_ = 0;
        new_label_count_ = 0;
    }
    const bool is_new_target = targets_.find(session.target.value) == 0;
    std::uint32_t label_count = 0;
    for (const auto& label : session.labels) {
        label_count += labels_.find(hash_of(label)) == 0 ? 1 : 0;
    }
    const auto found = fresh_.find(session.target.value);
    const Fresh fresh = found == fresh_.end() ? Fresh{} : found->second;
    if (is_new_target && new_target_count_ >= limits_.targets_max) {
        return too_many("new targets of this gateway", limits_.targets_max);
    }
    if (fresh.session_count >= limits_.target_sessions_max) {
        return too_many("new sessions of this target (--target-sessions)", limits_.target_sessions_max);
    }
    if (fresh.label_count + label_count > limits_.target_labels_max) {
        return too_many("new labels of this target", limits_.target_labels_max);
    }
    if (new_label_count_ + label_count > limits_.labels_max) {
        return too_many("new labels of this gateway", limits_.labels_max);
    }
    // If fresh_ is full, a further known target isn't counted, and so has no limit of its own.
    if (found != fresh_.end() || fresh_.size() < limits_.targets_known_max) {
        Fresh& counted = fresh_[session.target.value];
        ++counted.session_count;
        counted.label_count += label_count;
    }
    new_target_count_ += is_new_target ? 1 : 0;
    new_label_count_ += label_count;
    know(session);
    return std::nullopt;
}

}  // namespace perfleet
