// Blocks as read from disk. Odd first byte: the checksums of the rest are put right first, so that the fuzzer gets past
// them. What parses must encode to the same bytes, and its rows must be readable to the last byte.
#include <string>

#include "schemas/columns/crc32c.h"
#include "storage/block/block.h"
#include "storage/block/layout.h"
#include "storage/block/little_endian.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

namespace layout = block_layout;

std::span<const std::byte> part(const std::string& bytes, std::size_t from, std::size_t to) {
    return std::as_bytes(std::span{bytes}).subspan(from, to - from);
}

void put_u32(std::string& bytes, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) {
        bytes[at + i] = static_cast<char>(value >> (8 * i));
    }
}

void put_checksums_right(std::string& bytes) {
    if (bytes.size() < layout::kHeaderSizeBytes) {
        return;
    }
    const std::size_t column_count = static_cast<std::uint8_t>(bytes[layout::ColumnCount::kOffset]);
    const std::size_t directory_end = layout::kHeaderSizeBytes + column_count * layout::kEntrySizeBytes;
    if (bytes.size() < directory_end) {
        return;
    }
    std::size_t at = directory_end;
    for (std::size_t entry = layout::kHeaderSizeBytes; entry < directory_end; entry += layout::kEntrySizeBytes) {
        const auto size = load_little_endian<std::uint32_t>(bytes.data() + entry + layout::EntrySize::kOffset);
        if (size > bytes.size() - at) {
            break;
        }
        put_u32(bytes, entry + layout::EntryCrc::kOffset, crc32c(0, part(bytes, at, at + size)));
        at += size;
    }
    const std::uint32_t crc = crc32c(0, part(bytes, 0, layout::HeaderCrc::kOffset));
    put_u32(bytes, layout::HeaderCrc::kOffset, crc32c(crc, part(bytes, layout::kHeaderSizeBytes, directory_end)));
}

// Reads everything, so that the sanitizers see it.
std::uint64_t read_all(const BlockView& block, const DecodedRows& rows) {
    std::uint64_t sum = 0;
    for (const ColumnRule& rule : columns_of(block.header.series.kind)) {
        if (rule.shape == ColumnShape::kInteger) {
            for (const std::uint64_t value : rows.integers(rule.id)) {
                PERFLEET_ASSERT(value <= rule.max);
                sum += value;
            }
            continue;
        }
        for (std::size_t row = 0; row < rows.row_count(); ++row) {
            for (const char letter : rows.bytes(rule.id, row)) {
                sum += static_cast<unsigned char>(letter);
            }
        }
    }
    return sum;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const bool with_right_checksums = (input.byte() & 1) != 0;
    std::string bytes{input.rest_text()};
    if (with_right_checksums) {
        put_checksums_right(bytes);
    }
    const auto block = parse_block_untrusted(bytes);
    if (!block.ok()) {
        PERFLEET_ASSERT(!block.error().message.empty());
        return 0;
    }
    PERFLEET_ASSERT(encode_block(block->header, block->columns) == bytes);
    DecodedRows rows;
    if (rows.decode(*block).ok()) {
        static volatile std::uint64_t sink;
        sink = read_all(*block, rows);
    }
    return 0;
}
