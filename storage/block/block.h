// A block: the encoded columns of one series under an index header, exactly as the collector sealed them, or compacted
// of several such (block_compactor.h). The unit of storing and scanning.
//
// Byte layout, golden bytes and versions: storage/FORMAT.md. Blocks are checked again each time they are read: nothing
// in `bytes_untrusted` is believed until parse_block_untrusted has passed it. Errors name the field and the offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "storage/limits/store_limits.h"

namespace perfleet {

// The header of a block. Ticks are those of the session's clock.
struct BlockHeader {
    Series series;
    EpochNumber epoch;
    Seq first_seq;  // the seqs whose rows it holds; both included
    Seq last_seq;
    std::uint32_t row_count = 0;
    Ticks first_ticks;
    Ticks last_ticks;
};

// The rows of one batch in a compacted block; the rows of the next part follow them.
struct BlockPart {
    Seq seq;
    std::uint32_t row_count = 0;

    friend constexpr auto operator<=>(const BlockPart&, const BlockPart&) = default;
};

struct BlockView {
    BlockHeader header;
    std::vector<ColumnView> columns;  // borrow from the parsed bytes
    std::vector<BlockPart> parts;     // of a compacted block, ascending by seq; empty: a block as it was sealed
    std::vector<std::uint32_t> crcs;  // checksums of `columns` that are still to be checked; else empty

    [[nodiscard]] const ColumnView* find(ColumnId id) const;
};

// Precondition: the header is within the limits and its ranges are in order; at most limits::kColumnsMax columns, each
// id once. storage/block/batch_blocks.h checks rows that come from a collector.
[[nodiscard]] std::string encode_block(const BlockHeader& header, std::span<const ColumnView> columns);

// Encodes a compacted block. Precondition: the parts ascend from header.first_seq to header.last_seq and hold all rows;
// at least one, at most limits::kCompactedPartsMax.
[[nodiscard]] std::string encode_compacted_block(const BlockHeader& header, std::span<const ColumnView> columns,
                                                 std::span<const BlockPart> parts);

// Errors: kTruncated, kCorrupt (checksum), kUnsupported (newer version or kind), kTooLarge, kInvalid. The view borrows
// from the argument. It includes columns with unknown ids. With kWhenDecoded a column's checksum is checked only when
// the column is decoded (DecodedRows, narrow_columns.h), so damage in an unused column has no effect.
enum class BlockCheck : std::uint8_t { kAllColumns, kWhenDecoded };
[[nodiscard]] Result<BlockView> parse_block_untrusted(std::string_view bytes_untrusted,
                                                      BlockCheck check = BlockCheck::kAllColumns);

// The last seq that the header names, unchecked, to decide which blocks are worth parsing. `first_seq` if there is no
// header.
[[nodiscard]] Seq peek_last_seq_untrusted(std::string_view bytes_untrusted, Seq first_seq);

// Decoded rows of a block, as far as they were asked for. Reusable: decode() keeps the memory of the last block.
class DecodedRows {
public:
    // Decodes the named columns (all known ones of the kind when `wanted` is empty). Checks every value against its
    // ColumnRule and that sizes add up to their byte column. A column that the block doesn't have is an error
    // (kInvalid).
    [[nodiscard]] Result<Done> decode(const BlockView& block, std::span<const ColumnId> wanted = {});

    // Decodes further columns of the block of the last decode(). keep() must not have been called since.
    [[nodiscard]] Result<Done> decode_more(const BlockView& block, std::span<const ColumnId> wanted);

    [[nodiscard]] std::size_t row_count() const { return row_count_; }

    // Allocated memory.
    [[nodiscard]] std::size_t size_bytes() const;

    // Keeps only the rows of these ranges, [first, last), ascending and disjoint.
    void keep(std::span<const std::pair<std::size_t, std::size_t>> ranges);

    // One value a row. The column must have been decoded.
    [[nodiscard]] std::span<const std::uint64_t> integers(ColumnId id) const;

    // The bytes of one row of a byte column, e.g. (kNameBytes, 3). The column must have been decoded.
    [[nodiscard]] std::string_view bytes(ColumnId id, std::size_t row) const;

private:
    struct Integers {
        ColumnId id{};
        std::vector<std::uint64_t> values;
    };
    struct Bytes {
        ColumnId id{};
        std::string bytes;
        std::vector<std::size_t> offsets;  // row_count + 1
    };
    [[nodiscard]] Result<Done> decode_column(const BlockView& block, const ColumnRule& rule);
    [[nodiscard]] Result<Done> decode_integer_column(const ColumnView& column, const ColumnRule& rule);
    [[nodiscard]] Result<Done> decode_byte_column(const ColumnView& column, const ColumnRule& rule);

    std::size_t row_count_ = 0;
    std::vector<Integers> integers_;  // the first integers_used_ hold a column, the others only capacity
    std::vector<Bytes> bytes_;
    std::size_t integers_used_ = 0;
    std::size_t bytes_used_ = 0;
};

}  // namespace perfleet
