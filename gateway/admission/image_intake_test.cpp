#include "gateway/admission/image_intake.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/admission/testing/sample_messages.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet::image_intake_test {
namespace {

using sample::ReplyType;

std::string content(std::size_t size_bytes) { return sample::symbols(size_bytes); }

class ImageIntakeTest : public testing::Test, protected IngestFixture {
protected:
    void say_hello_with(const std::vector<sample::ImageOffer>& offers, std::string_view routing_id = "peer",
                        SessionId session = kSession) {
        take(routing_id, sample::hello(sample_session(TargetId{session.low}, session), Seq{1}, offers));
    }

    // The offset that was asked for; nothing when nothing was.
    std::optional<sample::Reply> question(std::string_view routing_id = "peer") {
        for (sample::Reply& reply : replies(routing_id)) {
            if (reply.type == ReplyType::kNeedImage) {
                return std::move(reply);
            }
        }
        return std::nullopt;
    }

    void answer(const sample::ImageOffer& offer, const std::string& bytes, std::uint64_t offset,
                std::string_view routing_id = "peer", SessionId session = kSession) {
        take(routing_id, sample::image(session, offer, offset,
                                       std::string_view{bytes}.substr(offset, limits::kImageChunkSizeBytes)));
    }
};

TEST_F(ImageIntakeTest, AsksChunkByChunkAndStoresTheWhole) {
    const std::string bytes = content(2 * limits::kImageChunkSizeBytes + 100);
    const sample::ImageOffer offer{"kernel", 1, bytes.size()};
    say_hello_with({offer});
    std::size_t question_count = 0;
    while (const auto asked = question()) {
        EXPECT_EQ(asked->build_id, "kernel");
        EXPECT_EQ(asked->offset, question_count * limits::kImageChunkSizeBytes);
        ++question_count;
        answer(offer, bytes, asked->offset);
    }
    EXPECT_EQ(question_count, 3U);
    EXPECT_FALSE(store_->image("kernel").value().has_value());
    commit();
    const auto stored = store_->image("kernel");
    ASSERT_TRUE(stored->has_value());
    EXPECT_EQ((*stored)->bytes, bytes);
    EXPECT_EQ((*stored)->type, 1);
    EXPECT_EQ(ingest_->counts().images_stored, 1U);
}

TEST_F(ImageIntakeTest, AsksOnePeerForOneImageAtATime) {
    const sample::ImageOffer one{"one", 1, 30};
    const sample::ImageOffer two{"two", 1, 20};
    say_hello_with({one, two});
    EXPECT_EQ(question()->build_id, "one");
    say_hello_with({one}, "other", SessionId{7, 7});
    EXPECT_FALSE(question("other").has_value());
    answer(one, content(30), 0);
    EXPECT_EQ(question()->build_id, "two");
    commit();
    // It is stored now: nobody is asked for it, not even by a gateway that was started since.
    pass(limits::kAckIntervalNs);
    EXPECT_FALSE(question("other").has_value());
    open();
    say_hello_with({one, two});
    EXPECT_EQ(question()->build_id, "two");
}

TEST_F(ImageIntakeTest, AnotherPeerTakesOverWhenTheFirstIsGone) {
    const sample::ImageOffer offer{"one", 1, 30};
    say_hello_with({offer});
    say_hello_with({offer}, "other", SessionId{7, 7});
    ingest_->forget_peer("peer");
    pass(limits::kAckIntervalNs);
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(question("other")->build_id, "one");
}

TEST_F(ImageIntakeTest, AsksAgainAndGivesUp) {
    const sample::ImageOffer silent{"silent", 1, 10};
    const sample::ImageOffer next{"next", 1, 10};
    say_hello_with({silent, next});
    std::uint32_t ask_count = 0;
    std::optional<sample::Reply> asked = question();
    while (asked.has_value() && asked->build_id == "silent") {
        ++ask_count;
        pass(intake_limits::kImageAskAgainNs);
        asked = question();
    }
    EXPECT_EQ(ask_count, intake_limits::kImageAsksMax);
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->build_id, "next");
}

TEST_F(ImageIntakeTest, IgnoresWhatWasNotAskedFor) {
    const std::string bytes = content(300);
    const sample::ImageOffer offer{"one", 1, bytes.size()};
    say_hello_with({offer});
    EXPECT_EQ(question()->offset, 0U);
    answer({"other", 1, 300}, bytes, 0);
    answer({"one", 2, 300}, bytes, 0);
    answer({"one", 1, 299}, bytes, 0);
    answer(offer, bytes, 1);
    take("peer", sample::image(kSession, offer, 0, content(301)));
    take("peer", sample::image(kSession, offer, 0, ""));
    EXPECT_FALSE(question().has_value());
    answer(offer, bytes, 0);
    commit();
    EXPECT_EQ(store_->image("one").value()->bytes, bytes);
}

