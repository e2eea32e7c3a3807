#include "storage/block/block.h"

#include <array>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/layout.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

namespace layout = block_layout;

static_assert(limits::kColumnsMax <= 0xff, "the column count is one byte");

std::span<const std::byte> as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Appends fields in the order of the diagram; asserts that each is written at its offset.
template <class Field>
void append(std::string& bytes, std::size_t start, typename Field::integer value) {
    PERFLEET_ASSERT(bytes.size() == start + Field::kOffset);
    append_little_endian(bytes, value);
}

template <class Field>
typename Field::integer load(std::string_view bytes, std::size_t start = 0) {
    return load_little_endian<typename Field::integer>(bytes.data() + start + Field::kOffset);
}

std::uint32_t header_crc(std::string_view bytes, std::size_t directory_end) {
    const std::uint32_t crc = crc32c(0, as_bytes(bytes.substr(0, layout::HeaderCrc::kOffset)));
    return crc32c(crc, as_bytes(bytes.substr(layout::kHeaderSizeBytes, directory_end - layout::kHeaderSizeBytes)));
}

Error refusal(ErrorCode code, const std::string& field, std::size_t offset, const std::string& what) {
    return Error{code, "block: " + field + " at offset " + std::to_string(offset) + ": " + what};
}

}  // namespace

const ColumnView* BlockView::find(ColumnId id) const {
    for (const ColumnView& column : columns) {
        if (column.id == id) {
            return &column;
        }
    }
    return nullptr;
}

namespace {

std::string encode(const BlockHeader& header, std::span<const ColumnView> columns, std::size_t part_count) {
    PERFLEET_ASSERT(columns.size() <= limits::kColumnsMax);
    PERFLEET_ASSERT(header.row_count <= limits::kBlockRowsMax);
    PERFLEET_ASSERT(header.first_seq <= header.last_seq);
    PERFLEET_ASSERT(header.first_ticks <= header.last_ticks);
    PERFLEET_ASSERT(is_known_kind(static_cast<std::uint8_t>(header.series.kind)));

    std::size_t size_bytes = layout::kHeaderSizeBytes + columns.size() * layout::kEntrySizeBytes;
    for (const ColumnView& column : columns) {
        PERFLEET_ASSERT(column.bytes.size() <= 0xffff'ffffU);
        size_bytes += column.bytes.size();
    }
    std::string bytes;
    bytes.reserve(size_bytes);
    append<layout::Magic>(bytes, 0, layout::kMagic);
    append<layout::Version>(bytes, 0, layout::kVersion);
    append<layout::KindNumber>(bytes, 0, static_cast<std::uint8_t>(header.series.kind));
    append<layout::ColumnCount>(bytes, 0, static_cast<std::uint8_t>(columns.size()));
    append<layout::Event>(bytes, 0, header.series.event.value);
    append<layout::PartCount>(bytes, 0, static_cast<std::uint16_t>(part_count));
    append<layout::Epoch>(bytes, 0, header.epoch.value);
    append<layout::FirstSeq>(bytes, 0, header.first_seq.value);
    append<layout::LastSeq>(bytes, 0, header.last_seq.value);
    append<layout::FirstTicks>(bytes, 0, header.first_ticks.value);
    append<layout::LastTicks>(bytes, 0, header.last_ticks.value);
    append<layout::RowCount>(bytes, 0, header.row_count);
    append<layout::HeaderCrc>(bytes, 0, 0);
    for (const ColumnView& column : columns) {
        const std::size_t start = bytes.size();
        append<layout::EntryId>(bytes, start, static_cast<std::uint16_t>(column.id));
        append<layout::EntryCodec>(bytes, start, static_cast<std::uint8_t>(column.codec));
        append<layout::EntryReserved>(bytes, start, 0);
        append<layout::EntrySize>(bytes, start, static_cast<std::uint32_t>(column.bytes.size()));
        append<layout::EntryCrc>(bytes, start, crc32c(0, column.bytes));
    }
    const std::uint32_t crc = header_crc(bytes, bytes.size());
    for (std::size_t i = 0; i < sizeof(crc); ++i) {
        bytes[layout::HeaderCrc::kOffset + i] = static_cast<char>(static_cast<unsigned char>(crc >> (8 * i)));
    }
    for (const ColumnView& column : columns) {
        bytes.append(reinterpret_cast<const char*>(column.bytes.data()), column.bytes.size());
    }
    PERFLEET_ASSERT(bytes.size() == size_bytes);
    return bytes;
}

// A column with one value per part.
ColumnView encode_part_column(std::uint16_t id, std::span<const std::uint64_t> values, std::vector<std::byte>& bytes) {
    bytes.resize(encoded_size_bytes_max(values.size()));
    const auto encoded = encode_integers(values, bytes);
    PERFLEET_ASSERT(encoded.ok());
    return {static_cast<ColumnId>(id), encoded->codec, std::span{bytes}.first(encoded->size_bytes)};
}

bool has_request(const BlockHeader& header, std::span<const BlockPart> parts) {
    if (parts.empty() || parts.front().seq != header.first_seq || parts.back().seq != header.last_seq) {
        return false;
    }
    std::uint64_t row_count = parts.front().row_count;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        row_count += parts[i].row_count;
        if (parts[i].seq <= parts[i - 1].seq) {
            return false;
        }
    }
    return row_count == header.row_count;
}

bool is_part_column(ColumnId id) {
    return id == static_cast<ColumnId>(layout::kPartSeqs) || id == static_cast<ColumnId>(layout::kPartRows);
}

// Moves the two columns that describe the parts out of the view.
Result<Done> read_parts(BlockView& view, std::size_t part_count) {
    std::array<std::vector<std::uint64_t>, 2> values;
    constexpr std::array kIds{layout::kPartSeqs, layout::kPartRows};
    for (std::size_t i = 0; i < kIds.size(); ++i) {
        const auto id = static_cast<ColumnId>(kIds[i]);
        const ColumnView* column = view.find(id);
        if (column == nullptr) {
            return refusal(ErrorCode::kInvalid, "parts", layout::PartCount::kOffset, "a column of them is missing");
        }
        values[i].resize(part_count);
        if (auto decoded = decode_integers(column->codec, column->bytes, values[i]); !decoded.ok()) {
            return error_from_fault(decoded.error(), "block: column " + std::to_string(kIds[i]));
        }
        if (!view.crcs.empty()) {
            view.crcs.erase(view.crcs.begin() + (column - view.columns.data()));
        }
        view.columns.erase(view.columns.begin() + (column - view.columns.data()));
    }
    view.parts.reserve(part_count);
    for (std::size_t i = 0; i < part_count; ++i) {
        if (values[1][i] > view.header.row_count) {
            return refusal(ErrorCode::kInvalid, "parts", layout::PartCount::kOffset,
                           "one has more rows than the block");
        }
        view.parts.push_back(
            {Seq{view.header.first_seq.value + values[0][i]}, static_cast<std::uint32_t>(values[1][i])});
    }
    if (!has_request(view.header, view.parts)) {
        return refusal(ErrorCode::kInvalid, "parts", layout::PartCount::kOffset, "don't fit the header");
    }
    return Done{};
}

}  // namespace

