// Sets the few fields of finished messages that change each time they are sent, and their checksum.
//
// Freestanding. Faults of all: kInvalid, kTruncated (not such a message).
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// Batch.oldestRetainedSeq of a sealed message, which its checksum covers and its seal doesn't.
[[nodiscard]] Checked<Done> set_oldest_retained_seq(std::span<std::byte> message, Seq oldest);

// Hello.session, Hello.oldestRetainedSeq and, in one that tells it, Hello.clockTicks.
[[nodiscard]] Checked<Done> set_hello_state(std::span<std::byte> message, SessionId session, Seq oldest,
                                            Ticks clock = Ticks{0});

// Takes Hello.targetId, Hello.targetName and Hello.labels out: whoever carries the message vouches for its sender with
// a key, and the gateway takes the identity from that. True: it was a Hello; a damaged one is left as it is.
[[nodiscard]] bool clear_hello_identity(std::span<std::byte> message_untrusted);

}  // namespace perfleet
