#include "target-collector/linux/link/refusal.h"

#include "schemas/wire/protocol.h"

namespace perfleet {

std::string_view refusal(std::uint16_t reason) {
    switch (static_cast<protocol::RefusedReason>(reason)) {
        case protocol::RefusedReason::kMalformed: return "it can't read this program's messages";
        case protocol::RefusedReason::kConflict: return "this session is stored with other content";
        case protocol::RefusedReason::kOtherVersion:
            return "it has no protocol version in common with this program; update the older one";
        case protocol::RefusedReason::kIdentity:
            return "this session is another target's, or the key isn't enrolled with this --target or --label";
        case protocol::RefusedReason::kQuota:
            return "as many new sessions of this target, or new targets and labels, as it takes in an hour have come";
        case protocol::RefusedReason::kTooLarge: return "a message is too large";
        case protocol::RefusedReason::kUnknownEpoch: return "an epoch isn't known";
        case protocol::RefusedReason::kSessionsFull: return "it serves as many sessions as it can";
        case protocol::RefusedReason::kAhead:
            return "its clock is hours behind this session's batches; set its clock, or this machine's";
        case protocol::RefusedReason::kReplay: return "it has more of this session than this collector";
    }
    return "it gave an unknown reason";
}

}  // namespace perfleet
