// How far each peer may send: a budget of bytes over all of them, promised in batches.
//
// A promise of n batches counts as n times the size of what this session sent lately. Each peer's window is its share
// of half of the budget, at least one batch. The other half is for those who have no promise at all, one batch for
// each: peers that came early and use their windows slowly keep no newcomer waiting. A peer for which that is used up,
// too, waits in line, and gets one batch when its turn comes: so all of many come on, however few batches the budget
// holds at once. The sum of all promises stays within the budget. One thread; no clock of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/ids.h"

namespace perfleet {

// A session's part of it.
struct CreditAccount {
    std::uint64_t batch_size_bytes = intake_limits::kBatchSizeBytesGuess;
    std::uint64_t promised_bytes = 0;  // of the sum
    Seq written_off;                   // promises up to here are counted no more
    std::uint64_t used_ns = 0;         // when it was promised something or used it
    bool is_waiting = false;           // in line
};

class CreditAccounts {
public:
    explicit CreditAccounts(std::size_t budget_bytes) : budget_bytes_{budget_bytes} {}

    // A batch of this size came in.
    static void learn(CreditAccount& account, std::size_t size_bytes, std::uint64_t now_ns);

    // What was used of a promise up to `limit` comes back.
    void recount(CreditAccount& account, Seq prefix, Seq limit);

    // How far a peer may send that has `prefix` resolved and was granted `limit` before; never less than that. It is up
    // to the caller that those who wait in line come first. `peer_count` share the budget; kOneBatch: only one is
    // wanted.
    static constexpr std::size_t kOneBatch = ~std::size_t{0};
    [[nodiscard]] Seq raise(CreditAccount& account, Seq prefix, Seq limit, std::size_t peer_count,
                            std::uint64_t now_ns);

    // There is room for one more batch of this session.
    [[nodiscard]] bool can_promise(const CreditAccount& account) const {
        return account.batch_size_bytes <= budget_bytes_ - promised_bytes_;
    }

    // Nobody speaks for the session now.
    void close(CreditAccount& account, Seq limit);

    // Counts what was promised long ago and never used as not promised, when others wait: the promise stands, but an
    // idle peer must not keep others waiting.
    void write_off(CreditAccount& account, Seq limit, std::uint64_t now_ns);

    [[nodiscard]] std::size_t promised_bytes() const { return promised_bytes_; }
    [[nodiscard]] std::size_t budget_bytes() const { return budget_bytes_; }

private:
    // Half of what others leave of the windows' part, so that there is something left for the next one; at least a
    // batch, if there is room.
    [[nodiscard]] std::uint64_t most_for(const CreditAccount& account) const;
    [[nodiscard]] std::size_t windows_bytes() const { return budget_bytes_ / 2; }
    void count(CreditAccount& account, std::uint64_t promised_bytes);

    std::size_t budget_bytes_;
    std::size_t promised_bytes_ = 0;  // the sum, never more than the budget
};

}  // namespace perfleet
