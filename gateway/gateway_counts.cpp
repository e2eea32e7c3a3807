#include "gateway/gateway_counts.h"

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

template <class Reason>
std::string_view name_in(const std::array<std::string_view, kReasonCount<Reason>>& names, Reason reason) {
    PERFLEET_ASSERT(reason < Reason::kCount);
    return names[static_cast<std::size_t>(reason)];
}

}  // namespace

std::string_view reason_name(SessionRefusal reason) {
    return name_in({"version", "malformed", "too_large", "identity", "conflict", "quota", "full", "bye", "replay"},
                   reason);
}

std::string_view reason_name(BatchRefusal reason) {
    return name_in({"unreadable", "too_large", "header", "future", "counters", "range", "seal", "series", "column",
                    "conflict", "newer"},
                   reason);
}

std::string_view reason_name(BatchIgnored reason) {
    return name_in({"store_stuck", "no_session", "beyond_credit", "beyond_window", "ahead"}, reason);
}

std::string_view reason_name(MessageMalformed reason) {
    return name_in({"too_large", "truncated", "checksum", "unreadable", "seq"}, reason);
}

std::string_view reason_name(PeerCut reason) {
    return name_in({"credit", "malformed", "refused", "no_session", "hello", "images"}, reason);
}

std::string_view reason_name(ImageRefusal reason) {
    return name_in({"type", "too_large", "damaged", "content", "build_id", "ratio"}, reason);
}

std::string_view reason_name(RequestOutcome outcome) {
    return name_in({"applied", "refused", "not_connected", "no_answer"}, outcome);
}

}  // namespace perfleet
