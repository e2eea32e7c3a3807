// Reads profiles of OpenTelemetry's protocol (OTLP), a request of ProfilesService/Export in protobuf.
//
//   a Profile      a PushedProfile; of `samples` by a period of cpu time both that time and the samples
//   a timestamp    a sample of its own; a Sample without any has the time of its Profile
//   a resource     the target by host.id, host.name or service.instance.id; labels, but for process.*, which say whose
//                  samples they are
//   attributes     thread.id, thread.name and cpu.logical_number of a sample; others are its labels, as are links
//
// Layouts: those of OTLP 1.10 and 1.11, and of 1.9 where a message can't be of both. A profile that refers to missing
// entries, or has another layout, is rejected and counted: nothing is guessed.
#pragma once

#include "schemas/vocabulary/error.h"
#include "target-collector/intake/push/pushed_profile.h"

namespace perfleet {

// `client`: the target's name where the resource has none. `now`: the time of profiles without one. Errors: kInvalid
// (malformed, or a table refers to missing entries), kTooLarge (above push_limits).
[[nodiscard]] Result<PushedRequest> read_otlp(std::string body_untrusted, const std::string& client, UtcNs now);

}  // namespace perfleet
