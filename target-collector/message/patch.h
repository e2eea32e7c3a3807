// Changes the few fields of finished messages that differ each time they are sent, and updates the checksum.
//
// Freestanding. Faults of all functions: kInvalid, kTruncated (not such a message).
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// Sets Batch.oldestRetainedSeq of a sealed message; its checksum covers the field, its seal doesn't.
[[nodiscard]] Checked<Done> set_oldest_retained_seq(std::span<std::byte> message, Seq oldest);

// Sets Hello.session, Hello.oldestRetainedSeq and, if the Hello has it, Hello.clockTicks.
[[nodiscard]] Checked<Done> set_hello_state(std::span<std::byte> message, SessionId session, Seq oldest,
                                            Ticks clock = Ticks{0});

// Clears Hello.targetId, Hello.targetName and Hello.labels: a relay shows a key, and the gateway takes the identity
// from it. True: it was a Hello; a damaged one is left unchanged.
[[nodiscard]] bool clear_hello_identity(std::span<std::byte> message_untrusted);

}  // namespace perfleet
