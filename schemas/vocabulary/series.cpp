#include "schemas/vocabulary/series.h"

namespace perfleet {

std::string_view count_name(CountName name) {
    switch (name) {
        case CountName::kProduced: return "produced";
        case CountName::kLostKernelRing: return "kernel_ring";
        case CountName::kLostRingFull: return "ring_full";
        case CountName::kLostSpoolFull: return "spool_full";
        case CountName::kLostQuota: return "quota";
        case CountName::kLostSaturated: return "saturated";
        case CountName::kLostRefused: return "refused";
        case CountName::kLostMalformed: return "malformed";
        case CountName::kLostUnflushed: return "unflushed";
        case CountName::kLostKilled: return "killed";
        case CountName::kLostNotDelivered: return "not_delivered";
        case CountName::kLostThrottled: return "kernel_throttled";
        case CountName::kLostTimerLate: return "timer_late";
        case CountName::kFramesUnmapped: return "frames_unmapped";
        case CountName::kFramesTruncated: return "frames_truncated";
        case CountName::kThrottled: return "throttled";
        case CountName::kOwnSkipped: return "own_skipped";
        case CountName::kLate: return "late";
        case CountName::kStacksNoTable: return "stacks_no_table";
        case CountName::kStacksBadAddress: return "stacks_bad_address";
        case CountName::kStacksNotCopied: return "stacks_not_copied";
        case CountName::kUncleanEnd: return "unclean_end";
        case CountName::kStacksCopied: return "stacks_copied";
        case CountName::kBelowPeriod: return "below_period";
        case CountName::kUnchecked: return "unchecked";
        case CountName::kNamesNotRead: return "names_not_read";
    }
    return "other";
}

}  // namespace perfleet
