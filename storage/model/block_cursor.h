// The blocks of a series, pulled.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"
#include "storage/model/visit.h"

namespace perfleet {

struct BlockStep {
    CursorStep step = CursorStep::kEnd;
    BlockKey key{};
    std::string_view block{};  // borrowed until the cursor is asked again
    Error gap{};               // names what is missing
};

// Blocks that are pulled one by one, as they were when the cursor was opened (behind a gap: as they are then), whatever
// is compacted, dropped or refreshed meanwhile. One thread at a time; ends before its store.
class BlockCursor {
public:
    explicit BlockCursor(std::function<Result<BlockStep>()> next) : next_{std::move(next)} {}
    // Errors: only others than damage.
    [[nodiscard]] Result<BlockStep> next() { return next_(); }

private:
    std::function<Result<BlockStep>()> next_;
};

}  // namespace perfleet
