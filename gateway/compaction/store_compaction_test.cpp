#include "gateway/compaction/store_compaction.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "storage/store/testing/sample_batches.h"

namespace perfleet {
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

// Forwards nothing but compact(), which fails, then never ends by itself.
class StubbornStore : public Store {
public:
    explicit StubbornStore(Store& store) : store_{store} {}

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

    Result<Done> refresh() override { return store_.refresh(); }
    Result<std::vector<Partition>> partitions() const override { return store_.partitions(); }
    Result<std::vector<SessionRecord>> sessions(const Partition& partition) const override {
        return store_.sessions(partition);
    }
    Result<std::vector<SessionRecord>> all_sessions() const override { return store_.all_sessions(); }
    Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const override {
        return store_.session_end(target, session);
    }
    Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                               const std::function<Visit(const BatchRecord&)>& visitor) const override {
        return store_.visit_batches(partition, target, session, visitor);
    }
    Result<Done> visit_blocks(const Partition& partition, TargetId target, SessionId session, Series series,
                              const std::function<Visit(const BlockKey&, std::string_view)>& visitor) const override {
        return store_.visit_blocks(partition, target, session, series, visitor);
    }
    Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target, SessionId session) const override {
        return store_.expired(target, session);
    }
    Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target, SessionId session) const override {
        return store_.last_expired_bucket(target, session);
    }
    Result<Seq> watermark(TargetId target, SessionId session) const override {
        return store_.watermark(target, session);
    }
    Result<std::optional<ImageContent>> image(std::string_view build_id) const override {
        return store_.image(build_id);
    }
    Result<Done> define(const Partition& partition, const SessionRecord& session) override {
        return store_.define(partition, session);
    }
    Result<std::vector<PutOutcome>> put(const Partition& partition, std::span<const AdmittedBatch> batches) override {
        return store_.put(partition, batches);
    }
    Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                        BucketNumber bucket) const override {
        return store_.retention_class(target, session, bucket);
    }
    Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) override {
        return store_.advance_watermarks(prefixes);
    }
    Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) override {
        return store_.end_session(target, session, end);
    }
    Result<Done> put_image(std::string_view build_id, const ImageContent& content) override {
        return store_.put_image(build_id, content);
    }
    Result<std::uint64_t> drop(std::span<const Partition> partitions, std::atomic<bool>* is_stopping) override {
        return store_.drop(partitions, is_stopping);
    }
    Result<std::uint64_t> size_bytes(std::span<const Partition> partitions) const override {
        return store_.size_bytes(partitions);
    }
    Result<Done> sync() override { return store_.sync(); }

private:
    Store& store_;
    int call_count_ = 0;
    std::atomic<bool> is_at_work_ = false;
};

TEST(StoreCompaction, TellsFailuresOnceTriesAgainAndStopsBetweenSteps) {
    const auto memory = make_memory_store();
    StubbornStore store{*memory};
    std::atomic<int> told{0};
    auto compaction = StoreCompaction::start(
        store, [&](const LogEvent&) { ++told; }, 1'000);
    while (!store.is_at_work()) {
        std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    EXPECT_EQ(compaction->counts().failures, 3U);
    compaction.reset();  // it would never end by itself
    EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace perfleet
