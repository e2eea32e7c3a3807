// The records of `perf stat record`, to counter rows. They have no times of their own: what is read counts when the
// record behind it says that a moment is over.
//
// One thread. The input isn't trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/perf/stat_record.h"
#include "tools/perfleet/import/perf-data/event_finder.h"
#include "tools/perfleet/import/perf-data/record_replay.h"

namespace perfleet {

class StatReplay {
public:
    static constexpr std::size_t kThreadsMax = 1U << 16;
    static constexpr std::size_t kReadingsMax = 1U << 20;  // of one moment

    // Borrowed. Times count from `start_ns`.
    StatReplay(const EventFinder& events, RecordReplay& replay, std::uint64_t start_ns)
        : events_{events}, replay_{replay}, start_ns_{start_ns} {}

    // False: it is no such record.
    bool take(const RecordBytes& record);

    // Readings that no record behind them gives a time.
    void finish();

    // When the moment of this STAT_ROUND record was, since counting began; empty: it is none, or can't be read.
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
    std::vector<perf::StatRecord> readings_;  // of the moment at hand
};

}  // namespace perfleet
