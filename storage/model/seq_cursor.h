// A cursor over the blocks or the summaries of a series.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"
#include "storage/model/visit.h"

namespace perfleet {

template <class Key>
struct SeqStep {
    CursorStep step = CursorStep::kEnd;
    Key key{};
    std::string_view value{};  // borrowed until the next call of next()
    Error gap{};               // names what can't be read
};

// The items, ascending by first_seq, as they were when the cursor was opened (after a gap: as they are then), even if
// they are compacted, dropped or refreshed meanwhile. One thread at a time; must end before its store.
template <class Key>
class SeqCursor {
public:
    using Step = SeqStep<Key>;

    // `next` returns the item at the first key whose first_seq is at least `first`.
    explicit SeqCursor(std::function<Result<Step>(Seq first)> next) : next_{std::move(next)} {}

    // Makes next() skip keys with lower first_seq, and gaps before them. Only forward. A batch is in the block that
    // begins with it or, if compacted, with an earlier batch; the batches of one block have at most
    // limits::kBlockRowsMax rows of the series.
    void seek(Seq first) { first_ = first; }
    // Errors: all except damage.
    [[nodiscard]] Result<Step> next() { return next_(first_); }

private:
    std::function<Result<Step>(Seq first)> next_;
    Seq first_{};
};

using BlockStep = SeqStep<BlockKey>;
using BlockCursor = SeqCursor<BlockKey>;
using SummaryStep = SeqStep<SummaryKey>;
using SummaryCursor = SeqCursor<SummaryKey>;

}  // namespace perfleet
