// An event that a session samples, counts or traces, from its Hello to the store. Its index among the session's events
// is its EventNumber.
//
// Freestanding. `Text` is the type of its texts: owned or borrowed.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/kinds.h"

namespace perfleet {

template <class Text>
struct BasicEvent {
    Text name{};
    Kind kind = Kind::kSample;  // of its rows
    std::uint32_t perf_type = 0;
    std::uint64_t perf_config = 0;
    std::uint64_t period = 0;  // events, or Hz when is_frequency
    bool is_frequency = false;
    bool exclude_kernel = false;
    bool exclude_user = false;
    bool callchain = false;
    Text unit{};              // of weight and value
    Text format{};            // tracepoint format as tracefs gives it, else empty
    std::uint16_t group = 0;  // from 1: events of a group are counted all or none, and are consecutive; 0: in no group
    Text attr{};              // perf_event_attr of an imported recording, as recorded; else empty

    friend bool operator==(const BasicEvent&, const BasicEvent&) = default;
};

// An event as a collector describes it; the texts are borrowed.
using EventDescription = BasicEvent<std::string_view>;

}  // namespace perfleet
