#include <algorithm>

#include "schemas/columns/crc32c.h"
#include "storage/block/block.h"
#include "storage/block/checked_column.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

Error refusal(ErrorCode code, ColumnId id, const std::string& what) {
    return Error{code, "block: column " + std::string{column_name(id)} + ": " + what};
}

template <class Columns>
auto* find_column(Columns& columns, ColumnId id) {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const auto& column) { return column.id == id; });
    return found == columns.end() ? nullptr : &*found;
}

// The next entry, for column `id`; reuses the memory of an earlier column.
template <class Columns>
auto& take_column(Columns& columns, std::size_t& used, ColumnId id) {
    if (used == columns.size()) {
        columns.emplace_back();
    }
    auto& column = columns[used++];
    column.id = id;
    return column;
}

}  // namespace

Result<const ColumnView*> checked_column(const BlockView& block, ColumnId id) {
    const ColumnView* column = block.find(id);
    if (column == nullptr) {
        return refusal(ErrorCode::kInvalid, id, "is missing");
    }
    if (!block.crcs.empty() &&
        crc32c(0, column->bytes) != block.crcs[static_cast<std::size_t>(column - block.columns.data())]) {
        return refusal(ErrorCode::kCorrupt, id, "checksum doesn't match");
    }
    return column;
}

Result<Done> DecodedRows::decode(const BlockView& block, std::span<const ColumnId> wanted) {
    row_count_ = 0;
    for (auto& column : integers_) {
        column.id = {};
    }
    for (auto& column : bytes_) {
        column.id = {};
    }
    integers_used_ = 0;
    bytes_used_ = 0;
    if (block.header.row_count > limits::kBlockRowsMax) {
        return Error{ErrorCode::kTooLarge, "block: " + std::to_string(block.header.row_count) + " rows"};
    }
    row_count_ = block.header.row_count;

    const Kind kind = block.header.series.kind;
    if (wanted.empty()) {
        for (const ColumnRule& rule : columns_of(kind)) {
            PERFLEET_TRY(decode_column(block, rule));
        }
        return Done{};
    }
    return decode_more(block, wanted);
}

Result<Done> DecodedRows::decode_more(const BlockView& block, std::span<const ColumnId> wanted) {
    PERFLEET_ASSERT(row_count_ == block.header.row_count);
    const Kind kind = block.header.series.kind;
    for (const ColumnId id : wanted) {
        const ColumnRule* rule = column_rule(kind, id);
        if (rule == nullptr) {
            return refusal(ErrorCode::kInvalid, id, "rows of kind " + std::string{kind_name(kind)} + " don't have it");
        }
        PERFLEET_TRY(decode_column(block, *rule));
    }
    return Done{};
}

Result<Done> DecodedRows::decode_column(const BlockView& block, const ColumnRule& rule) {
    if (find_column(integers_, rule.id) != nullptr || find_column(bytes_, rule.id) != nullptr) {
        return Done{};
    }
    const auto column = PERFLEET_TRY(checked_column(block, rule.id));
    if (rule.shape == ColumnShape::kInteger) {
        return decode_integer_column(*column, rule);
    }
    const ColumnRule* sizes_rule = column_rule(block.header.series.kind, rule.sizes);
    PERFLEET_ASSERT(sizes_rule != nullptr && sizes_rule->shape == ColumnShape::kInteger);
    PERFLEET_TRY(decode_column(block, *sizes_rule));
    return decode_byte_column(*column, rule);
}

Result<Done> DecodedRows::decode_integer_column(const ColumnView& column, const ColumnRule& rule) {
    Integers& decoded = take_column(integers_, integers_used_, rule.id);
    decoded.values.resize(row_count_);
    if (auto done = decode_integers(column.codec, column.bytes, decoded.values); !done.ok()) {
        return error_from_fault(done.error(), "block: column " + std::string{column_name(rule.id)});
    }
    // If the OR of all values is within the limit, every value is; this saves a comparison per value.
    std::uint64_t bits = 0;
    for (const std::uint64_t value : decoded.values) {
        bits |= value;
    }
    if (bits <= rule.max) {
        return Done{};
    }
    const std::uint64_t greatest = *std::max_element(decoded.values.begin(), decoded.values.end());
    if (greatest > rule.max) {
        return refusal(ErrorCode::kInvalid, rule.id,
                       "value " + std::to_string(greatest) + " is greater than " + std::to_string(rule.max));
    }
    return Done{};
}

Result<Done> DecodedRows::decode_byte_column(const ColumnView& column, const ColumnRule& rule) {
    if (column.codec != Codec::kBytes) {
        return refusal(ErrorCode::kUnsupported, rule.id,
                       "codec " + std::to_string(static_cast<unsigned>(column.codec)) + " for a byte column");
    }
    Bytes& decoded = take_column(bytes_, bytes_used_, rule.id);
    decoded.offsets.resize(row_count_ + 1);
    std::size_t offset = 0;
    const auto sizes = integers(rule.sizes);
    for (std::size_t row = 0; row < row_count_; ++row) {
        decoded.offsets[row] = offset;
        offset += static_cast<std::size_t>(sizes[row]);
    }
    decoded.offsets[row_count_] = offset;
    if (offset != column.bytes.size()) {
        return refusal(
            ErrorCode::kInvalid, rule.id,
            "sizes add up to " + std::to_string(offset) + " bytes, it has " + std::to_string(column.bytes.size()));
    }
    decoded.bytes.assign(reinterpret_cast<const char*>(column.bytes.data()), column.bytes.size());
    return Done{};
}

void DecodedRows::keep(std::span<const std::pair<std::size_t, std::size_t>> ranges) {
    std::size_t kept = 0;
    for (const auto& [first, last] : ranges) {
        PERFLEET_ASSERT(kept <= first && first <= last && last <= row_count_);
        for (std::size_t row = first; row < last; ++row, ++kept) {
            for (std::size_t i = 0; i < integers_used_; ++i) {
                integers_[i].values[kept] = integers_[i].values[row];
            }
        }
    }
    for (std::size_t i = 0; i < bytes_used_; ++i) {
        Bytes& column = bytes_[i];
        std::string bytes;
        std::vector<std::size_t> offsets{0};
        for (const auto& [first, last] : ranges) {
            for (std::size_t row = first; row < last; ++row) {
                bytes.append(column.bytes, column.offsets[row], column.offsets[row + 1] - column.offsets[row]);
                offsets.push_back(bytes.size());
            }
        }
        column.bytes = std::move(bytes);
        column.offsets = std::move(offsets);
    }
    for (std::size_t i = 0; i < integers_used_; ++i) {
        integers_[i].values.resize(kept);
    }
    row_count_ = kept;
}

std::size_t DecodedRows::size_bytes() const {
    std::size_t size_bytes = 0;
    for (const Integers& column : integers_) {
        size_bytes += column.values.capacity() * sizeof(std::uint64_t);
    }
    for (const Bytes& column : bytes_) {
        size_bytes += column.bytes.capacity() + column.offsets.capacity() * sizeof(std::size_t);
    }
    return size_bytes;
}

std::span<const std::uint64_t> DecodedRows::integers(ColumnId id) const {
    const Integers* column = find_column(integers_, id);
    PERFLEET_ASSERT(column != nullptr);
    return column->values;
}

std::string_view DecodedRows::bytes(ColumnId id, std::size_t row) const {
    const Bytes* column = find_column(bytes_, id);
    PERFLEET_ASSERT(column != nullptr && row < row_count_);
    return std::string_view{column->bytes}.substr(column->offsets[row],
                                                  column->offsets[row + 1] - column->offsets[row]);
}

}  // namespace perfleet
