// Divides a gateway's memory limit between everything that can grow.
//
//   --memory 1G:  connections 4/32 │ unfinished messages 11/32 │ store 6/32 │ inbox 3/32 │ sessions 3/32
//                 │ images 2/32 │ known keys 1/32 │ groups 3/64 │ rest: the program
//
// Plain values.
#pragma once

#include <algorithm>
#include <cstddef>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet {

struct MemoryPlan {
    // A smaller gateway doesn't work: a message of the largest size must fit the inbox beside others.
    static constexpr std::size_t kSizeBytesMin = 128U << 20;
    static_assert(kSizeBytesMin / 32 * 3 >= 3 * limits::kBatchSizeBytesMax);

    // Memory of one connection with its key and table entries, as measured; the kernel's buffers come on top.
    static constexpr std::size_t kConnectionSizeBytes = 2U << 10;

    std::size_t size_bytes = limits::kGatewayMemorySizeBytes;  // at least kSizeBytesMin

    [[nodiscard]] constexpr std::size_t store_bytes() const { return size_bytes / 32 * 6; }
    // Unfinished messages of all peers.
    [[nodiscard]] constexpr std::size_t buffered_bytes() const { return size_bytes / 32 * 11; }
    [[nodiscard]] constexpr std::size_t connections_max() const { return size_bytes / 32 * 4 / kConnectionSizeBytes; }
    [[nodiscard]] constexpr std::size_t inbox_bytes() const { return size_bytes / 32 * 3; }
    // Half of the inbox: a peer's message is accepted while the free space is at least what the peer has waiting.
    [[nodiscard]] constexpr std::size_t credit_bytes() const { return inbox_bytes() / 2; }
    [[nodiscard]] constexpr std::size_t sessions_bytes() const { return size_bytes / 32 * 3; }
    // What is kept of every session of the store: a few bytes each (gateway/ingest/known_keys.h).
    [[nodiscard]] constexpr std::size_t known_bytes() const { return size_bytes / 32; }
    [[nodiscard]] constexpr std::size_t images_bytes() const { return size_bytes / 16; }
    // A group is in memory three times: as frames, as blocks, and as bytes for the log.
    [[nodiscard]] constexpr std::size_t group_bytes() const {
        return std::min(limits::kGroupCommitSizeBytes, size_bytes / 64);
    }
};

}  // namespace perfleet
