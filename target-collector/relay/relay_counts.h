// Counters of a relay. Incremented by its threads, read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfleet {

struct RelayCounts {
    std::atomic<std::uint64_t> targets{0};          // relayed so far; each connection counts
    std::atomic<std::uint64_t> targets_refused{0};  // above the limit
    std::atomic<std::uint64_t> frames_to_gateway{0};
    std::atomic<std::uint64_t> frames_to_targets{0};
    std::atomic<std::uint64_t> frames_damaged{
        0};  // from a target, with a wrong checksum: dropped, the target sends them again
    std::atomic<std::uint64_t> frames_dropped{0};  // not a perfleet message: empty, of several parts, too large
};

}  // namespace perfleet
