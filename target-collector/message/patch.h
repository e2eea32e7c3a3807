// Sets the few fields of finished messages that change each time they are sent.
//
// Freestanding. Faults of all: kInvalid, kTruncated (not such a message).
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"

namespace perfleet {

// Batch.oldestRetainedSeq of a sealed message, which the seal doesn't cover.
[[nodiscard]] Checked<Done> set_oldest_retained_seq(std::span<std::byte> message, Seq oldest);

// Hello.oldestRetainedSeq and Hello.session.
[[nodiscard]] Checked<Done> set_hello_state(std::span<std::byte> message, SessionId session, Seq oldest);

}  // namespace perfleet