TEST_F(ImageIntakeTest, SaysWhenItNeedsNothingMoreOfLaterOffers) {
    const sample::ImageOffer one{"one", 1, 30};
    const sample::ImageOffer two{"two", 1, 20};
    say_hello_with({one});
    EXPECT_EQ(question()->build_id, "one");
    take("peer", sample::image_offers(kSession, {one, two}));
    EXPECT_FALSE(question().has_value()) << "the first is on its way";
    answer(one, content(30), 0);
    EXPECT_EQ(question()->build_id, "two");
    answer(two, content(20), 0);
    const auto end = question();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->build_id, "");
    commit();
    EXPECT_EQ(store_->image("two").value()->type, 1);
    // What it has it doesn't ask for.
    take("peer", sample::image_offers(kSession, {one, two}));
    EXPECT_EQ(question()->build_id, "");
    EXPECT_FALSE(question().has_value());
    pass(limits::kAckIntervalNs);
    EXPECT_FALSE(question().has_value());
}

TEST_F(ImageIntakeTest, LeavesOffersPastTheLimitsOut) {
    say_hello_with({{"", 1, 10},
                    {std::string(limits::kBuildIdSizeBytesMax + 1, 'x'), 1, 10},
                    {"large", 1, limits::kImageSizeBytesMax + 1}});
    EXPECT_FALSE(question().has_value());
}

TEST_F(ImageIntakeTest, HoldsNoMoreThanItsBoundOverAllPeers) {
    const std::uint64_t half = MemoryPlan{}.images_bytes() / 2;
    say_hello_with({{"one", 1, half}}, "1", SessionId{7, 1});
    say_hello_with({{"two", 1, half}}, "2", SessionId{7, 2});
    say_hello_with({{"three", 1, 1}}, "3", SessionId{7, 3});
    EXPECT_TRUE(question("1").has_value());
    EXPECT_TRUE(question("2").has_value());
    EXPECT_FALSE(question("3").has_value());
    ingest_->forget_peer("1");
    pass(limits::kAckIntervalNs);
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(question("3")->build_id, "three");
}

TEST_F(ImageIntakeTest, LearnsTheSizeWithTheFirstChunkOrThatThereIsNothing) {
    const std::string bytes = content(limits::kImageChunkSizeBytes + 50);
    say_hello_with({{"none", 1, 0}, {"one", 1, 0}});
    EXPECT_EQ(question()->build_id, "none");
    take("peer", sample::image(kSession, {"none", 1, 0}, 0, ""));
    EXPECT_EQ(question()->build_id, "one");
    answer({"one", 1, bytes.size()}, bytes, 0);
    EXPECT_EQ(question()->offset, limits::kImageChunkSizeBytes);
    answer({"one", 1, bytes.size()}, bytes, limits::kImageChunkSizeBytes);
    commit();
    EXPECT_EQ(store_->image("one").value()->bytes, bytes);
    EXPECT_FALSE(store_->image("none").value().has_value());
}

TEST_F(ImageIntakeTest, GoesOnWhereASessionStoppedThatComesBack) {
    const std::string bytes = content(3 * limits::kImageChunkSizeBytes);
    const sample::ImageOffer offer{"one", 1, bytes.size()};
    say_hello_with({{"one", 1, 0}});
    EXPECT_EQ(question()->offset, 0U);
    answer(offer, bytes, 0);
    EXPECT_EQ(question()->offset, limits::kImageChunkSizeBytes);
    ingest_->forget_peer("peer");
    // Another session begins at the front: its bytes may be others.
    say_hello_with({{"one", 1, 0}}, "other", SessionId{7, 7});
    EXPECT_EQ(question("other")->offset, 0U);
    ingest_->forget_peer("other");
    say_hello_with({{"one", 1, 0}}, "again");
    EXPECT_EQ(question("again")->offset, limits::kImageChunkSizeBytes);
    answer(offer, bytes, limits::kImageChunkSizeBytes, "again");
    answer(offer, bytes, 2 * limits::kImageChunkSizeBytes, "again");
    commit();
    EXPECT_EQ(store_->image("one").value()->bytes, bytes);
}

TEST_F(ImageIntakeTest, AsksForAnotherWhileSomebodyElseSendsTheFirst) {
    say_hello_with({{"one", 1, 30}});
    EXPECT_EQ(question()->build_id, "one");
    say_hello_with({{"one", 1, 30}, {"two", 1, 20}}, "other", SessionId{7, 7});
    EXPECT_EQ(question("other")->build_id, "two");
}

TEST_F(ImageIntakeTest, RefusesAndCountsWhatIsNotOfTheBuild) {
    const std::string bomb = content(40) + "more";
    say_hello_with({{"bad", 1, bomb.size()}, {"huge", 1, 0}, {"one", 1, 30}});
    EXPECT_EQ(question()->build_id, "bad");
    answer({"bad", 1, bomb.size()}, bomb, 0);
    EXPECT_EQ(ingest_->counts().images_refused.of(ImageRefusal::kDamaged), 1U);
    EXPECT_EQ(question()->build_id, "huge");
    answer({"huge", 1, limits::kImageSizeBytesMax + 1}, content(100), 0);
    EXPECT_EQ(ingest_->counts().images_refused.of(ImageRefusal::kTooLarge), 1U);
    EXPECT_EQ(question()->build_id, "one") << "the rest goes on";
    answer({"one", 1, 30}, content(30), 0);
    commit();
    EXPECT_FALSE(store_->image("bad").value().has_value());
    EXPECT_TRUE(store_->image("one").value().has_value());
}

}  // namespace
}  // namespace perfleet::image_intake_test
