// The blocks or the summaries of a series, pulled.
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
    std::string_view value{};  // borrowed until the cursor is asked again
    Error gap{};               // names what is missing
};

// What stands under such keys, ascending by first_seq, as it was when the cursor was opened (behind a gap: as it is
// then), whatever is compacted, dropped or refreshed meanwhile. One thread at a time; ends before its store.
template <class Key>
class SeqCursor {
public:
    using Step = SeqStep<Key>;

    // `next` goes on at the first key whose first_seq is at least `first`.
    explicit SeqCursor(std::function<Result<Step>(Seq first)> next) : next_{std::move(next)} {}

    // So that next() passes over keys whose first_seq is lower, and over gaps before them. Only forward. A batch is in
    // a block that begins with itself or, where they are compacted, with an earlier one: of all batches of a block the
    // rows of the series are at most limits::kBlockRowsMax.
    void seek(Seq first) { first_ = first; }
    // Errors: only others than damage.
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
