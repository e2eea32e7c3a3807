#include "storage/block/block_compactor.h"

#include <algorithm>

#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

// The bytes of all rows of a byte column: from the start of the first row to the end of the last.
std::string_view all_bytes(const DecodedRows& rows, ColumnId id) {
    if (rows.row_count() == 0) {
        return {};
    }
    const std::string_view first = rows.bytes(id, 0);
    const std::string_view last = rows.bytes(id, rows.row_count() - 1);
    return {first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())};
}

std::string encode(const BlockHeader& header, std::span<const CompactedColumn> columns,
                   std::span<const BlockPart> parts) {
    std::vector<std::vector<std::byte>> encoded(columns.size());
    std::vector<ColumnView> views;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const CompactedColumn& column = columns[i];
        if (column.rule.shape == ColumnShape::kBytes) {
            views.push_back({column.rule.id,
                             Codec::kBytes,
                             {reinterpret_cast<const std::byte*>(column.bytes.data()), column.bytes.size()}});
            continue;
        }
        encoded[i].resize(encoded_size_bytes_max(column.integers.size()));
        const auto done = encode_integers(column.integers, encoded[i]);
        PERFLEET_ASSERT(done.ok());
        views.push_back({column.rule.id, done->codec, std::span{encoded[i]}.first(done->size_bytes)});
    }
    return encode_compacted_block(header, views, parts);
}

}  // namespace

BlockCompactor::Outcome BlockCompactor::take(const BlockView& block, std::size_t size_bytes) {
    const BlockHeader& header = block.header;
    const auto rules = columns_of(header.series.kind);
    if (!block.parts.empty() || header.first_seq != header.last_seq || block.columns.size() != rules.size() ||
        !rows_.decode(block).ok()) {
        return Outcome::kUnfit;
    }
    if (parts_.empty()) {
        header_ = header;
        header_.row_count = 0;
        columns_.resize(rules.size());
        for (std::size_t i = 0; i < rules.size(); ++i) {
            columns_[i].rule = rules[i];
            columns_[i].integers.clear();
            columns_[i].bytes.clear();
        }
    } else if (header.series != header_.series || header.epoch != header_.epoch ||
               header.first_seq <= header_.last_seq || parts_.size() >= limits::kCompactedPartsMax ||
               header.row_count > limits::kBlockRowsMax - header_.row_count ||
               size_bytes >
                   limits::kCompactedBlockSizeBytesMax - std::min(size_bytes_, limits::kCompactedBlockSizeBytesMax)) {
        return Outcome::kNoRoom;
    }
    for (CompactedColumn& column : columns_) {
        if (column.rule.shape == ColumnShape::kInteger) {
            const auto values = rows_.integers(column.rule.id);
            column.integers.insert(column.integers.end(), values.begin(), values.end());
        } else {
            column.bytes.append(all_bytes(rows_, column.rule.id));
        }
    }
    header_.last_seq = header.last_seq;
    header_.row_count += header.row_count;
    header_.first_ticks = std::min(header_.first_ticks, header.first_ticks);
    header_.last_ticks = std::max(header_.last_ticks, header.last_ticks);
    parts_.push_back({header.first_seq, header.row_count});
    size_bytes_ += size_bytes;
    return Outcome::kTaken;
}

std::optional<std::string> BlockCompactor::finish() {
    PERFLEET_ASSERT(!parts_.empty());
    std::optional<std::string> block = encode(header_, columns_, parts_);
    if (!holds_what_was_taken(*block)) {
        block.reset();
    }
    clear();
    return block;
}

bool BlockCompactor::holds_what_was_taken(const std::string& block) {
    const auto view = parse_block_untrusted(block);
    if (!view.ok() || view->parts != parts_ || !rows_.decode(*view).ok()) {
        return false;
    }
    return std::all_of(columns_.begin(), columns_.end(), [&](const CompactedColumn& column) {
        return column.rule.shape == ColumnShape::kBytes
                   ? all_bytes(rows_, column.rule.id) == column.bytes
                   : std::ranges::equal(rows_.integers(column.rule.id), column.integers);
    });
}

void BlockCompactor::clear() {
    parts_.clear();
    size_bytes_ = 0;
}

Result<std::vector<std::pair<Seq, std::string>>> split_block(const BlockView& block) {
    const auto rules = columns_of(block.header.series.kind);
    if (block.columns.size() != rules.size()) {
        return Error{ErrorCode::kUnsupported, "has columns that this build doesn't know; use a newer perfleet"};
    }
    DecodedRows rows;
    PERFLEET_TRY(rows.decode(block));
    std::vector<std::pair<Seq, std::string>> blocks;
    std::size_t first = 0;
    for (const BlockPart& part : block.parts) {
        BlockHeader header = block.header;
        header.first_seq = part.seq;
        header.last_seq = part.seq;
        header.row_count = part.row_count;
        std::vector<CompactedColumn> columns;
        for (const ColumnRule& rule : rules) {
            CompactedColumn& column = columns.emplace_back(CompactedColumn{rule, {}, {}});
            for (std::size_t row = first; row < first + part.row_count; ++row) {
                if (rule.shape == ColumnShape::kInteger) {
                    column.integers.push_back(rows.integers(rule.id)[row]);
                } else {
                    column.bytes.append(rows.bytes(rule.id, row));
                }
            }
            if (rule.id == ColumnId::kTime && part.row_count != 0) {
                const auto [least, greatest] = std::minmax_element(column.integers.begin(), column.integers.end());
                header.first_ticks = Ticks{*least};
                header.last_ticks = Ticks{*greatest};
            }
        }
        first += part.row_count;
        blocks.emplace_back(part.seq, encode(header, columns, std::span{&part, 1}));
    }
    return blocks;
}

}  // namespace perfleet
