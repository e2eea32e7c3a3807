// The moments at which threads of one epoch may have got another name, by their task rows. Sums of a thread end there,
// so that the name of all their rows is one, whatever it turns out to be.
//
// Built by one thread, then read by many.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/block/block.h"
#include "storage/store_limits.h"

namespace perfleet {

class Renames {
public:
    // Ticks [from, until) in which a thread keeps its name; `number` tells it from the thread's others.
    struct Span {
        std::uint32_t number = 0;
        Ticks from{0};
        Ticks until{~0ULL};
    };

    // Rows of tasks: columns kTime, kTaskOp and kTid have been decoded. False when there are more than
    // limits::kRollupRenamesMax.
    [[nodiscard]] bool add(const DecodedRows& rows);
    // Before the first question.
    void finish();

    [[nodiscard]] Span at(std::uint32_t tid, Ticks ticks) const;

private:
    std::vector<std::pair<std::uint32_t, Ticks>> moments_;  // ascending, each once
};

}  // namespace perfleet
