#include "storage/store/known_seqs.h"

#include <gtest/gtest.h>

#include "schemas/wire/delivery_limits.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/memory_engine.h"
#include "storage/limits/store_limits.h"

namespace perfleet::known_seqs_test {
namespace {

constexpr TargetId kTarget{17};
constexpr std::uint64_t kFullSessions = limits::kStoreSeqsTotalMax / limits::kStoreSeqsMax;

class KnownSeqsOfAnEmptyStore : public testing::Test {
protected:
    KnownSession& session(std::uint64_t number) { return **known_.session(kTarget, SessionId{0, number}); }

    // As many operations as it may take until it counts.
    void make_room_often() {
        for (int i = 0; i < 10'000; ++i) {
            known_.make_room();
        }
    }

    void fill(std::uint64_t number) {
        for (std::uint64_t seq = 1; seq <= limits::kStoreSeqsMax; ++seq) {
            session(number).seals.emplace(seq, 0);
        }
    }

    MemoryEngine engine_;
    KeyedReads reads_{engine_};
    KnownSeqs known_{reads_};
};

TEST_F(KnownSeqsOfAnEmptyStore, ForgetsAllWhenTheSessionsRememberTooManyBatches) {
    for (std::uint64_t number = 1; number < kFullSessions; ++number) {
        fill(number);
    }
    make_room_often();
    EXPECT_EQ(session(1).seals.size(), limits::kStoreSeqsMax);
    fill(kFullSessions);
    make_room_often();
    EXPECT_TRUE(session(1).seals.empty());
    EXPECT_TRUE(session(kFullSessions).seals.empty());
}

TEST_F(KnownSeqsOfAnEmptyStore, ForgetsAllWhenThereAreTooManySessions) {
    session(1).seals.emplace(1, 0);
    for (std::uint64_t number = 1; number < limits::kGatewaySessionsMax; ++number) {
        (void)session(number);
    }
    known_.make_room();
    EXPECT_FALSE(session(1).seals.empty());
    (void)session(limits::kGatewaySessionsMax);
    known_.make_room();
    EXPECT_TRUE(session(1).seals.empty());
}

}  // namespace
}  // namespace perfleet::known_seqs_test
