// Describes the session and its machine in the Hello.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/linux/collector.h"
#include "target-collector/source/linux/perf_source.h"

namespace perfleet {

struct SessionDescription {
    SessionId session;
    TargetId target;
    std::string target_name;
    ClockPoint start_point;
};

// The complete Hello message. Errors: kTooLarge (labels, command line or formats above their limits, which the message
// names).
[[nodiscard]] Result<std::vector<std::byte>> describe_session(const SessionDescription& session,
                                                              const CollectorOptions& options,
                                                              const PerfSource& source);

}  // namespace perfleet
