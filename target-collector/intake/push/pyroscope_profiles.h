// Reads profiles as Pyroscope's clients push them: the message of push.v1.PusherService/Push, and bodies of /ingest.
//
// Samples of a profile have no times: all of them have that of the profile, which pprof or the request states.
#pragma once

#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/intake/push/pushed_profile.h"

namespace perfleet {

// A body of /ingest, by the request's parameters. Times are UTC; 0: not given.
struct IngestedProfile {
    std::string name;                 // `app.cpu{key=value,…}`
    std::string format;               // pprof, folded or lines
    std::string body;                 // maybe packed by gzip
    std::string units{"samples"};     // of folded and lines
    std::uint64_t sample_rate = 100;  // Hz, likewise
    std::int64_t from_ns = 0;
    std::int64_t until_ns = 0;
};

// By the request's parameters: name, format, units, sampleRate, from, until. Errors: kInvalid.
[[nodiscard]] Result<IngestedProfile> ingested_profile(
    const std::vector<std::pair<std::string, std::string>>& parameters_untrusted, std::string body_untrusted);

// `client`: the target's name where no label says it; empty: the service's name. `now`: the time of profiles without
// one. Errors: kInvalid (malformed), kUnsupported (format), kTooLarge (above push_limits).
[[nodiscard]] Result<PushedRequest> read_pyroscope_push(std::string body_untrusted, const std::string& client,
                                                        UtcNs now);
[[nodiscard]] Result<PushedRequest> read_pyroscope_ingest(IngestedProfile profile_untrusted, const std::string& client,
                                                          UtcNs now);

}  // namespace perfleet
