// What passes from the gateway to the store: a batch that admit() has let through, and the session that it belongs to.
//
// Plain values that own their memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/kind.h"
#include "schemas/vocabulary/time.h"
#include "storage/store_limits.h"

namespace perfleet {

// Names a batch for all time: the same key never means two contents.
struct BatchKey {
    TargetId target;
    SessionId session;
    Seq seq;

    friend constexpr auto operator<=>(const BatchKey&, const BatchKey&) = default;
};

// What is kept and dropped together, and can be read alone.
struct Partition {
    BucketNumber bucket;
    std::uint8_t retention_class = 0;
    std::uint16_t shard = 0;

    friend constexpr auto operator<=>(const Partition&, const Partition&) = default;
};

// The shard is the target's id modulo limits::kPartitionShards.
[[nodiscard]] constexpr Partition partition_of(TargetId target, BucketNumber bucket, std::uint8_t retention_class = 0) {
    return {bucket, retention_class, static_cast<std::uint16_t>(target.value % limits::kPartitionShards)};
}

// The rows of one series in the batch: `block` is what storage/block encodes, ready to be stored.
struct BatchSeries {
    Series series;
    std::uint32_t row_count = 0;
    Ticks first_ticks;
    Ticks last_ticks;
    std::string block;
};

// Everything of a batch but its rows: kept for each batch, so that ledgers can be made for any range of time.
struct BatchRecord {
    Seq seq;
    EpochNumber epoch;
    BucketNumber bucket;
    std::uint32_t seal = 0;
    std::uint64_t oldest_retained_seq = 0;
    std::vector<Tally> tallies;  // cumulative
    std::vector<SeqRange> dropped;
    std::vector<ClockPoint> clock_points;
    struct Rows {
        Series series;
        std::uint32_t row_count = 0;
        Ticks first_ticks;
        Ticks last_ticks;

        friend bool operator==(const Rows&, const Rows&) = default;
    };
    std::vector<Rows> rows;  // one entry a series, in the order of the batch

    friend bool operator==(const BatchRecord&, const BatchRecord&) = default;
};

struct AdmittedBatch {
    BatchKey key;
    BatchRecord record;  // record.seq == key.seq; record.rows matches `series`
    std::vector<BatchSeries> series;
};

struct EventRecord {
    std::string name;
    Kind kind{};
    std::uint32_t perf_type = 0;
    std::uint64_t perf_config = 0;
    std::uint64_t period = 0;  // events, or Hz when is_frequency
    bool is_frequency = false;
    bool exclude_kernel = false;
    bool exclude_user = false;
    bool callchain = false;
    std::string unit;
    std::string format;       // tracepoint format as tracefs gives it, else empty
    std::uint16_t group = 0;  // from 1: counted all or none with the others of it, which stand side by side; 0: in none
    std::string attr;         // perf_event_attr of an imported recording, as it was recorded; else empty

    friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

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

    // Null where no event has this number: of series without one, and of what was damaged.
    [[nodiscard]] const EventRecord* event_at(EventNumber number) const {
        return number.value < events.size() ? &events[number.value] : nullptr;
    }

    friend bool operator==(const SessionRecord&, const SessionRecord&) = default;
};

// How a session ended, from its Bye. A session without one is "unclean".
struct SessionEnd {
    Seq last_seq;
    std::vector<Tally> tallies;
    std::vector<SeqRange> dropped;
    ClockPoint end_point;

    friend bool operator==(const SessionEnd&, const SessionEnd&) = default;
};

}  // namespace perfleet
