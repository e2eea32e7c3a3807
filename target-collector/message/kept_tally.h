// One count as it stands in memory that outlives its process: in the spool's live counts and in its journal.
//
//   byte 0   u64 value
//   byte 8   u16 name     TallyName; 0: there is none here
//   byte 10  u16 event
//   byte 12  u8  kind
//   byte 13  u8[3] 0
//
// Little-endian, aligned to 8. Freestanding. The layout is part of the spool's format
// (target-collector/spool/FORMAT.md): it must not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/kind.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/message/tally_book.h"

namespace perfleet {

inline constexpr std::size_t kKeptTallySizeBytes = 16;

inline void store_kept_tally(std::byte* at, const Tally& tally) {
    store_little_endian(at, tally.value);
    store_little_endian(at + 8, static_cast<std::uint16_t>(tally.name));
    store_little_endian(at + 10, tally.series.event.value);
    store_little_endian(at + 12, static_cast<std::uint32_t>(tally.series.kind));
}

// False: bytes that no count has, or a name that isn't known: a tally book has room for known ones only.
[[nodiscard]] inline bool load_kept_tally(const std::byte* at_untrusted, Tally& into) {
    const auto kind = load_little_endian<std::uint32_t>(at_untrusted + 12);
    const auto name = load_little_endian<std::uint16_t>(at_untrusted + 8);
    if (kind > kKindLast || !is_known_kind(static_cast<std::uint8_t>(kind)) ||
        tally_name(static_cast<TallyName>(name)) == tally_name(TallyName{0})) {
        return false;
    }
    into = Tally{{static_cast<Kind>(kind), EventNumber{load_little_endian<std::uint16_t>(at_untrusted + 10)}},
                 static_cast<TallyName>(name),
                 load_little_endian<std::uint64_t>(at_untrusted)};
    return true;
}

}  // namespace perfleet
