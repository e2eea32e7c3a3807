#include "target-collector/linux/host/progress.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "schemas/text/layout.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {
namespace {

std::uint64_t rows_of(const CollectorCounts& counts) {
    std::uint64_t row_count = counts.rows_open;
    for (std::size_t i = 0; i < counts.rows_produced.size(); ++i) {
        row_count += is_definition(static_cast<Kind>(i)) ? 0 : std::uint64_t{counts.rows_produced[i]};
    }
    return row_count;
}

std::string lost_and_spool(const CollectorCounts& counts, const char* separator) {
    const std::uint64_t lost = std::accumulate(counts.rows_lost.begin(), counts.rows_lost.end(), std::uint64_t{0});
    return std::to_string(lost) + " lost" + separator + "spool " + std::to_string(counts.spool_used_bytes >> 10U) +
           " KiB" + separator;
}

}  // namespace

std::uint64_t Progress::rows_per_second(std::uint64_t row_count, std::uint64_t now_ns) {
    const double elapsed_s = static_cast<double>(now_ns - before_ns_) / static_cast<double>(kNsPerSecond);
    const auto new_count = static_cast<double>(row_count - row_count_before_);
    before_ns_ = now_ns;
    row_count_before_ = row_count;
    return elapsed_s > 0 ? static_cast<std::uint64_t>(new_count / elapsed_s + 0.5) : 0;
}

std::string Progress::for_terminal(const CollectorCounts& counts, const std::string& peer, std::uint64_t now_ns,
                                   std::size_t column_count) {
    constexpr std::string_view kGateway = "the gateway at ";  // not needed before an address
    const std::string line = "Ctrl-C ends  " + std::to_string(rows_per_second(rows_of(counts), now_ns)) + " rows/s  " +
                             lost_and_spool(counts, "  ") + (counts.is_connected ? "to " : "waiting for ");
    const std::string name = peer.starts_with(kGateway) ? peer.substr(kGateway.size()) : peer;
    return line + shortened(name, std::max(kShortenedWidthMin, column_count - std::min(column_count, line.size())));
}

std::string Progress::for_log(const CollectorCounts& counts, const std::string& peer, std::uint64_t now_ns) {
    const std::uint64_t row_count = rows_of(counts);
    return std::to_string(row_count) + " rows, " + std::to_string(rows_per_second(row_count, now_ns)) + " rows/s, " +
           lost_and_spool(counts, ", ") + (counts.is_connected ? "connected to " : "waiting for ") + peer;
}

}  // namespace perfleet
