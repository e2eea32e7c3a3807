// Turns the records of `perf stat record` into counter rows. Readings have no times of their own: the record that ends
// a moment gives the time of the readings before it.
//
// One thread. The input isn't trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/perf/stat_record.h"
#include "target-collector/intake/perf-data/event_finder.h"
#include "target-collector/intake/perf-data/record_replay.h"

namespace perfleet {

class StatReplay {
public:
    static constexpr std::size_t kThreadsMax = 1U << 16;
    static constexpr std::size_t kReadingsMax = 1U << 20;  // of one moment

    // Borrows `events` and `replay`. Times count from `start_ns`.
    StatReplay(const EventFinder& events, RecordReplay& replay, std::uint64_t start_ns)
        : events_{events}, replay_{replay}, start_ns_{start_ns} {}

    // False: it is another kind of record.
    bool take(const RecordBytes& record);

    // Counts readings that no later record gives a time.
    void finish();

    // The time of this STAT_ROUND record, since counting began; empty: it is another record, or malformed.
    [[nodiscard]] static std::optional<std::uint64_t> round_time_ns(const RecordBytes& record, bool is_foreign);

private:
    [[nodiscard]] bool take_threads(const RecordBytes& record);
    [[nodiscard]] bool take_reading(const RecordBytes& record);
    void end_round(std::uint64_t time_ns);

    const EventFinder& events_;
    RecordReplay& replay_;
    std::uint64_t start_ns_;
    std::uint64_t last_ns_ = 0;
    std::vector<std::uint32_t> threads_;
    std::vector<perf::StatRecord> readings_;  // of the current moment
};

}  // namespace perfleet
