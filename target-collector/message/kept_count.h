// The layout of a count in memory that outlives its process: in the spool's live counts and its journal.
//
//   byte 0   u64 value
//   byte 8   u16 name     CountName; 0: free
//   byte 10  u16 event
//   byte 12  u8  kind
//   byte 13  u8[3] 0
//
// Little-endian, aligned to 8. Freestanding. The layout is part of the spool's format
// (target-collector/spool/FORMAT.md): it must not change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/series.h"
#include "target-collector/message/little_endian.h"

namespace perfleet {

inline constexpr std::size_t kKeptCountSizeBytes = 16;

inline void store_kept_count(std::byte* at, const CountEntry& entry) {
    store_little_endian(at, entry.value);
    store_little_endian(at + 8, static_cast<std::uint16_t>(entry.name));
    store_little_endian(at + 10, entry.series.event.value);
    store_little_endian(at + 12, static_cast<std::uint32_t>(entry.series.kind));
}

// False for bytes that aren't a count, and for unknown names: a count table has space for known ones only.
[[nodiscard]] inline bool load_kept_count(const std::byte* at_untrusted, CountEntry& into) {
    const auto kind = load_little_endian<std::uint32_t>(at_untrusted + 12);
    const auto name = load_little_endian<std::uint16_t>(at_untrusted + 8);
    if (kind > kKindLast || !is_known_kind(static_cast<std::uint8_t>(kind)) ||
        count_name(static_cast<CountName>(name)) == count_name(CountName{0})) {
        return false;
    }
    into = CountEntry{{static_cast<Kind>(kind), EventNumber{load_little_endian<std::uint16_t>(at_untrusted + 10)}},
                      static_cast<CountName>(name),
                      load_little_endian<std::uint64_t>(at_untrusted)};
    return true;
}

}  // namespace perfleet
