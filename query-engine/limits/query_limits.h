// What a query and its answer take at most. Where a program has an option, this is its default.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint32_t kQueryChunkRows = 4'096;
inline constexpr std::size_t kQueryChunkSizeBytes = 64U << 10;
inline constexpr std::uint32_t kQueryColumnsMax = 256;
inline constexpr std::uint32_t kQueryChunksAheadMax = 16;        // sent before the client says that it has taken some
inline constexpr std::uint32_t kQueriesAtOnceMax = 32;           // that run, of all clients
inline constexpr std::uint32_t kQueriesOfClientMax = 8;          // that run, of one client
inline constexpr std::uint32_t kQueriesWaitingOfClientMax = 24;  // for one of these to end
inline constexpr std::size_t kQueriesWaitingOfClientBytes = 16U << 10;
inline constexpr std::uint64_t kQueryWorkingIntervalNs = 1'000'000'000;  // a running query says so this often
inline constexpr std::uint64_t kQueryTimeoutNs = 10'000'000'000;         // a client waits so long for any word
inline constexpr std::uint64_t kQueryIdleNs = 60'000'000'000;            // a server for a client to take chunks
inline constexpr std::uint64_t kQueryStalledNs =
    2'000'000'000;  // the same while other queries wait for this one's place
inline constexpr std::uint64_t kQueryChunkTimeNs =
    500'000'000;                                                // that a client may take for each chunk without a stall
inline constexpr std::size_t kQueryMemorySizeBytes = 1U << 30;  // for what a query reads and counts
inline constexpr std::size_t kQueryMemorySizeBytesMin = 1U << 20;
inline constexpr std::size_t kQueriesMemorySizeBytes = 1U << 30;  // for all queries of a process together

}  // namespace perfleet::limits
