#include "gateway/ingest/credit_accounts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "schemas/wire/delivery_limits.h"

namespace perfleet::credit_accounts_test {
namespace {

constexpr std::size_t kBudgetBytes = 1U << 20;

CreditAccount account_of(std::size_t batch_size_bytes) {
    CreditAccount account;
    account.batch_size_bytes = batch_size_bytes;
    return account;
}

TEST(CreditAccounts, OnePeerHasTheWholeWindow) {
    CreditAccounts credit{kBudgetBytes};
    CreditAccount account = account_of(1'000);
    EXPECT_EQ(credit.raise(account, Seq{0}, Seq{0}, 1, 0), Seq{limits::kSendWindowBatches});
    EXPECT_EQ(credit.promised_bytes(), limits::kSendWindowBatches * 1'000);
    // What it used comes back, and is promised again.
    EXPECT_EQ(credit.raise(account, Seq{10}, Seq{64}, 1, 0), Seq{74});
    EXPECT_EQ(credit.promised_bytes(), limits::kSendWindowBatches * 1'000);
    credit.close(account, Seq{74});
    EXPECT_EQ(credit.promised_bytes(), 0U);
}

TEST(CreditAccounts, ALimitNeverShrinks) {
    CreditAccounts credit{kBudgetBytes};
    CreditAccount account = account_of(1'000);
    const Seq limit = credit.raise(account, Seq{0}, Seq{0}, 1, 0);
    EXPECT_EQ(credit.raise(account, Seq{1}, limit, 1'000, 0), limit);
    EXPECT_EQ(credit.raise(account, Seq{~0ULL - 1}, Seq{~0ULL}, 1, 0), Seq{~0ULL});
    EXPECT_EQ(credit.raise(account, Seq{~0ULL}, Seq{5}, 1, 0), Seq{5});
}

TEST(CreditAccounts, LargeBatchesMakeTheWindowSmall) {
    CreditAccounts credit{kBudgetBytes};
    CreditAccount account = account_of(100);
    CreditAccounts::learn(account, kBudgetBytes / 8, 0);
    EXPECT_EQ(credit.raise(account, Seq{0}, Seq{0}, 1, 0), Seq{2});  // a quarter of the budget
    // Small ones let it grow again, slowly.
    for (int i = 0; i < 100; ++i) {
        CreditAccounts::learn(account, 100, 0);
    }
    EXPECT_EQ(credit.raise(account, Seq{2}, Seq{2}, 1, 0), Seq{2 + limits::kSendWindowBatches});
}

TEST(CreditAccounts, PromisesOfAllNeverPassTheBudget) {
    CreditAccounts credit{kBudgetBytes};
    std::vector<CreditAccount> accounts(1'000, account_of(10'000));
    std::size_t without = 0;
    for (CreditAccount& account : accounts) {
        const Seq limit = credit.raise(account, Seq{0}, Seq{0}, accounts.size(), 0);
        EXPECT_LE(limit, Seq{1});
        without += limit == Seq{0} ? 1U : 0U;
        ASSERT_LE(credit.promised_bytes(), kBudgetBytes);
    }
    EXPECT_EQ(without, 1'000 - kBudgetBytes / 10'000);
    // Also when batches turn out larger than was thought.
    for (CreditAccount& account : accounts) {
        CreditAccounts::learn(account, 200'000, 0);
        credit.recount(account, Seq{0}, Seq{1});
        ASSERT_LE(credit.promised_bytes(), kBudgetBytes);
    }
}

TEST(CreditAccounts, OneWithLargeBatchesLeavesRoomForOthers) {
    CreditAccounts credit{kBudgetBytes};
    CreditAccount hog = account_of(1'000);
    const Seq limit = credit.raise(hog, Seq{0}, Seq{0}, 1, 0);
    CreditAccounts::learn(hog, kBudgetBytes / 4, 0);
    credit.recount(hog, Seq{1}, limit);
    CreditAccount other = account_of(1'000);
    EXPECT_GT(credit.raise(other, Seq{0}, Seq{0}, 2, 0), Seq{1});
}

TEST(CreditAccounts, SlowPeersWithLargeWindowsKeepNoNewcomerWaiting) {
    CreditAccounts credit{kBudgetBytes};
    // Each came when there were fewer, was granted more than the later ones, and doesn't use it.
    std::vector<CreditAccount> early(200, account_of(1'000));
    std::vector<Seq> granted(early.size());
    for (std::size_t i = 0; i < early.size(); ++i) {
        granted[i] = credit.raise(early[i], Seq{0}, Seq{0}, i + 1, 0);
        EXPECT_GE(granted[i], Seq{1});
    }
    EXPECT_EQ(granted[0], Seq{limits::kSendWindowBatches});
    EXPECT_GE(kBudgetBytes - credit.promised_bytes(), kBudgetBytes / 4);
    for (std::size_t newcomer = 0; newcomer < 100; ++newcomer) {
        CreditAccount account = account_of(2'000);
        EXPECT_EQ(credit.raise(account, Seq{0}, Seq{0}, early.size() + newcomer, 0), Seq{1});
    }
}

TEST(CreditAccounts, IdlePromisesAreWrittenOff) {
    CreditAccounts credit{kBudgetBytes};
    CreditAccount idle = account_of(kBudgetBytes);
    const Seq limit = credit.raise(idle, Seq{0}, Seq{0}, 1, 0);
    EXPECT_EQ(limit, Seq{1});
    CreditAccount other = account_of(1'000);
    EXPECT_FALSE(credit.can_promise(other));
    credit.write_off(idle, limit, intake_limits::kCreditHoldNs - 1);
    EXPECT_FALSE(credit.can_promise(other));
    credit.write_off(idle, limit, intake_limits::kCreditHoldNs);
    EXPECT_TRUE(credit.can_promise(other));
    // It stays valid, and isn't counted again at the next check.
    EXPECT_EQ(credit.raise(idle, Seq{0}, limit, 2, intake_limits::kCreditHoldNs), limit);
    EXPECT_EQ(credit.promised_bytes(), 0U);
}

// Its promises don't count again when it comes back, whichever limit was granted last.
TEST(CreditAccounts, WhatAPeerThatWentWasPromisedIsWrittenOff) {
    CreditAccounts credit{kBudgetBytes};
    CreditAccount account = account_of(1'000);
    const Seq limit = credit.raise(account, Seq{0}, Seq{0}, 1, 0);
    account.is_waiting = true;
    credit.close(account, limit);
    EXPECT_FALSE(account.is_waiting);
    EXPECT_EQ(account.written_off, limit);
    credit.recount(account, Seq{10}, limit);
    EXPECT_EQ(credit.promised_bytes(), 0U);
    credit.close(account, Seq{1});
    EXPECT_EQ(account.written_off, limit) << "what was written off stays so";
    credit.recount(account, Seq{10}, limit);
    EXPECT_EQ(credit.promised_bytes(), 0U);
}

}  // namespace
}  // namespace perfleet::credit_accounts_test
