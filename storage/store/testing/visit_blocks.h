// All blocks or summaries of a series, as a loop.
#pragma once

#include <optional>

#include "storage/read/reader.h"

namespace perfleet {

// All that can be read; then the first gap is the error.
template <class Cursor, class Visitor>
[[nodiscard]] Result<Done> visit_all(Cursor cursor, const Visitor& visitor) {
    std::optional<Error> first_gap;
    for (;;) {
        const auto step = PERFLEET_TRY(cursor.next());
        if (step.step == CursorStep::kEnd) {
            return first_gap ? Result<Done>{*first_gap} : Done{};
        }
        if (step.step == CursorStep::kGap) {
            first_gap = first_gap ? first_gap : step.gap;
        } else if (visitor(step.key, step.value) == Visit::kStop) {
            return Done{};
        }
    }
}

template <class Visitor>
[[nodiscard]] Result<Done> visit_blocks(const StoreReader& store, const Partition& partition, TargetId target,
                                        SessionId session, Series series, const Visitor& visitor) {
    return visit_all(store.blocks(partition, target, session, series), visitor);
}

template <class Visitor>
[[nodiscard]] Result<Done> visit_summaries(const StoreReader& store, const Partition& partition, TargetId target,
                                           SessionId session, Series series, const Visitor& visitor) {
    return visit_all(store.summaries(partition, target, session, series), visitor);
}

}  // namespace perfleet
