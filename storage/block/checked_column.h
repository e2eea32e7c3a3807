// Checks a column of a parsed block before it is decoded.
#pragma once

#include "schemas/vocabulary/error.h"
#include "storage/block/block.h"

namespace perfleet {

// Errors: kInvalid (the block doesn't have the column), kCorrupt (its checksum doesn't match the block's directory).
[[nodiscard]] Result<const ColumnView*> checked_column(const BlockView& block, ColumnId id);

}  // namespace perfleet
