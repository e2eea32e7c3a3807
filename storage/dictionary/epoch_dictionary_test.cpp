#include "storage/dictionary/epoch_dictionary.h"

#include <gtest/gtest.h>

#include <random>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet {
namespace {

SampleBatch empty_batch() { return {TargetId{1}, SessionId{1, 1}, Seq{1}, EpochNumber{0}, BucketNumber{1}}; }

Result<Done> add(EpochDictionary& dictionary, const SampleBatch& batch) {
    for (const BatchSeries& series : batch.build().series) {
        auto view = parse_block_untrusted(series.block);
        EXPECT_TRUE(view.ok());
        PERFLEET_TRY(dictionary.add(*view));
    }
    return Done{};
}

Result<Done> add_stacks(EpochDictionary& dictionary, const std::vector<SampleBatch::Stack>& stacks) {
    return add(dictionary, empty_batch().add_stacks(stacks));
}

void expect_refused(const Result<Done>& done, std::string_view words) {
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
    EXPECT_NE(done.error().message.find(words), std::string::npos) << done.error().message;
}

TEST(EpochDictionary, KnowsWhatNumbersMean) {
    EpochDictionary dictionary;
    SampleBatch batch = empty_batch();
    batch.add_images({{0, image_flags::kFileOffset, "\x01\x02", "/bin/true"},
                      {1, image_flags::kKernel, "", "[kernel.kallsyms]", 0xffff'8000'0000'0000, 4096}});
    batch.add_strings({{1, "true"}, {3, "sh"}});
    batch.add_stacks({{1, 0, 0, 0x10}, {2, 1, 1, 0x20}});
    ASSERT_TRUE(add(dictionary, batch).ok());
    ASSERT_TRUE(dictionary.finish().ok());

    EXPECT_EQ(dictionary.stack(StackNumber{2}), (StackNode{StackNumber{1}, Frame{ImageNumber{1}, 0x20}}));
    EXPECT_EQ(dictionary.stack(StackNumber{1}), (StackNode{kEmptyStack, Frame{ImageNumber{0}, 0x10}}));
    EXPECT_EQ(dictionary.image(ImageNumber{0}),
              (ImageDefinition{image_flags::kFileOffset, 0, 0, "\x01\x02", "/bin/true"}));
    EXPECT_EQ(dictionary.image(ImageNumber{1}),
              (ImageDefinition{image_flags::kKernel, 0xffff'8000'0000'0000, 4096, "", "[kernel.kallsyms]"}));
    EXPECT_EQ(dictionary.string(StringNumber{1}), "true");
    EXPECT_EQ(dictionary.string(StringNumber{3}), "sh");
    EXPECT_EQ(dictionary.stack_count(), 3U);
    EXPECT_EQ(dictionary.image_count(), 2U);
    EXPECT_EQ(dictionary.string_count(), 4U);
}

TEST(EpochDictionary, AnswersForNumbersThatAreNotDefined) {
    EpochDictionary dictionary;
    SampleBatch batch = empty_batch();
    batch.add_images({{2, 0, "", "/bin/true"}}).add_strings({{2, "a"}}).add_stacks({{5, 4, 7, 0x10}, {9, 800, 2, 1}});
    ASSERT_TRUE(add(dictionary, batch).ok());
    ASSERT_TRUE(dictionary.finish().ok());
    const StackNode undefined{kEmptyStack, Frame{kUndefinedImage, 0}};
    for (const std::uint32_t number : {0U, 4U, 6U, 10U, 0xffff'ffffU}) {
        EXPECT_EQ(dictionary.stack(StackNumber{number}), undefined) << number;
    }
    for (const std::uint32_t number : {0U, 1U, 3U, 7U, 0xffff'ffffU}) {
        EXPECT_EQ(dictionary.image(ImageNumber{number}).name, "[undefined]") << number;
        EXPECT_EQ(dictionary.image(ImageNumber{number}).flags, image_flags::kUnknown);
    }
    for (const std::uint32_t number : {0U, 1U, 3U, 0xffff'ffffU}) {
        EXPECT_EQ(dictionary.string(StringNumber{number}), "") << number;
    }
}

TEST(EpochDictionary, AnswersWithoutAnyDefinition) {
    EpochDictionary dictionary;
    ASSERT_TRUE(dictionary.finish().ok());
    EXPECT_EQ(dictionary.stack(StackNumber{1}).parent, kEmptyStack);
    EXPECT_EQ(dictionary.image(ImageNumber{0}).name, "[undefined]");
    EXPECT_EQ(dictionary.string(StringNumber{1}), "");
}

TEST(EpochDictionary, TakesTheSameDefinitionAgain) {
    EpochDictionary dictionary;
    SampleBatch batch = empty_batch();
    batch.add_images({{0, 0, "x", "/bin/true"}}).add_strings({{1, "a"}}).add_stacks({{1, 0, 0, 5}});
    ASSERT_TRUE(add(dictionary, batch).ok());
    ASSERT_TRUE(add(dictionary, batch).ok());
    ASSERT_TRUE(dictionary.finish().ok());
    EXPECT_EQ(dictionary.stack_count(), 2U);
}

TEST(EpochDictionary, RefusesANumberWithTwoMeanings) {
    SampleBatch first = empty_batch();
    first.add_images({{0, 0, "x", "/bin/true"}}).add_strings({{1, "a"}}).add_stacks({{1, 0, 0, 5}});
    {
        EpochDictionary dictionary;
        ASSERT_TRUE(add(dictionary, first).ok());
        expect_refused(add(dictionary, empty_batch().add_images({{0, 0, "y", "/bin/true"}})),
                       "image 0 is defined twice");
    }
    {
        EpochDictionary dictionary;
        ASSERT_TRUE(add(dictionary, first).ok());
        expect_refused(add(dictionary, empty_batch().add_strings({{1, ""}})), "string 1 is defined twice");
    }
    {
        EpochDictionary dictionary;
        ASSERT_TRUE(add(dictionary, first).ok());
        expect_refused(add_stacks(dictionary, {{1, 0, 0, 6}}), "stack 1 is defined twice");
    }
}

TEST(EpochDictionary, RefusesDefinitionsOfTheEmptyOnes) {
    EpochDictionary dictionary;
    expect_refused(add_stacks(dictionary, {{0, 0, 0, 5}}), "stack 0");
    expect_refused(add(dictionary, empty_batch().add_strings({{0, "a"}})), "string 0");
}

TEST(EpochDictionary, RefusesNumbersBeyondTheMostOfAnEpoch) {
    EpochDictionary dictionary;
    EXPECT_TRUE(dictionary.define_image(ImageNumber{limits::kImagesMax - 1}, {}).ok());
    expect_refused(dictionary.define_image(ImageNumber{limits::kImagesMax}, {}), "beyond the most");
    EXPECT_TRUE(dictionary.define_stack(StackNumber{limits::kStackNodesMax}, {}).ok());
    expect_refused(dictionary.define_stack(StackNumber{limits::kStackNodesMax + 1}, {}), "beyond the most");
}

TEST(EpochDictionary, RefusesBlocksThatDefineNothing) {
    EpochDictionary dictionary;
    expect_refused(add(dictionary, empty_batch().add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {1}}})), "task");
}

TEST(EpochDictionary, RefusesCycles) {
    for (const auto& stacks :
         {std::vector<SampleBatch::Stack>{{3, 3, 0, 0}}, std::vector<SampleBatch::Stack>{{1, 2, 0, 0}, {2, 1, 0, 0}},
          std::vector<SampleBatch::Stack>{{1, 0, 0, 0}, {2, 4, 0, 0}, {3, 2, 0, 0}, {4, 3, 0, 0}},
          std::vector<SampleBatch::Stack>{{1, 2, 0, 0}, {2, 3, 0, 0}, {3, 2, 0, 0}}}) {
        EpochDictionary dictionary;
        ASSERT_TRUE(add_stacks(dictionary, stacks).ok());
        const auto done = dictionary.finish();
        ASSERT_FALSE(done.ok());
        EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
    }
}

TEST(EpochDictionary, TakesParentsThatAreDefinedLater) {
    EpochDictionary dictionary;
    ASSERT_TRUE(add_stacks(dictionary, {{1, 2, 0, 0}, {2, 3, 0, 0}}).ok());
    ASSERT_TRUE(add_stacks(dictionary, {{3, 0, 0, 0}}).ok());
    EXPECT_TRUE(dictionary.finish().ok());
}

// A chain numbered from root to leaf, or from leaf to root.
std::vector<SampleBatch::Stack> chain(std::uint32_t length, bool is_reversed) {
    std::vector<SampleBatch::Stack> stacks;
    for (std::uint32_t number = 1; number <= length; ++number) {
        stacks.push_back({number, is_reversed ? (number + 1) % (length + 1) : number - 1, 0, number});
    }
    return stacks;
}

TEST(EpochDictionary, BoundsTheLengthOfAChain) {
    for (const bool is_reversed : {false, true}) {
        EpochDictionary longest;
        ASSERT_TRUE(add_stacks(longest, chain(limits::kStackChainMax, is_reversed)).ok());
        EXPECT_TRUE(longest.finish().ok());
        EpochDictionary longer;
        ASSERT_TRUE(add_stacks(longer, chain(limits::kStackChainMax + 1, is_reversed)).ok());
        expect_refused(longer.finish(), "1024");
    }
}

// Whatever the rows say: either refused, or every chain ends within its bound.
TEST(EpochDictionary, NeverLeadsInCircles) {
    std::mt19937_64 random{13};
    int accepted = 0;
    for (int round = 0; round < 3'000; ++round) {
        std::vector<SampleBatch::Stack> stacks;
        const auto count = static_cast<std::uint32_t>(1 + random() % 12);
        for (std::uint32_t number = 1; number <= count; ++number) {
            stacks.push_back({number, static_cast<std::uint32_t>(random() % (count + 2)), 0, 0});
        }
        EpochDictionary dictionary;
        ASSERT_TRUE(add_stacks(dictionary, stacks).ok());
        const bool is_accepted = dictionary.finish().ok();
        // `count` nodes and one undefined parent make the longest chain without a cycle.
        bool has_cycle = false;
        for (std::uint32_t number = 1; number <= count; ++number) {
            std::uint32_t steps = 0;
            for (StackNumber at{number}; at != kEmptyStack && steps <= count + 1; at = dictionary.stack(at).parent) {
                ++steps;
            }
            has_cycle = has_cycle || steps > count + 1;
        }
        EXPECT_EQ(is_accepted, !has_cycle);
        accepted += is_accepted ? 1 : 0;
    }
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, 3'000);
}

}  // namespace
}  // namespace perfleet
