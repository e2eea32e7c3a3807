#include "gateway/compaction/store_compaction.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/store_over.h"

namespace perfleet::store_compaction_test {
namespace {

constexpr TargetId kTarget{17};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};  // long over
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};

AdmittedBatch batch_of(Seq seq, std::size_t row_count) {
    SampleBatch batch{kTarget, kSession, seq, EpochNumber{0}, kBucket};
    batch.add(kSeries, {{ColumnId::kTime, std::vector<std::uint64_t>(row_count, seq.value)}});
    return batch.build();
}

void put_batches(Store& store, std::uint64_t count, std::size_t row_count) {
    const Partition partition = partition_of(kTarget, kBucket);
    ASSERT_TRUE(store.define(partition, sample_session(kTarget, kSession)).ok());
    for (std::uint64_t seq = 1; seq <= count; ++seq) {
        const std::vector batches{batch_of(Seq{seq}, row_count)};
        ASSERT_TRUE(store.put(partition, batches).ok());
    }
    ASSERT_TRUE(store.advance_watermark(kTarget, kSession, Seq{count}).ok());
}

TEST(StoreCompaction, CompactsWhatIsThereAndCountsIt) {
    const auto store = make_memory_store();
    put_batches(*store, 20, 10);
    const auto compaction = StoreCompaction::start(*store, {}, 1'000'000);
    CompactionCounts counts = compaction->counts();
    while (counts.batches == 0 || counts.partitions_waiting_now != 0) {
        std::this_thread::sleep_for(std::chrono::microseconds{50});
        counts = compaction->counts();
    }
    EXPECT_EQ(counts.blocks_in, 20U);
    EXPECT_EQ(counts.blocks_out, 1U);
    EXPECT_EQ(counts.batches, 20U);
    EXPECT_LT(counts.size_bytes_out, counts.size_bytes_in);
    EXPECT_EQ(counts.failures, 0U);
}

// Its compact() fails, then never ends by itself.
class StubbornStore final : public StoreOver {
public:
    using StoreOver::StoreOver;

    Result<Done> compact(UtcNs, const std::function<Visit(const CompactionStep&)>& on_step) override {
        if (++call_count_ <= 3) {
            return Error{ErrorCode::kIo, "the disk says no"};
        }
        while (on_step({}) == Visit::kContinue) {
            is_at_work_ = true;
        }
        return Done{};
    }
    [[nodiscard]] bool is_at_work() const { return is_at_work_; }

private:
    int call_count_ = 0;
    std::atomic<bool> is_at_work_ = false;
};

TEST(StoreCompaction, TellsFailuresOnceTriesAgainAndStopsBetweenSteps) {
    const auto memory = make_memory_store();
    StubbornStore store{*memory};
    std::atomic<int> logged_count{0};
    auto compaction = StoreCompaction::start(
        store, [&](const LogEvent&) { ++logged_count; }, 1'000);
    while (!store.is_at_work()) {
        std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    EXPECT_EQ(compaction->counts().failures, 3U);
    compaction.reset();  // it would never end by itself
    EXPECT_EQ(logged_count, 1);
}

}  // namespace
}  // namespace perfleet::store_compaction_test
