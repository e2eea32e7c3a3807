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
    std::optional<sample::Reply> request(std::string_view routing_id = "peer") {
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
    std::size_t request_count = 0;
    while (const auto asked = request()) {
        EXPECT_EQ(asked->build_id, "kernel");
        EXPECT_EQ(asked->offset, request_count * limits::kImageChunkSizeBytes);
        ++request_count;
        answer(offer, bytes, asked->offset);
    }
    EXPECT_EQ(request_count, 3U);
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
    EXPECT_EQ(request()->build_id, "one");
    say_hello_with({one}, "other", SessionId{7, 7});
    EXPECT_FALSE(request("other").has_value());
    answer(one, content(30), 0);
    EXPECT_EQ(request()->build_id, "two");
    commit();
    // It is stored now: no peer is asked for it, not even by a gateway that was started since.
    pass(limits::kAckIntervalNs);
    EXPECT_FALSE(request("other").has_value());
    open();
    say_hello_with({one, two});
    EXPECT_EQ(request()->build_id, "two");
}

TEST_F(ImageIntakeTest, AnotherPeerTakesOverWhenTheFirstIsGone) {
    const sample::ImageOffer offer{"one", 1, 30};
    say_hello_with({offer});
    say_hello_with({offer}, "other", SessionId{7, 7});
    ingest_->forget_peer("peer");
    pass(limits::kAckIntervalNs);
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(request("other")->build_id, "one");
}

TEST_F(ImageIntakeTest, AsksAgainAndGivesUp) {
    const sample::ImageOffer silent{"silent", 1, 10};
    const sample::ImageOffer next{"next", 1, 10};
    say_hello_with({silent, next});
    std::uint32_t ask_count = 0;
    std::optional<sample::Reply> asked = request();
    while (asked.has_value() && asked->build_id == "silent") {
        ++ask_count;
        pass(intake_limits::kImageAskAgainNs);
        asked = request();
    }
    EXPECT_EQ(ask_count, intake_limits::kImageAsksMax);
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->build_id, "next");
}

TEST_F(ImageIntakeTest, IgnoresWhatWasNotAskedFor) {
    const std::string bytes = content(300);
    const sample::ImageOffer offer{"one", 1, bytes.size()};
    say_hello_with({offer});
    EXPECT_EQ(request()->offset, 0U);
    answer({"other", 1, 300}, bytes, 0);
    answer({"one", 2, 300}, bytes, 0);
    answer({"one", 1, 299}, bytes, 0);
    answer(offer, bytes, 1);
    take("peer", sample::image(kSession, offer, 0, content(301)));
    take("peer", sample::image(kSession, offer, 0, ""));
    EXPECT_FALSE(request().has_value());
    answer(offer, bytes, 0);
    commit();
    EXPECT_EQ(store_->image("one").value()->bytes, bytes);
}

TEST_F(ImageIntakeTest, SaysWhenItNeedsNothingMoreOfLaterOffers) {
    const sample::ImageOffer one{"one", 1, 30};
    const sample::ImageOffer two{"two", 1, 20};
    say_hello_with({one});
    EXPECT_EQ(request()->build_id, "one");
    take("peer", sample::image_offers(kSession, {one, two}));
    EXPECT_FALSE(request().has_value()) << "the first is on its way";
    answer(one, content(30), 0);
    EXPECT_EQ(request()->build_id, "two");
    answer(two, content(20), 0);
    const auto end = request();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->build_id, "");
    commit();
    EXPECT_EQ(store_->image("two").value()->type, 1);
    // It doesn't request images that it has.
    take("peer", sample::image_offers(kSession, {one, two}));
    EXPECT_EQ(request()->build_id, "");
    EXPECT_FALSE(request().has_value());
    pass(limits::kAckIntervalNs);
    EXPECT_FALSE(request().has_value());
}

TEST_F(ImageIntakeTest, LeavesOffersPastTheLimitsOut) {
    say_hello_with({{"", 1, 10},
                    {std::string(limits::kBuildIdSizeBytesMax + 1, 'x'), 1, 10},
                    {"large", 1, limits::kImageSizeBytesMax + 1}});
    EXPECT_FALSE(request().has_value());
}

TEST_F(ImageIntakeTest, HoldsNoMoreThanItsBoundOverAllPeers) {
    const std::uint64_t half = MemoryPlan{}.images_bytes() / 2;
    say_hello_with({{"one", 1, half}}, "1", SessionId{7, 1});
    say_hello_with({{"two", 1, half}}, "2", SessionId{7, 2});
    say_hello_with({{"three", 1, 1}}, "3", SessionId{7, 3});
    EXPECT_TRUE(request("1").has_value());
    EXPECT_TRUE(request("2").has_value());
    EXPECT_FALSE(request("3").has_value());
    ingest_->forget_peer("1");
    pass(limits::kAckIntervalNs);
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(request("3")->build_id, "three");
}

