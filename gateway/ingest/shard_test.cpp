// A gateway that shares its store: shards that come, go and are lost.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "gateway/admission/intake_limits.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "storage/store/testing/store_over.h"

namespace perfleet {
namespace {

using sample::ReplyType;

// A memory store whose shards the test gives and takes.
class SharedStore final : public StoreOver, private ShardLeases {
public:
    explicit SharedStore(Store& store) : StoreOver{store} {}

    ShardLeases* leases() override { return this; }
    Result<std::vector<PutOutcome>> put(const Partition& partition, std::span<const AdmittedBatch> batches) override {
        if (!held.contains(partition.shard)) {
            return Error{ErrorCode::kUnavailable, "another gateway has taken the shard over"};
        }
        return StoreOver::put(partition, batches);
    }

    std::set<std::uint16_t> held;
    std::map<std::uint16_t, GatewayAddress> holders;
    News news;
    std::vector<std::uint16_t> given_up;

private:
    Result<Done> join(const GatewayAddress&) override { return Done{}; }
    News take_news() override { return std::exchange(news, News{}); }
    void give_up(std::uint16_t shard) override {
        held.erase(shard);
        given_up.push_back(shard);
    }
    bool is_held(std::uint16_t shard) const override { return held.contains(shard); }
    std::uint16_t held_count() const override { return static_cast<std::uint16_t>(held.size()); }
    std::optional<GatewayAddress> holder_of(std::uint16_t shard) const override {
        const auto found = holders.find(shard);
        return found != holders.end() ? std::optional{found->second} : std::nullopt;
    }
    std::vector<Message> take_requests() override { return {}; }
    void answer(Message) override {}
    std::uint64_t change_count() const override { return 0; }
    void publish_sizes(const ClassSizes&, std::uint64_t) override {}
    std::optional<ClassSizes> sizes_of_others() const override { return std::nullopt; }
};

class IngestShard : public testing::Test, protected IngestFixture {
protected:
    static constexpr std::uint16_t kShard = shard_of(kTarget, ShardCount{});
    static constexpr TargetId kNeighbour{kTarget.value + 1};
    static constexpr SessionId kNeighboursSession{21, 22};

    IngestShard() { open(&shared_); }

    void take_shard(std::uint16_t shard) {
        shared_.held.insert(shard);
        shared_.news.taken.push_back(shard);
        pass(kSecondNs);
    }
    void neighbour_sends(std::uint64_t seq) {
        take("neighbour", sample::batch(sample_batch(kNeighbour, kNeighboursSession, Seq{seq}).build()));
    }

