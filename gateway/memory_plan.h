// What a gateway's memory is for: a ceiling, divided between everything that can grow.
//
//   --memory 1G:  store 1/4 │ connections 5/16 │ inbox 1/8 │ sessions 1/8 │ images 1/16 │ groups 3/64 │ rest: the
//   program
//
// Plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/limits.h"

namespace perfleet {

struct MemoryPlan {
    // Less is no gateway: a message of the largest size must find room in the inbox beside others.
    static constexpr std::size_t kSizeBytesMin = 128U << 20;
    static_assert(kSizeBytesMin / 8 >= 3 * limits::kBatchSizeBytesMax);

    // What libzmq keeps for a connection, as measured.
    static constexpr std::size_t kConnectionSizeBytes = 32U << 10;

    std::size_t size_bytes = limits::kGatewayMemorySizeBytes;  // at least kSizeBytesMin

    [[nodiscard]] constexpr std::size_t store_bytes() const { return size_bytes / 4; }
    [[nodiscard]] constexpr std::size_t connections_max() const { return size_bytes / 16 * 5 / kConnectionSizeBytes; }
    [[nodiscard]] constexpr std::size_t inbox_bytes() const { return size_bytes / 8; }
    // Half of the inbox: a peer finds room while as much as it has waiting is free.
    [[nodiscard]] constexpr std::size_t credit_bytes() const { return inbox_bytes() / 2; }
    [[nodiscard]] constexpr std::size_t sessions_bytes() const { return size_bytes / 8; }
    [[nodiscard]] constexpr std::size_t images_bytes() const { return size_bytes / 16; }
    // A group is there as frames, as blocks, and as what is written to the log.
    [[nodiscard]] constexpr std::size_t group_bytes() const {
        return std::min(limits::kGroupCommitSizeBytes, size_bytes / 64);
    }
};

}  // namespace perfleet