TEST_F(ImageIntakeTest, LearnsTheSizeWithTheFirstChunkOrThatThereIsNothing) {
    const std::string bytes = content(limits::kImageChunkSizeBytes + 50);
    say_hello_with({{"none", 1, 0}, {"one", 1, 0}});
    EXPECT_EQ(request()->build_id, "none");
    take("peer", sample::image(kSession, {"none", 1, 0}, 0, ""));
    EXPECT_EQ(request()->build_id, "one");
    answer({"one", 1, bytes.size()}, bytes, 0);
    EXPECT_EQ(request()->offset, limits::kImageChunkSizeBytes);
    answer({"one", 1, bytes.size()}, bytes, limits::kImageChunkSizeBytes);
    commit();
    EXPECT_EQ(store_->image("one").value()->bytes, bytes);
    EXPECT_FALSE(store_->image("none").value().has_value());
}

TEST_F(ImageIntakeTest, GoesOnWhereASessionStoppedThatComesBack) {
    const std::string bytes = content(3 * limits::kImageChunkSizeBytes);
    const sample::ImageOffer offer{"one", 1, bytes.size()};
    say_hello_with({{"one", 1, 0}});
    EXPECT_EQ(request()->offset, 0U);
    answer(offer, bytes, 0);
    EXPECT_EQ(request()->offset, limits::kImageChunkSizeBytes);
    ingest_->forget_peer("peer");
    // Another session begins at the front: its bytes may be others.
    say_hello_with({{"one", 1, 0}}, "other", SessionId{7, 7});
    EXPECT_EQ(request("other")->offset, 0U);
    ingest_->forget_peer("other");
    say_hello_with({{"one", 1, 0}}, "again");
    EXPECT_EQ(request("again")->offset, limits::kImageChunkSizeBytes);
    answer(offer, bytes, limits::kImageChunkSizeBytes, "again");
    answer(offer, bytes, 2 * limits::kImageChunkSizeBytes, "again");
    commit();
    EXPECT_EQ(store_->image("one").value()->bytes, bytes);
}

TEST_F(ImageIntakeTest, AsksForAnotherWhileSomebodyElseSendsTheFirst) {
    say_hello_with({{"one", 1, 30}});
    EXPECT_EQ(request()->build_id, "one");
    say_hello_with({{"one", 1, 30}, {"two", 1, 20}}, "other", SessionId{7, 7});
    EXPECT_EQ(request("other")->build_id, "two");
}

TEST_F(ImageIntakeTest, RefusesAndCountsWhatIsNotOfTheBuild) {
    const std::string bomb = content(40) + "more";
    say_hello_with({{"bad", 1, bomb.size()}, {"huge", 1, 0}, {"one", 1, 30}});
    EXPECT_EQ(request()->build_id, "bad");
    answer({"bad", 1, bomb.size()}, bomb, 0);
    EXPECT_EQ(ingest_->counts().images_refused.of(ImageRefusal::kDamaged), 1U);
    EXPECT_EQ(request()->build_id, "huge");
    answer({"huge", 1, limits::kImageSizeBytesMax + 1}, content(100), 0);
    EXPECT_EQ(ingest_->counts().images_refused.of(ImageRefusal::kTooLarge), 1U);
    EXPECT_EQ(request()->build_id, "one") << "the rest goes on";
    answer({"one", 1, 30}, content(30), 0);
    commit();
    EXPECT_FALSE(store_->image("bad").value().has_value());
    EXPECT_TRUE(store_->image("one").value().has_value());
}

// A gateway whose images are checked elsewhere, when the test chooses.
class ImageChecksTest : public ImageIntakeTest {
protected:
    ImageChecksTest() {
        Ingest::Options options;
        options.memory.size_bytes = MemoryPlan::kSizeBytesMin;
        options.check_image = [this](ReceivedImage image) { waiting_.push_back(std::move(image)); };
        open(nullptr, std::move(options));
    }

    // The first that waits is checked now; `cost` in place of what it took.
    void check(std::optional<ImageCost> cost = std::nullopt) {
        CheckedImage done = checked(std::move(waiting_.at(0)));
        waiting_.erase(waiting_.begin());
        done.cost = cost.value_or(done.cost);
        ingest_->image_checked(std::move(done), now_);
    }

    // The peer sends what is requested, until nothing more is requested.
    void answer_all(std::string_view routing_id, SessionId session, const std::string& bytes) {
        while (const auto asked = request(routing_id)) {
            ASSERT_NE(asked->build_id, "");
            answer({asked->build_id, 1, bytes.size()}, bytes, asked->offset, routing_id, session);
        }
    }

    static std::vector<sample::ImageOffer> offers(std::size_t count, std::size_t size_bytes) {
        std::vector<sample::ImageOffer> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back({"image" + std::to_string(i), 1, size_bytes});
        }
        return all;
    }

    std::vector<ReceivedImage> waiting_;
};

