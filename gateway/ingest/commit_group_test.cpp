#include "gateway/ingest/commit_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "gateway/admission/testing/sample_messages.h"
#include "gateway/ingest/seq_progress.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/wire/delivery_limits.h"
#include "storage/store/testing/store_over.h"

namespace perfleet::commit_group_test {
namespace {

using sample::ReplyType;

// A store over another one that fails at chosen calls.
class FailingStore final : public StoreOver {
public:
    enum class Step { kNone, kDefine, kPut, kWatermark, kEnd, kImage, kSync };

    using StoreOver::StoreOver;

    Step failing = Step::kNone;
    ErrorCode code = ErrorCode::kFull;
    int define_count = 0;

    Result<Done> define(const Partition& partition, const SessionRecord& session) override {
        ++define_count;
        return failing == Step::kDefine ? fault() : store().define(partition, session);
    }
    Result<std::vector<PutOutcome>> put(const Partition& partition, std::span<const AdmittedBatch> batches) override {
        if (failing == Step::kPut) {
            return fault().error();
        }
        return store().put(partition, batches);
    }
    Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) override {
        return failing == Step::kWatermark ? fault() : store().advance_watermarks(prefixes);
    }
    Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) override {
        return failing == Step::kEnd ? fault() : store().end_session(target, session, end);
    }
    Result<Done> put_image(std::string_view build_id, const ImageContent& content) override {
        return failing == Step::kImage ? fault() : store().put_image(build_id, content);
    }
    Result<Done> sync() override { return failing == Step::kSync ? fault() : store().sync(); }

private:
    [[nodiscard]] Result<Done> fault() const { return Error{code, "the disk is full"}; }
};

class StuckStore : public testing::TestWithParam<FailingStore::Step>, protected IngestFixture {
protected:
    StuckStore() { open(&failing_); }

    FailingStore failing_{*store_};
};

TEST_P(StuckStore, PromisesNothingAndGoesOnLater) {
    const sample::ImageOffer offer{"image", 1, 30};
    take("peer", sample::hello(sample_session(kTarget, kSession), Seq{1}, {offer}));
    replies();
    failing_.failing = GetParam();
    send_batch(1);
    take("peer", sample::image(kSession, offer, 0, sample::symbols(30)));
    take("peer", sample::bye(kSession, {Seq{1}, {}, {}, {}}));
    for (int round = 0; round < 20; ++round) {
        pass(intake_limits::kStoreRetryNsMax);
        send_batch(2);  // not taken: the collector keeps it
        for (const auto& reply : replies()) {
            EXPECT_EQ(reply.prefix, 0U);
            EXPECT_FALSE(reply.finished);
        }
    }
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kStoreStuck), 20U);
    EXPECT_EQ(ingest_->counts().group_commits, 0U);
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_[0].find("the disk is full"), std::string::npos) << logged_[0];

    failing_.failing = FailingStore::Step::kNone;
    pass(intake_limits::kStoreRetryNsMax);
    const auto said = replies();
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(said.front().prefix, 1U);
    EXPECT_TRUE(said.front().finished);
    EXPECT_EQ(said.back().type, ReplyType::kHelloAgain) << "for the batch that wasn't taken";
    EXPECT_EQ(logged_.size(), 2U);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{1}));
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
    EXPECT_EQ(ingest_->counts().batches_duplicate, 0U);
    EXPECT_EQ(ingest_->counts().rows_stored, 2U);
    EXPECT_TRUE(store_->image("image").value().has_value());
}

INSTANTIATE_TEST_SUITE_P(Ingest, StuckStore,
                         testing::Values(FailingStore::Step::kDefine, FailingStore::Step::kPut,
                                         FailingStore::Step::kWatermark, FailingStore::Step::kEnd,
                                         FailingStore::Step::kImage, FailingStore::Step::kSync));

class FailedStore : public testing::Test, protected IngestFixture {
protected:
    FailedStore() { open(&failing_); }

    FailingStore failing_{*store_};
};

TEST_F(FailedStore, ThatIsDamagedEndsTheGateway) {
    say_hello();
    failing_.failing = FailingStore::Step::kPut;
    failing_.code = ErrorCode::kCorrupt;
    send_batch(1);
    now_.monotonic_ns += limits::kGroupCommitNs;
    const auto done = ingest_->tick(now_);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kCorrupt);
}

// Unsynced data may be gone.
TEST_F(FailedStore, IsGivenTheSessionAgainAfterASyncThatFailed) {
    say_hello();
    send_batch(1);
    commit();
    EXPECT_EQ(failing_.define_count, 1);
    send_batch(2);
    commit();
    EXPECT_EQ(failing_.define_count, 1) << "known";
    failing_.failing = FailingStore::Step::kSync;
    send_batch(3);
    commit();
    EXPECT_EQ(failing_.define_count, 1);
    failing_.failing = FailingStore::Step::kNone;
    pass(intake_limits::kStoreRetryNsMax);
    EXPECT_EQ(failing_.define_count, 2);
    EXPECT_EQ(stored_seqs(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(FailedStore, AtTheEndIsSaid) {
    say_hello();
    replies();
    failing_.failing = FailingStore::Step::kSync;
    send_batch(1);
    const auto finished = ingest_->finish(now_);
    ASSERT_FALSE(finished.ok());
    EXPECT_NE(finished.error().message.find("1 batch could not be stored"), std::string::npos)
        << finished.error().message;
    EXPECT_TRUE(replies().empty());
}

TEST(SeqProgress, JoinsWhatFollows) {
    SeqProgress progress;
    progress.resolve(Seq{2}, 7);
    progress.resolve(Seq{4}, std::nullopt);
    EXPECT_EQ(progress.prefix(), Seq{0});
    EXPECT_TRUE(progress.is_resolved(Seq{2}));
    EXPECT_FALSE(progress.is_resolved(Seq{3}));
    EXPECT_EQ(progress.seal_of(Seq{2}), 7U);
    EXPECT_EQ(progress.seal_of(Seq{4}), std::nullopt);
    progress.resolve(Seq{1}, 9);
    EXPECT_EQ(progress.prefix(), Seq{2});
    progress.resolve_below(Seq{4});
    EXPECT_EQ(progress.prefix(), Seq{4});
    progress.resolve_below(Seq{2});
    EXPECT_EQ(progress.prefix(), Seq{4});
    progress.resolve_below(Seq{~0ULL});
    EXPECT_EQ(progress.prefix(), Seq{~0ULL - 1});
    EXPECT_FALSE(progress.is_beyond(Seq{~0ULL}));
}

TEST(SeqProgress, ReachesOnlySoFar) {
    const SeqProgress progress{Seq{10}};
    EXPECT_FALSE(progress.is_beyond(Seq{5}));
    EXPECT_FALSE(progress.is_beyond(Seq{10 + limits::kOutOfOrderSeqsMax}));
    EXPECT_TRUE(progress.is_beyond(Seq{11 + limits::kOutOfOrderSeqsMax}));
    EXPECT_FALSE(progress.is_beyond(Seq{11 + limits::kOutOfOrderSeqsMax}, Seq{12}));
    EXPECT_TRUE(progress.is_beyond(Seq{~0ULL}));
    EXPECT_FALSE(progress.is_beyond(Seq{~0ULL}, Seq{~0ULL}));
}

}  // namespace
}  // namespace perfleet::commit_group_test
