// Detects replays of a session: neither the clock nor the sequence of its collector goes back while the collector
// lives. One that is behind was started again with the session's old id: its batches would be taken for stored ones and
// lost.
//
// Only collectors that send their clock are judged: their session ends with their process. A collector with a spool on
// disk may rightly be behind, after a power loss that undid writes of its disk.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "storage/model/batch.h"

namespace perfleet {

class SessionMonotonicity {
public:
    // What a Hello claims; not verified yet.
    struct Claim {
        Ticks clock;  // 0: not sent
        Seq oldest_retained;
    };

    // Why the claim can't be true, as words that follow the target's name; empty: it can. `prefix`: the seq up to which
    // the session is durable or resolved; `is_finished`: its Bye is durable.
    [[nodiscard]] std::optional<std::string> step_back_of(const Claim& claim, Seq prefix, bool is_finished) const;

    void take_claim(const Claim& claim);
    void take_clock(Ticks clock);
    void take_oldest_retained(Seq oldest);
    void take_batch(std::span<const BatchRecord::Rows> rows);

    // Whether batches of it were admitted, by this gateway or an earlier one.
    [[nodiscard]] bool has_batches() const { return has_batches_; }

private:
    Ticks clock_;
    Seq oldest_retained_;
    bool has_batches_ = false;
};

}  // namespace perfleet
