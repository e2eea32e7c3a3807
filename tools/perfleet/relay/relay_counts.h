// What a relay has done so far. Counted by its threads, read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfleet {

struct RelayCounts {
    std::atomic<std::uint64_t> targets{0};          // that were relayed, each connection anew
    std::atomic<std::uint64_t> targets_refused{0};  // more at once than may be
    std::atomic<std::uint64_t> frames_to_gateway{0};
    std::atomic<std::uint64_t> frames_to_targets{0};
    std::atomic<std::uint64_t> frames_damaged{0};  // of a target, with a wrong checksum: dropped, it sends them again
    std::atomic<std::uint64_t> frames_dropped{0};  // of no message of ours: empty, of several parts, too large
};

}  // namespace perfleet
