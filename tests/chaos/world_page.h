// The page of memory through which tests/chaos/run controls the environment of a program under test. A file of
// kPageSizeBytes, mapped by both; tests/chaos/world.py has the same offsets.
//
//   byte 0     i64  added to every reading of CLOCK_REALTIME, ns
//   byte 8     u32  1: fsync and fdatasync hang until it is 0 again
//   byte 12    u32  calls that hang now
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace perfleet::chaos {

struct WorldPage {
    std::atomic<std::int64_t> utc_offset_ns;
    std::atomic<std::uint32_t> do_syncs_hang;
    std::atomic<std::uint32_t> hanging_count;
};
inline constexpr std::size_t kPageSizeBytes = sizeof(WorldPage);
static_assert(kPageSizeBytes == 16);

}  // namespace perfleet::chaos
