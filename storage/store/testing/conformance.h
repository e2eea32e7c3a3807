// Requirements of every engine: the fixture of the conformance suite, which runs once for each engine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "storage/block/block.h"
#include "storage/store/store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/stores.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::conformance {

inline constexpr TargetId kTarget{17};
inline constexpr SessionId kSession{0xabc, 0xdef};
inline constexpr BucketNumber kBucket{480'000};
inline constexpr Series kSamples{Kind::kSample, EventNumber{0}};

inline Partition partition_in(BucketNumber bucket) { return partition_of(kTarget, bucket); }

inline AdmittedBatch sample_batch(Seq seq, std::vector<std::uint64_t> times, BucketNumber bucket = kBucket,
                                  SessionId session = kSession, TargetId target = kTarget) {
    SampleBatch batch{target, session, seq, EpochNumber{bucket.value - kBucket.value}, bucket};
    batch.add(kSamples, {{ColumnId::kTime, std::move(times)}});
    batch.entry(kSamples, CountName::kProduced, 10 * seq.value);
    return batch.build();
}

class StoreConformance : public testing::TestWithParam<TestEngine> {
protected:
    void SetUp() override {
        store_ = stores_.open();
        ASSERT_NE(store_, nullptr);
    }

    // Through disk, where there is one.
    void reopen() { store_ = stores_.reopen(std::move(store_)); }

    void define(BucketNumber bucket = kBucket, SessionId session = kSession, TargetId target = kTarget) {
        ASSERT_TRUE(store_->define(partition_of(target, bucket), sample_session(target, session)).ok());
    }

    std::vector<PutOutcome> put(const std::vector<AdmittedBatch>& batches, BucketNumber bucket = kBucket) {
        auto outcomes = store_->put(partition_in(bucket), batches);
        EXPECT_TRUE(outcomes.ok()) << outcomes.error().message;
        return outcomes.ok() ? *outcomes : std::vector<PutOutcome>{};
    }

    std::vector<std::uint64_t> seqs(BucketNumber bucket = kBucket, SessionId session = kSession) {
        std::vector<std::uint64_t> found;
        EXPECT_TRUE(store_
                        ->visit_batches(partition_in(bucket), kTarget, session,
                                        [&](const BatchRecord& record) {
                                            EXPECT_EQ(record.bucket, bucket);
                                            found.push_back(record.seq.value);
                                            return Visit::kContinue;
                                        })
                        .ok());
        return found;
    }

    std::vector<std::uint64_t> block_seqs(BucketNumber bucket = kBucket, SessionId session = kSession,
                                          Series series = kSamples) {
        std::vector<std::uint64_t> found;
        EXPECT_TRUE(visit_blocks(*store_, partition_in(bucket), kTarget, session, series,
                                 [&](const BlockKey& key, std::string_view block) {
                                     auto view = parse_block_untrusted(block);
                                     EXPECT_TRUE(view.ok());
                                     EXPECT_EQ(view->header.first_seq, key.first_seq);
                                     found.push_back(key.first_seq.value);
                                     return Visit::kContinue;
                                 })
                        .ok());
        return found;
    }

    TestStores stores_{GetParam()};
    std::unique_ptr<Store> store_;
};

using Seqs = std::vector<std::uint64_t>;
using Outcomes = std::vector<PutOutcome>;

}  // namespace perfleet::conformance
