#include "gateway/admission/image_checker.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "gateway/admission/testing/sample_messages.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kLongNs = 60'000'000'000;

ReceivedImage image(const std::string& build_id, const std::string& bytes) {
    return {"peer", "owner", build_id, {1, bytes}};
}

TEST(ImageChecker, GivesOutcomesInOrderOneAtATime) {
    ImageChecker checker;
    EXPECT_FALSE(checker.wait(kLongNs)) << "nothing is under way";
    checker.begin(image("good", sample::symbols(50'000)));
    checker.begin(image("bad", "no frame"));
    checker.begin(7, order_of_symbols("build", 1, "/nowhere"));
    ASSERT_TRUE(checker.wait(kLongNs));
    pollfd readable{checker.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 60'000), 1);
    const auto good = checker.take();
    ASSERT_TRUE(good.has_value());
    EXPECT_EQ(std::get<CheckedImage>(*good).image.build_id, "good");
    EXPECT_EQ(std::get<CheckedImage>(*good).refusal, std::nullopt);
    EXPECT_GT(std::get<CheckedImage>(*good).cost.unpacked_bytes, 49'000U);
    ASSERT_TRUE(checker.wait(kLongNs));
    const auto bad = checker.take();
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(std::get<CheckedImage>(*bad).refusal, ImageRefusal::kDamaged);
    ASSERT_TRUE(checker.wait(kLongNs));
    const auto order = checker.take();
    ASSERT_TRUE(order.has_value());
    EXPECT_EQ(std::get<CheckedOrder>(*order).ticket, 7U);
    EXPECT_FALSE(std::get<CheckedOrder>(*order).symbols.ok());
    EXPECT_FALSE(checker.wait(kLongNs));
    EXPECT_FALSE(checker.take().has_value());
}

TEST(ImageChecker, GivesUpWhatWaitsWhenItIsDestroyed) {
    const std::string content = sample::symbols(1U << 20);
    ImageChecker checker;
    for (int i = 0; i < 100; ++i) {
        checker.begin(image("image", content));
    }
}

}  // namespace
}  // namespace perfleet