TEST_F(ImageChecksTest, BatchesAreAcknowledgedWhileAnImageIsChecked) {
    say_hello_with({{"one", 1, 30}}, "other", SessionId{7, 7});
    answer_all("other", SessionId{7, 7}, content(30));
    ASSERT_EQ(waiting_.size(), 1U);
    say_hello();
    send_batch(1);
    commit();
    EXPECT_EQ(replies().back().prefix, 1U);
    EXPECT_EQ(ingest_->counts().image_checks_now, 1U);
    EXPECT_FALSE(store_->image("one").value().has_value());
    check();
    commit();
    EXPECT_TRUE(store_->image("one").value().has_value());
    EXPECT_EQ(ingest_->counts().image_checks_now, 0U);
}

TEST_F(ImageChecksTest, APeerHasFewImagesAtOnceInChecks) {
    say_hello_with(offers(10, 30));
    answer_all("peer", kSession, content(30));
    EXPECT_EQ(waiting_.size(), intake_limits::kImageChecksOfOwnerMax);
    check();
    answer_all("peer", kSession, content(30));
    EXPECT_EQ(waiting_.size(), intake_limits::kImageChecksOfOwnerMax);
    say_hello_with({{"other", 1, 30}}, "other", SessionId{7, 7});
    EXPECT_EQ(request("other")->build_id, "other");
}

TEST_F(ImageChecksTest, WhatWaitsForItsCheckIsBoundedInBytes) {
    const std::size_t half = MemoryPlan{MemoryPlan::kSizeBytesMin}.images_bytes() / 2;
    const std::string bytes = content(half);
    say_hello_with({{"one", 1, half}}, "1", SessionId{7, 1});
    answer_all("1", SessionId{7, 1}, bytes);
    ingest_->forget_peer("1");
    say_hello_with({{"two", 1, half}}, "2", SessionId{7, 2});
    answer_all("2", SessionId{7, 2}, bytes);
    ASSERT_EQ(waiting_.size(), 2U);
    say_hello_with({{"three", 1, 1}}, "3", SessionId{7, 3});
    EXPECT_FALSE(request("3").has_value());
    check();
    pass(limits::kAckIntervalNs);
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(request("3")->build_id, "three") << "asked for later, not lost";
    EXPECT_TRUE(store_->image("one").value().has_value()) << "although its peer is gone";
}

TEST_F(ImageChecksTest, SaysThatNothingMoreIsNeededAfterTheLastCheck) {
    say_hello_with({});
    take("peer", sample::image_offers(kSession, offers(2, 30)));
    for (int i = 0; i < 2; ++i) {
        const auto asked = request();
        ASSERT_TRUE(asked.has_value());
        answer({asked->build_id, 1, 30}, content(30), 0);
    }
    EXPECT_FALSE(request().has_value());
    check();
    EXPECT_FALSE(request().has_value());
    check();
    EXPECT_EQ(request()->build_id, "");
}

TEST_F(ImageChecksTest, AnUsedUpBudgetIsRefilledOverTime) {
    say_hello_with(offers(1, 30));
    answer({"image0", 1, 30}, content(30), request()->offset);
    check(ImageCost{intake_limits::kImageUnpackedBytesMax + intake_limits::kImageUnpackedBytesASecond, 0});
    commit();
    say_hello_with(offers(2, 30));
    EXPECT_FALSE(request().has_value());
    pass(limits::kAckIntervalNs - limits::kGroupCommitNs);
    EXPECT_FALSE(request().has_value());
    EXPECT_EQ(ingest_->counts().images_deferred, 1U);
    say_hello_with({{"other", 1, 30}}, "other", SessionId{7, 7});
    EXPECT_TRUE(request("other").has_value()) << "it asks others as before";
    pass(limits::kAckIntervalNs);
    EXPECT_EQ(request()->build_id, "image1") << "asked for later, not lost";
}

TEST_F(ImageChecksTest, CpuTimeIsPartOfTheBudget) {
    say_hello_with(offers(1, 30));
    answer({"image0", 1, 30}, content(30), request()->offset);
    check(ImageCost{0, intake_limits::kImageCpuNsMax + intake_limits::kImageCpuNsASecond / 2});
    say_hello_with(offers(1, 30));
    EXPECT_FALSE(request().has_value());
    pass(2 * limits::kAckIntervalNs);
    EXPECT_FALSE(request().has_value()) << "it is in the store";
    say_hello_with({{"two", 1, 30}});
    EXPECT_TRUE(request().has_value());
}

TEST_F(ImageChecksTest, APeerWhoseImagesAreRefusedIsCutOff) {
    say_hello_with(offers(10, 30));
    int refused_count = 0;
    while (link_.cut_off.empty() && refused_count < 10) {
        answer_all("peer", kSession, content(26) + "more");
        ASSERT_FALSE(waiting_.empty());
        while (!waiting_.empty()) {
            check();
            ++refused_count;
        }
    }
    EXPECT_EQ(link_.cut_off, std::vector<std::string>{"peer"});
    EXPECT_GE(ingest_->counts().images_refused.of(ImageRefusal::kDamaged), 4U);
    EXPECT_EQ(ingest_->counts().peers_cut.of(PeerCut::kImages), 1U);
    EXPECT_EQ(ingest_->counts().images_stored, 0U);
}

}  // namespace
}  // namespace perfleet::image_intake_test
