// How far each peer may send: a budget of bytes over all peers, granted in batches.
//
// A credit of n batches counts as n times the size of the session's recent batches. Half of the budget is for windows:
// each peer's window is its share, at least one batch. The other half is for peers without any credit, one batch each,
// so that early peers with slow windows don't block newcomers. When that half is used up, too, a peer waits in line for
// one batch, so that all of many peers progress. The sum of all credit stays within the budget. One thread; no clock of
// its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/ids.h"

namespace perfleet {

// One session's account.
struct CreditAccount {
    std::uint64_t batch_size_bytes = intake_limits::kBatchSizeBytesGuess;
    std::uint64_t promised_bytes = 0;  // part of the sum
    Seq written_off;                   // credit up to here isn't counted any more
    std::uint64_t used_ns = 0;         // when credit was last granted or used
    bool is_waiting = false;           // in line
};

class CreditAccounts {
public:
    explicit CreditAccounts(std::size_t budget_bytes) : budget_bytes_{budget_bytes} {}

    // A batch of this size was received.
    static void learn(CreditAccount& account, std::size_t size_bytes, std::uint64_t now_ns);

    // Returns the used part of the credit up to `limit` to the budget.
    void recount(CreditAccount& account, Seq prefix, Seq limit);

    // The new send limit of a peer whose seqs up to `prefix` are resolved and whose limit was `limit`; never lower than
    // that. The caller serves waiting peers first. `peer_count` peers share the budget; kOneBatch grants one batch
    // only.
    static constexpr std::size_t kOneBatch = ~std::size_t{0};
    [[nodiscard]] Seq raise(CreditAccount& account, Seq prefix, Seq limit, std::size_t peer_count,
                            std::uint64_t now_ns);

    // Whether one more batch of this session fits the budget.
    [[nodiscard]] bool can_promise(const CreditAccount& account) const {
        return account.batch_size_bytes <= budget_bytes_ - promised_bytes_;
    }

    // No peer is attached to the session any more.
    void close(CreditAccount& account, Seq limit);

    // Stops counting credit that wasn't used for kCreditHoldNs; to be called while others wait. The credit stays valid,
    // but an idle peer doesn't block others.
    void write_off(CreditAccount& account, Seq limit, std::uint64_t now_ns);

    [[nodiscard]] std::size_t promised_bytes() const { return promised_bytes_; }
    [[nodiscard]] std::size_t budget_bytes() const { return budget_bytes_; }

private:
    // The most credit that the account may hold: half of the windows' part that others leave, so that the next peer
    // gets some, too; at least one batch if there is space.
    [[nodiscard]] std::uint64_t most_for(const CreditAccount& account) const;
    [[nodiscard]] std::size_t windows_bytes() const { return budget_bytes_ / 2; }
    void count(CreditAccount& account, std::uint64_t promised_bytes);

    std::size_t budget_bytes_;
    std::size_t promised_bytes_ = 0;  // the sum, never more than the budget
};

}  // namespace perfleet
