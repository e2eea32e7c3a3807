#include "schemas/vocabulary/kind.h"

namespace perfleet {

std::string_view kind_name(Kind kind) {
    switch (kind) {
        case Kind::kSample: return "sample";
        case Kind::kTracepoint: return "tracepoint";
        case Kind::kKernelEntry: return "kernel_entry";
        case Kind::kUtilisation: return "utilisation";
        case Kind::kLatency: return "latency";
        case Kind::kCounter: return "counter";
        case Kind::kTask: return "task";
        case Kind::kStack: return "stack";
        case Kind::kImage: return "image";
        case Kind::kString: return "string";
        case Kind::kControl: return "control";
        case Kind::kRecord: return "record";
    }
    return "unknown";
}

std::string_view tally_name(TallyName name) {
    switch (name) {
        case TallyName::kProduced: return "produced";
        case TallyName::kLostKernelRing: return "kernel_ring";
        case TallyName::kLostRingFull: return "ring_full";
        case TallyName::kLostSpoolFull: return "spool_full";
        case TallyName::kLostQuota: return "quota";
        case TallyName::kLostSaturated: return "saturated";
        case TallyName::kLostRefused: return "refused";
        case TallyName::kLostMalformed: return "malformed";
        case TallyName::kLostUnflushed: return "unflushed";
        case TallyName::kLostKilled: return "killed";
        case TallyName::kFramesUnmapped: return "frames_unmapped";
        case TallyName::kFramesTruncated: return "frames_truncated";
        case TallyName::kThrottled: return "throttled";
        case TallyName::kOwnSkipped: return "own_skipped";
        case TallyName::kLate: return "late";
        case TallyName::kStacksNoTable: return "stacks_no_table";
        case TallyName::kStacksBadAddress: return "stacks_bad_address";
        case TallyName::kStacksNotCopied: return "stacks_not_copied";
        case TallyName::kUncleanEnd: return "unclean_end";
        case TallyName::kStacksCopied: return "stacks_copied";
    }
    return "other";
}

}  // namespace perfleet