    static constexpr std::uint64_t kSecondNs = 1'000'000'000;
    SharedStore shared_{*store_};
};

TEST_F(IngestShard, PeersAreSentToTheHolderOfTheirShard) {
    say_hello();
    EXPECT_TRUE(replies().empty()) << "nobody holds it now: the collector asks again";
    shared_.holders[kShard] = {"tcp://gateway-2:7411", "its key"};
    say_hello();
    const auto elsewhere = reply();
    EXPECT_EQ(elsewhere.type, ReplyType::kElsewhere);
    EXPECT_EQ(elsewhere.session, kSession);
    EXPECT_EQ(elsewhere.endpoint, "tcp://gateway-2:7411");
    EXPECT_EQ(elsewhere.public_key, "its key");
    EXPECT_EQ(ingest_->counts().peers_sent_elsewhere, 1U);
    send_batch(1);
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
    take_shard(kShard);
    EXPECT_EQ(ingest_->counts().shards_now, 1U);
    say_hello();
    EXPECT_EQ(reply().type, ReplyType::kWelcome);
}

TEST_F(IngestShard, SurplusIsGivenUpAfterWhatWasGatheredIsStored) {
    take_shard(kShard);
    say_hello();
    (void)replies();
    send_batch(1);
    shared_.news.surplus.push_back(kShard);
    pass(kSecondNs);
    EXPECT_EQ(shared_.given_up, std::vector<std::uint16_t>{kShard});
    EXPECT_EQ(stored_seqs(), std::vector<std::uint64_t>{1});
    const auto said = replies();
    ASSERT_EQ(said.size(), 2U);
    EXPECT_EQ(said[0].type, ReplyType::kAck);
    EXPECT_EQ(said[0].prefix, 1U);
    EXPECT_EQ(said[1].type, ReplyType::kHelloAgain);
    send_batch(2);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_EQ(stored_seqs(), std::vector<std::uint64_t>{1});
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
}

TEST_F(IngestShard, WhatWasGatheredForALostShardStaysWithItsCollectorAndOthersAreStored) {
    take_shard(kShard);
    take_shard(shard_of(kNeighbour, ShardCount{}));
    say_hello();
    take("neighbour", sample::hello(sample_session(kNeighbour, kNeighboursSession)));
    (void)replies();
    (void)replies("neighbour");
    send_batch(1);
    neighbour_sends(1);
    shared_.held.erase(kShard);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_TRUE(replies().empty()) << "nothing is acknowledged";
    EXPECT_TRUE(replies("neighbour").empty());
    shared_.news.lost.push_back(kShard);
    pass(kSecondNs);
    EXPECT_EQ(reply().type, ReplyType::kHelloAgain);
    pass(kSecondNs);
    bool is_acknowledged = false;
    for (const auto& said : replies("neighbour")) {
        is_acknowledged = is_acknowledged || (said.type == ReplyType::kAck && said.prefix == 1);
    }
    EXPECT_TRUE(is_acknowledged);
    EXPECT_TRUE(stored_seqs().empty());
    EXPECT_FALSE(ingest_->counts().is_store_stuck);
}

TEST_F(IngestShard, TheEndStoresWhatIsStillItsOwn) {
    take_shard(kShard);
    take_shard(shard_of(kNeighbour, ShardCount{}));
    say_hello();
    take("neighbour", sample::hello(sample_session(kNeighbour, kNeighboursSession)));
    send_batch(1);
    neighbour_sends(1);
    shared_.held.erase(kShard);
    shared_.news.lost.push_back(kShard);
    (void)replies("neighbour");
    EXPECT_TRUE(ingest_->finish(now_).ok());
    EXPECT_TRUE(stored_seqs().empty());
    ASSERT_FALSE(replies("neighbour").empty());
}

TEST_F(IngestShard, AStuckStoreGoesOnWhenNothingIsLeftToStore) {
    take_shard(kShard);
    say_hello();
    (void)replies();
    send_batch(1);
    shared_.held.erase(kShard);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_TRUE(ingest_->counts().is_store_stuck);
    ASSERT_FALSE(logged_.empty());
    EXPECT_NE(logged_.back().find("has taken the shard over; 1 batch waits in memory, collectors keep theirs; the "),
              std::string::npos)
        << logged_.back() << ": there is nothing to repair";
    shared_.news.lost.push_back(kShard);
    pass(kSecondNs);
    EXPECT_FALSE(ingest_->counts().is_store_stuck);
}

TEST_F(IngestShard, WatermarksFollowAcknowledgementsAndNobodyNeedsThem) {
    const auto watermark = [&] { return store_->watermark(kTarget, kSession)->value; };
    take_shard(kShard);
    pass(intake_limits::kLateWatermarkNs);
    say_hello();
    send_batch(1);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_EQ(watermark(), 1U);
    (void)replies();
    for (const std::uint64_t seq : {2, 3}) {
        send_batch(seq);
        pass(intake_limits::kSharedGroupCommitNs);
        EXPECT_EQ(replies().front().prefix, seq);
        EXPECT_EQ(watermark(), 1U);
    }
    // Killed there: the next gateway sees from the batches which were acknowledged, and stores none again.
    open(&shared_);
    say_hello();
    EXPECT_EQ(reply().prefix, 3U);
    send_batch(3);
    send_batch(4);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(watermark(), 4U);
    send_batch(5);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_EQ(watermark(), 4U);
    pass(intake_limits::kLateWatermarkNs);
    EXPECT_EQ(watermark(), 5U) << "also when nothing more comes";
    send_batch(6);
    pass(intake_limits::kSharedGroupCommitNs);
    EXPECT_EQ(watermark(), 5U);
    pass(intake_limits::kLateWatermarkNs - intake_limits::kSharedGroupCommitNs - kSecondNs / 10);
    send_batch(7);
    pass(kSecondNs / 5);
    EXPECT_EQ(watermark(), 5U);
    EXPECT_GT(ingest_->next_due_ns(now_), 0U) << "they wait for the group that is gathered";
    shared_.news.surplus.push_back(kShard);
    pass(kSecondNs);
    EXPECT_EQ(shared_.given_up, std::vector<std::uint16_t>{kShard});
    EXPECT_EQ(watermark(), 7U);
}

TEST_F(IngestShard, TheEndWritesWatermarks) {
    take_shard(kShard);
    say_hello();
    for (const std::uint64_t seq : {1, 2}) {
        send_batch(seq);
        pass(intake_limits::kSharedGroupCommitNs);
    }
    EXPECT_TRUE(ingest_->finish(now_).ok());
    EXPECT_EQ(store_->watermark(kTarget, kSession)->value, 2U);
}

TEST_F(IngestShard, ASessionThatComesBackIsKnownFromTheStore) {
    take_shard(kShard);
    say_hello();
    send_batch(1);
    pass(intake_limits::kSharedGroupCommitNs);
    shared_.news.surplus.push_back(kShard);
    pass(kSecondNs);
    (void)replies();
    // Meanwhile another gateway continues.
    ASSERT_TRUE(
        store_->put(partition_of(kTarget, kSampleBucket), std::vector{sample_batch(kTarget, kSession, Seq{2}).build()})
            .ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{2}).ok());
    take_shard(kShard);
    say_hello();
    const auto welcome = reply();
    EXPECT_EQ(welcome.type, ReplyType::kWelcome);
    EXPECT_EQ(welcome.prefix, 2U);
}

}  // namespace
}  // namespace perfleet
