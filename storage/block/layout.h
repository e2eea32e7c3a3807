// Offsets of the fields of a block: the diagram of storage/FORMAT.md as numbers. They must never change within a
// version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::block_layout {

inline constexpr std::uint32_t kMagic = 0x6b426c70;  // "plBk"
inline constexpr std::uint16_t kVersion = 1;

// Columns of a compacted block that hold one value per part, not per row. schemas/columns never uses these ids.
inline constexpr std::uint16_t kPartSeqs = 0xfffe;  // minus first_seq
inline constexpr std::uint16_t kPartRows = 0xffff;

template <class Integer, std::size_t kAt>
struct Field {
    using integer = Integer;
    static constexpr std::size_t kOffset = kAt;
    static constexpr std::size_t kEnd = kAt + sizeof(Integer);
};

// Header.
using Magic = Field<std::uint32_t, 0>;
using Version = Field<std::uint16_t, 4>;
using KindNumber = Field<std::uint8_t, 6>;
using ColumnCount = Field<std::uint8_t, 7>;
using Event = Field<std::uint16_t, 8>;
using PartCount = Field<std::uint16_t, 10>;  // 0 in version 1
using Epoch = Field<std::uint32_t, 12>;
using FirstSeq = Field<std::uint64_t, 16>;
using LastSeq = Field<std::uint64_t, 24>;
using FirstTicks = Field<std::uint64_t, 32>;
using LastTicks = Field<std::uint64_t, 40>;
using RowCount = Field<std::uint32_t, 48>;
using HeaderCrc = Field<std::uint32_t, 52>;  // CRC-32C of bytes 0..51 and of the directory
inline constexpr std::size_t kHeaderSizeBytes = 56;

// One entry of the directory, from the entry's start.
using EntryId = Field<std::uint16_t, 0>;
using EntryCodec = Field<std::uint8_t, 2>;
using EntryReserved = Field<std::uint8_t, 3>;  // 0
using EntrySize = Field<std::uint32_t, 4>;
using EntryCrc = Field<std::uint32_t, 8>;  // CRC-32C of the column's bytes
inline constexpr std::size_t kEntrySizeBytes = 12;

static_assert(Version::kOffset == Magic::kEnd && KindNumber::kOffset == Version::kEnd);
static_assert(ColumnCount::kOffset == KindNumber::kEnd && Event::kOffset == ColumnCount::kEnd);
static_assert(PartCount::kOffset == Event::kEnd && Epoch::kOffset == PartCount::kEnd);
static_assert(FirstSeq::kOffset == Epoch::kEnd && LastSeq::kOffset == FirstSeq::kEnd);
static_assert(FirstTicks::kOffset == LastSeq::kEnd && LastTicks::kOffset == FirstTicks::kEnd);
static_assert(RowCount::kOffset == LastTicks::kEnd && HeaderCrc::kOffset == RowCount::kEnd);
static_assert(kHeaderSizeBytes == HeaderCrc::kEnd);
static_assert(EntryCodec::kOffset == EntryId::kEnd && EntryReserved::kOffset == EntryCodec::kEnd);
static_assert(EntrySize::kOffset == EntryReserved::kEnd && EntryCrc::kOffset == EntrySize::kEnd);
static_assert(kEntrySizeBytes == EntryCrc::kEnd);

}  // namespace perfleet::block_layout
