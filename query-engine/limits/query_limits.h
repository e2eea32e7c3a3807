// Limits of a query and its answer. If a program has an option for a limit, this is the default.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint32_t kQueryChunkRows = 4'096;
inline constexpr std::size_t kQueryChunkSizeBytes = 64U << 10;
inline constexpr std::uint32_t kQueryColumnsMax = 256;
inline constexpr std::uint32_t kQueryChunksAheadMax = 16;        // sent before the client grants more credit
inline constexpr std::uint32_t kQueriesAtOnceMax = 32;           // running, of all clients
inline constexpr std::uint32_t kQueriesOfClientMax = 8;          // running, of one client
inline constexpr std::uint32_t kQueriesWaitingOfClientMax = 24;  // waiting, of one client
inline constexpr std::size_t kQueriesWaitingOfClientBytes = 16U << 10;
inline constexpr std::uint64_t kQueryWorkingIntervalNs = 1'000'000'000;  // between progress messages of a running query
inline constexpr std::uint64_t kQueryTimeoutNs = 10'000'000'000;         // a client fails a query after this silence
inline constexpr std::uint64_t kQueryIdleNs = 60'000'000'000;    // a server ends a query whose client takes no chunks
inline constexpr std::uint64_t kQueryStalledNs = 2'000'000'000;  // the same, while other queries wait for its place
inline constexpr std::uint64_t kQueryChunkTimeNs = 500'000'000;  // taking a chunk within this time is no stall
inline constexpr std::size_t kQueryMemorySizeBytes = 1U << 30;   // for what one query reads and counts
inline constexpr std::size_t kQueryMemorySizeBytesMin = 1U << 20;
inline constexpr std::size_t kQueriesMemorySizeBytes = 1U << 30;  // for all queries of a process

}  // namespace perfleet::limits
