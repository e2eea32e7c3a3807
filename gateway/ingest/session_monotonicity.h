// How far the collector of a session has shown to be: neither its clock nor its sequence goes back while it lives. One
// that is behind was started again, by somebody who kept the session's id: what it sends would be taken for what is
// stored, and vanish.
//
// Only a collector that tells its clock is judged: its session ends with it. Those with a spool on disk may come back
// after a loss of power that the disk slept through.
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
    // What a Hello says; the gateway doesn't believe it yet.
    struct Claim {
        Ticks clock;  // 0: not told
        Seq oldest_retained;
    };

    // Why the claim can't be true, as what follows the target's name; nothing when it can. `prefix`: what is durable or
    // resolved of the session; `is_finished`: its Bye is durable.
    [[nodiscard]] std::optional<std::string> step_back_of(const Claim& claim, Seq prefix, bool is_finished) const;

    void take_claim(const Claim& claim);
    void take_clock(Ticks clock);
    void take_oldest_retained(Seq oldest);
    void take_batch(std::span<const BatchRecord::Rows> rows);

    // Some came, to this gateway or one before.
    [[nodiscard]] bool has_batches() const { return has_batches_; }

private:
    Ticks clock_;
    Seq oldest_retained_;
    bool has_batches_ = false;
};

}  // namespace perfleet
