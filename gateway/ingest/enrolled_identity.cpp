#include "gateway/ingest/enrolled_identity.h"

#include <algorithm>
#include <string>

namespace perfleet {
namespace {

Error otherwise(const Enrolment& peer, const std::string& what) {
    return Error{ErrorCode::kPermission, "the key of '" + peer.name + "' " + what};
}

}  // namespace

Result<Done> take_enrolled_identity(SessionRecord& record, const Enrolment& peer) {
    if (!record.target_name.empty() && record.target_name != peer.name) {
        return otherwise(peer, "can't be used for target '" + record.target_name +
                                   "'; leave --target out, or enrol a key of that name");
    }
    if (record.target != TargetId{} && record.target != peer.target) {
        return otherwise(peer, "came with the id of another target");
    }
    for (const auto& label : record.labels) {
        if (std::find(peer.labels.begin(), peer.labels.end(), label) == peer.labels.end()) {
            return otherwise(peer, "isn't enrolled with the label " + label.first + "=" + label.second +
                                       "; leave --label out, or write label." + label.first + " = " + label.second +
                                       " into its public file in the gateway's folder");
        }
    }
    record.target_name = peer.name;
    record.target = peer.target;
    record.labels = peer.labels;
    return Done{};
}

}  // namespace perfleet