std::string encode_block(const BlockHeader& header, std::span<const ColumnView> columns) {
    return encode(header, columns, 0);
}

std::string encode_compacted_block(const BlockHeader& header, std::span<const ColumnView> columns,
                                   std::span<const BlockPart> parts) {
    PERFLEET_ASSERT(has_request(header, parts) && parts.size() <= limits::kCompactedPartsMax);
    std::vector<std::uint64_t> seqs;
    std::vector<std::uint64_t> rows;
    for (const BlockPart& part : parts) {
        seqs.push_back(part.seq.value - header.first_seq.value);
        rows.push_back(part.row_count);
    }
    std::vector<std::byte> seq_bytes;
    std::vector<std::byte> row_bytes;
    std::vector<ColumnView> all{columns.begin(), columns.end()};
    all.push_back(encode_part_column(layout::kPartSeqs, seqs, seq_bytes));
    all.push_back(encode_part_column(layout::kPartRows, rows, row_bytes));
    return encode(header, all, parts.size());
}

Seq peek_last_seq_untrusted(std::string_view bytes_untrusted, Seq first_seq) {
    return bytes_untrusted.size() < layout::kHeaderSizeBytes ? first_seq : Seq{load<layout::LastSeq>(bytes_untrusted)};
}

Result<BlockView> parse_block_untrusted(std::string_view bytes_untrusted, BlockCheck check) {
    const std::string_view bytes = bytes_untrusted;
    if (bytes.size() < layout::kHeaderSizeBytes) {
        return refusal(ErrorCode::kTruncated, "header", bytes.size(), "ends before its 56 bytes");
    }
    if (load<layout::Magic>(bytes) != layout::kMagic) {
        return refusal(ErrorCode::kCorrupt, "magic", layout::Magic::kOffset, "this is not a block");
    }
    if (const auto version = load<layout::Version>(bytes); version != layout::kVersion) {
        return refusal(ErrorCode::kUnsupported, "version", layout::Version::kOffset,
                       "has block format " + std::to_string(version) + "; this build reads format " +
                           std::to_string(layout::kVersion) + " only");
    }
    const std::size_t column_count = load<layout::ColumnCount>(bytes);
    if (column_count > limits::kColumnsMax) {
        return refusal(ErrorCode::kTooLarge, "column count", layout::ColumnCount::kOffset,
                       std::to_string(column_count) + " of at most " + std::to_string(limits::kColumnsMax));
    }
    const std::size_t directory_end = layout::kHeaderSizeBytes + column_count * layout::kEntrySizeBytes;
    if (bytes.size() < directory_end) {
        return refusal(ErrorCode::kTruncated, "directory", bytes.size(),
                       "ends before its " + std::to_string(column_count) + " columns");
    }
    if (load<layout::HeaderCrc>(bytes) != header_crc(bytes, directory_end)) {
        return refusal(ErrorCode::kCorrupt, "header checksum", layout::HeaderCrc::kOffset, "doesn't match");
    }

    BlockView view;
    const auto kind = load<layout::KindNumber>(bytes);
    if (!is_known_kind(kind)) {
        return refusal(ErrorCode::kUnsupported, "kind", layout::KindNumber::kOffset,
                       "kind " + std::to_string(kind) + " is not known to this build");
    }
    const std::size_t part_count = load<layout::PartCount>(bytes);
    if (part_count > limits::kCompactedPartsMax) {
        return refusal(ErrorCode::kTooLarge, "part count", layout::PartCount::kOffset,
                       std::to_string(part_count) + " of at most " + std::to_string(limits::kCompactedPartsMax));
    }
    view.header.series = Series{static_cast<Kind>(kind), EventNumber{load<layout::Event>(bytes)}};
    view.header.epoch.value = load<layout::Epoch>(bytes);
    view.header.first_seq.value = load<layout::FirstSeq>(bytes);
    view.header.last_seq.value = load<layout::LastSeq>(bytes);
    view.header.first_ticks.value = load<layout::FirstTicks>(bytes);
    view.header.last_ticks.value = load<layout::LastTicks>(bytes);
    view.header.row_count = load<layout::RowCount>(bytes);
    if (view.header.first_seq > view.header.last_seq) {
        return refusal(ErrorCode::kInvalid, "last seq", layout::LastSeq::kOffset, "is before the first");
    }
    if (view.header.first_ticks > view.header.last_ticks) {
        return refusal(ErrorCode::kInvalid, "last ticks", layout::LastTicks::kOffset, "is before the first");
    }
    if (view.header.row_count > limits::kBlockRowsMax) {
        return refusal(ErrorCode::kTooLarge, "row count", layout::RowCount::kOffset,
                       std::to_string(view.header.row_count) + " of at most " + std::to_string(limits::kBlockRowsMax));
    }

    view.columns.reserve(column_count);
    std::size_t offset = directory_end;
    for (std::size_t i = 0; i < column_count; ++i) {
        const std::size_t start = layout::kHeaderSizeBytes + i * layout::kEntrySizeBytes;
        ColumnView column;
        column.id = static_cast<ColumnId>(load<layout::EntryId>(bytes, start));
        column.codec = static_cast<Codec>(load<layout::EntryCodec>(bytes, start));
        const auto name = [&] { return "column " + std::to_string(static_cast<unsigned>(column.id)); };
        if (load<layout::EntryReserved>(bytes, start) != 0) {
            return refusal(ErrorCode::kInvalid, name(), start + layout::EntryReserved::kOffset,
                           "reserved byte isn't 0");
        }
        if (view.find(column.id) != nullptr) {
            return refusal(ErrorCode::kInvalid, name(), start, "is there twice");
        }
        if (part_count == 0 && is_part_column(column.id)) {
            return refusal(ErrorCode::kInvalid, name(), start, "is one of parts, and the block has none");
        }
        const std::size_t size_bytes = load<layout::EntrySize>(bytes, start);
        if (size_bytes > bytes.size() - offset) {
            return refusal(ErrorCode::kTruncated, name(), offset,
                           "ends before its " + std::to_string(size_bytes) + " bytes");
        }
        column.bytes = as_bytes(bytes.substr(offset, size_bytes));
        const auto crc = load<layout::EntryCrc>(bytes, start);
        const bool is_left = check == BlockCheck::kWhenDecoded && !is_part_column(column.id);
        if (!is_left && crc != crc32c(0, column.bytes)) {
            return refusal(ErrorCode::kCorrupt, name(), offset, "checksum doesn't match");
        }
        view.columns.push_back(column);
        if (check == BlockCheck::kWhenDecoded) {
            view.crcs.push_back(crc);
        }
        offset += size_bytes;
    }
    if (offset != bytes.size()) {
        return refusal(ErrorCode::kInvalid, "end", offset, std::to_string(bytes.size() - offset) + " bytes left over");
    }
    if (part_count != 0) {
        PERFLEET_TRY(read_parts(view, part_count));
    }
    return view;
}

}  // namespace perfleet
