// Decodes columns whose values fit into 32 bits, for counting rows: takes less memory than DecodedRows. Values are
// checked against their ColumnRule; errors as those of DecodedRows.
//
// Plain values, reusable: they keep their capacity.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/block/block.h"

namespace perfleet {

struct NarrowColumn {
    std::vector<std::uint32_t> values;  // one a row
    std::uint32_t bits = 0;             // bitwise OR of all values, so none is greater
};

// Neighbouring rows with the same value, as the codec groups them: the next run may have the same value again.
struct ValueRun {
    std::uint32_t end = 0;  // row after the last
    std::uint32_t value = 0;
};

[[nodiscard]] Result<Done> decode_narrow(const BlockView& block, ColumnId id, NarrowColumn& column);
[[nodiscard]] Result<Done> decode_runs(const BlockView& block, ColumnId id, std::vector<ValueRun>& runs);

}  // namespace perfleet
