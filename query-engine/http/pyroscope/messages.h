// Messages of Pyroscope's API (querier/v1, types/v1, capabilities/v1), as far as perfleet reads or writes them.
#pragma once

#include "query-engine/http/message_type.h"

namespace perfleet::pyroscope {

struct Call {
    const MessageType& request;
    const MessageType& response;
};

// Types of messages, by the name of the method. Each lives as long as the program.
[[nodiscard]] const Call* find_call(std::string_view method);

// Values of enumerations.
enum ProfileFormat : std::int32_t { kFlameGraph = 1, kTree = 2, kDot = 3, kPprof = 4 };
enum Aggregation : std::int32_t { kSum = 0, kAverage = 1 };

}  // namespace perfleet::pyroscope
