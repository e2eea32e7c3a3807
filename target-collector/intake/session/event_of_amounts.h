// The event for a type of values in files and messages of other profilers: its rows' weights are amounts of a unit.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "schemas/perf/perf_event.h"
#include "schemas/session/session_record.h"
#include "schemas/text/utf8.h"
#include "schemas/wire/hello_limits.h"

namespace perfleet {

// An event's unit by pprof's.
[[nodiscard]] inline std::string unit_of_pprof(std::string_view unit) {
    return unit == "nanoseconds" ? "ns" : unit == "microseconds" ? "us" : unit.empty() ? "count" : printable(unit);
}

// Name and unit are cut where they are too long.
[[nodiscard]] inline EventRecord event_of_amounts(std::string name, std::string unit) {
    EventRecord event;
    event.name = std::move(name);
    event.unit = std::move(unit);
    for (std::string* const text : {&event.name, &event.unit}) {
        text->resize(std::min(text->size(), hello_limits::kNameSizeBytesMax));
    }
    event.kind = Kind::kSample;
    event.perf_type = perf::kTypeSoftware;
    event.perf_config = perf::kConfigDummy;
    event.callchain = true;
    event.period = 1;
    return event;
}

}  // namespace perfleet
