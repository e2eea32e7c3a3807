#include "gateway/ingest/partition_choice.h"

#include <gtest/gtest.h>

#include "gateway/ingest/testing/ingest_fixture.h"

namespace perfleet::partition_choice_test {
namespace {

class PartitionChoice : public testing::Test, protected IngestFixture {
protected:
    // A gateway with rules that take all sessions into this class.
    void start(std::uint8_t retention_class) {
        Ingest::Options options;
        options.retention_class_of = [this, retention_class](const SessionRecord& session) {
            EXPECT_EQ(session.session, kSession);
            ++asked_count_;
            return retention_class;
        };
        open(nullptr, std::move(options));
        say_hello();
    }

    void deliver(std::uint64_t seq, BucketNumber bucket = kSampleBucket) {
        take("peer", sample::batch(sample_batch(kTarget, kSession, Seq{seq}, 2, bucket).build()));
        commit();
    }

    // "bucket/class" of all that is stored, buckets from the sample bucket on.
    std::string stored() {
        std::string text;
        const auto partitions = store_->partitions();
        EXPECT_TRUE(partitions.ok());
        for (const Partition& partition : *partitions) {
            EXPECT_EQ(partition.shard, partition_of(kTarget, partition.bucket).shard);
            EXPECT_EQ(store_->sessions(partition)->size(), 1U);
            text += (text.empty() ? "" : " ") + std::to_string(partition.bucket.value - kSampleBucket.value) + "/" +
                    std::to_string(partition.retention_class);
        }
        return text;
    }

    static constexpr BucketNumber kNext{kSampleBucket.value + 1};
    int asked_count_ = 0;
};

TEST_F(PartitionChoice, FollowsTheRules) {
    start(5);
    deliver(1);
    deliver(2);
    deliver(3);
    EXPECT_EQ(stored(), "0/5");
    EXPECT_EQ(asked_count_, 1) << "for a bucket";
    deliver(4, kNext);
    EXPECT_EQ(stored(), "0/5 1/5");
}

TEST_F(PartitionChoice, StaysInABucketThatHasBegunWhateverTheRulesSayLater) {
    start(5);
    deliver(1);
    start(6);
    deliver(2);
    deliver(3, kNext);
    EXPECT_EQ(stored(), "0/5 1/6");
    start(0);
    deliver(4);
    deliver(5, kNext);
    EXPECT_EQ(stored(), "0/5 1/6");
    EXPECT_EQ(store_->watermark(kTarget, kSession).value(), Seq{5});
}

TEST_F(PartitionChoice, OfADroppedBucketStaysToo) {
    start(5);
    deliver(1);
    ASSERT_TRUE(store_->drop(partition_of(kTarget, kSampleBucket, 5)).ok());
    start(6);
    deliver(2);
    EXPECT_EQ(stored(), "");
    EXPECT_EQ(ingest_->counts().batches_expired, 1U);
    EXPECT_EQ(store_->expired(kTarget, kSession)->at(0).second, 4U);
}

TEST_F(PartitionChoice, HoldsForSessionsThatOnlyEnd) {
    start(5);
    replies();
    take("peer", sample::bye(kSession, {}));
    commit();
    EXPECT_EQ(stored(), "0/5");
}

TEST_F(PartitionChoice, WithoutRulesIsTheDefaultClass) {
    open();
    say_hello();
    deliver(1);
    EXPECT_EQ(stored(), "0/0");
}

}  // namespace
}  // namespace perfleet::partition_choice_test
