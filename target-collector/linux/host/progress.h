// The progress of a collection as one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "target-collector/metrics/collector_counts.h"

namespace perfleet {

class Progress {
public:
    static constexpr std::uint64_t kLogEveryNs = 600'000'000'000;

    explicit Progress(std::uint64_t start_ns) : before_ns_{start_ns} {}

    // For a terminal of `column_count` columns: "Ctrl-C ends  99 rows/s  0 lost  spool 12 KiB  to tcp://…". `peer` is
    // that of WaitingDriver::peer(). The rate is since the last call of either function.
    [[nodiscard]] std::string for_terminal(const CollectorCounts& counts, const std::string& peer, std::uint64_t now_ns,
                                           std::size_t column_count);
    // For a log: "4711 rows, 99 rows/s, 0 lost, spool 12 KiB, connected to the gateway at tcp://…"
    [[nodiscard]] std::string for_log(const CollectorCounts& counts, const std::string& peer, std::uint64_t now_ns);

    // Whether the next line for a log is due.
    [[nodiscard]] bool is_log_due(std::uint64_t now_ns) const { return now_ns - before_ns_ >= kLogEveryNs; }

private:
    [[nodiscard]] std::uint64_t rows_per_second(std::uint64_t row_count, std::uint64_t now_ns);

    std::uint64_t before_ns_;
    std::uint64_t row_count_before_ = 0;
};

}  // namespace perfleet
