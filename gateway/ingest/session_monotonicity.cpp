#include "gateway/ingest/session_monotonicity.h"

#include <algorithm>

#include "schemas/wire/delivery_limits.h"

namespace perfleet {

std::optional<std::string> SessionMonotonicity::step_back_of(const Claim& claim, Seq prefix, bool is_finished) const {
    if (claim.clock == Ticks{0}) {
        return std::nullopt;
    }
    const auto text = [](std::uint64_t number) { return std::to_string(number); };
    if (claim.clock < clock_) {
        return "reports that its clock reads " + text(claim.clock.value) + " where " + text(clock_.value) +
               " was before";
    }
    // A collector sends batches within the window above the acknowledged ones, and its oldest one.
    const std::uint64_t ahead_max = is_finished ? 0 : limits::kSendWindowBatches;
    const Seq oldest_min{std::max(oldest_retained_.value,
                                  prefix.value + 1 > ahead_max ? prefix.value + 1 - ahead_max : std::uint64_t{0})};
    if (claim.oldest_retained < oldest_min) {
        return "claims to keep batches from " + text(claim.oldest_retained.value) + " on, but " +
               text(oldest_min.value) + " is the first possible one";
    }
    return std::nullopt;
}

void SessionMonotonicity::take_claim(const Claim& claim) {
    take_clock(claim.clock);
    take_oldest_retained(claim.oldest_retained);
}

void SessionMonotonicity::take_clock(Ticks clock) { clock_ = std::max(clock_, clock); }

void SessionMonotonicity::take_oldest_retained(Seq oldest) { oldest_retained_ = std::max(oldest_retained_, oldest); }

void SessionMonotonicity::take_batch(std::span<const BatchRecord::Rows> rows) {
    has_batches_ = true;
    for (const BatchRecord::Rows& one : rows) {
        take_clock(one.last_ticks);
    }
}

}  // namespace perfleet
