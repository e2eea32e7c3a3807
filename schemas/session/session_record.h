// A session: its Hello and its Bye.
//
// Plain values that own their memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/event.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

using EventRecord = BasicEvent<std::string>;

struct HostRecord {
    std::string os_release;
    std::string cpu_description;
    std::string cpu_id;
    std::uint32_t cpus_online = 0;
    std::uint32_t cpus_configured = 0;
    std::uint64_t memory_kib = 0;
    std::vector<std::string> command_line;
    std::uint32_t page_size_bytes = 0;
    std::string tracing_header_page;
    std::string tracing_header_event;

    friend bool operator==(const HostRecord&, const HostRecord&) = default;
};

// One run of one collector on one target, as its Hello described it. Stored in every partition that holds rows of it.
struct SessionRecord {
    TargetId target;
    SessionId session;
    std::string target_name;
    std::string architecture;
    std::vector<std::pair<std::string, std::string>> labels;  // sorted by key, keys unique
    std::vector<EventRecord> events;                          // indexed by EventNumber
    std::string clock_name;
    std::uint64_t ticks_per_second = 0;
    std::int32_t linux_clockid = -1;
    ClockPoint start_point;
    HostRecord host;
    std::string collector_version;
    UtcNs received;  // when it was first received, by the receiver's clock; 0: unknown

    // Time of arrival, by which sessions are ordered.
    [[nodiscard]] UtcNs came() const { return received.value != 0 ? received : start_point.utc_ns; }

    // Null if no event has this number: for series without an event, and damaged ones.
    [[nodiscard]] const EventRecord* event_at(EventNumber number) const {
        return number.value < events.size() ? &events[number.value] : nullptr;
    }

    // The event decides whether rows with details are samples or tracepoints. For all other series, their own kind.
    [[nodiscard]] Kind kind_of(Series series) const {
        const EventRecord* const event = series.kind == Kind::kDetailedSample ? event_at(series.event) : nullptr;
        return event != nullptr ? event->kind : series.kind;
    }

    friend bool operator==(const SessionRecord&, const SessionRecord&) = default;
};

// How a session ended, from its Bye. A session without one is "unclean".
struct SessionEnd {
    Seq last_seq;
    std::vector<CountEntry> counts;
    std::vector<SeqRange> dropped;
    ClockPoint end_point;

    friend bool operator==(const SessionEnd&, const SessionEnd&) = default;
};

}  // namespace perfleet
