// A column of a parsed block, checked before it is decoded.
#pragma once

#include "schemas/vocabulary/error.h"
#include "storage/block/block.h"

namespace perfleet {

// Errors: kInvalid where the block doesn't have it, kCorrupt where its bytes aren't what the block's directory says.
[[nodiscard]] Result<const ColumnView*> checked_column(const BlockView& block, ColumnId id);

}  // namespace perfleet
