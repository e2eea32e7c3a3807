// Blocks as read from disk. Odd first byte: the checksums of the rest are put right first, so that the fuzzer gets past
// them. If it parses it must encode to the same bytes, unless it is joined, and its rows must be readable to the last
// byte.
#include <string>

#include "storage/block/block.h"
#include "tests/fuzz/checksums.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

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
        put_block_checksums_right(bytes);
    }
    const auto block = parse_block_untrusted(bytes);
    if (!block.ok()) {
        PERFLEET_ASSERT(!block.error().message.empty());
        return 0;
    }
    PERFLEET_ASSERT(!block->parts.empty() || encode_block(block->header, block->columns) == bytes);
    DecodedRows rows;
    if (rows.decode(*block).ok()) {
        [[maybe_unused]] static volatile std::uint64_t sink;
        sink = read_all(*block, rows);
    }
    return 0;
}
