#include "storage/dictionary/epoch_dictionary.h"

#include <gtest/gtest.h>

#include <algorithm>
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
    batch.add_images({{2, 0, "", "/bin/true"}}).add_strings({{2, "a"}}).add_stacks({{5, 4, 7, 0x10}, {9, 8, 2, 1}});
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

TEST(EpochDictionary, OfANumberWithTwoMeaningsTheFirstStands) {
    EpochDictionary dictionary;
    SampleBatch first = empty_batch();
    first.add_images({{0, 0, "x", "/bin/true"}}).add_strings({{1, "a"}}).add_stacks({{1, 0, 0, 5}});
    ASSERT_TRUE(add(dictionary, first).ok());
    SampleBatch second = empty_batch();
    second.add_images({{0, 0, "y", "/bin/false"}, {1, 0, "z", "/bin/ls"}})
        .add_strings({{1, ""}, {2, "b"}})
        .add_stacks({{1, 0, 0, 6}, {2, 1, 1, 7}});
    ASSERT_TRUE(add(dictionary, second).ok());
    const DefinitionFaults faults = dictionary.finish();
    EXPECT_EQ(faults.conflicting_count, 3U);
    EXPECT_EQ(faults.cut_count, 0U);
    EXPECT_EQ(dictionary.image(ImageNumber{0}).name, "/bin/true");
    EXPECT_EQ(dictionary.image(ImageNumber{1}).name, "/bin/ls");
    EXPECT_EQ(dictionary.string(StringNumber{1}), "a");
    EXPECT_EQ(dictionary.string(StringNumber{2}), "b");
    EXPECT_EQ(dictionary.stack(StackNumber{1}).frame.offset, 5U);
    EXPECT_EQ(dictionary.stack(StackNumber{2}).parent, StackNumber{1});
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

// A chain numbered from root to leaf.
std::vector<SampleBatch::Stack> chain(std::uint32_t length) {
    std::vector<SampleBatch::Stack> stacks;
    for (std::uint32_t number = 1; number <= length; ++number) {
        stacks.push_back({number, number - 1, 0, number});
    }
    return stacks;
}

// From the leaf to the outermost node.
std::vector<StackNumber> chain_from(const EpochDictionary& dictionary, std::uint32_t leaf) {
    std::vector<StackNumber> nodes;
    for (StackNumber at{leaf}; at != kEmptyStack && nodes.size() <= 2 * limits::kStackChainMax;
         at = caller_of(dictionary, at)) {
        nodes.push_back(at);
    }
    return nodes;
}

TEST(EpochDictionary, CutsLongerChainsAndMarksThem) {
    EpochDictionary longest;
    ASSERT_TRUE(add_stacks(longest, chain(limits::kStackChainMax)).ok());
    EXPECT_TRUE(longest.finish().ok());
    EXPECT_EQ(longest.cut_mark(), kEmptyStack);
    EXPECT_EQ(chain_from(longest, limits::kStackChainMax).size(), limits::kStackChainMax);

    constexpr std::uint32_t kLength = 2 * limits::kStackChainMax + 100;
    EpochDictionary longer;
    ASSERT_TRUE(add(longer, empty_batch().add_images({{7, 0, "", "/bin/true"}})).ok());
    ASSERT_TRUE(add_stacks(longer, chain(kLength)).ok());
    EXPECT_EQ(longer.finish().cut_count, 2U);
    EXPECT_EQ(longer.cut_mark(), StackNumber{kLength + 1});
    const StackNode mark = longer.stack(longer.cut_mark());
    EXPECT_EQ(mark.parent, kEmptyStack);
    EXPECT_EQ(longer.image(mark.frame.image).name, "[truncated: depth]");
    EXPECT_EQ(longer.image(mark.frame.image).flags, image_flags::kUnknown);
    for (std::uint32_t leaf = 1; leaf <= kLength; ++leaf) {
        const std::vector<StackNumber> nodes = chain_from(longer, leaf);
        ASSERT_LE(nodes.size(), limits::kStackChainMax);
        EXPECT_EQ(nodes.back(), leaf <= limits::kStackChainMax ? StackNumber{1} : longer.cut_mark());
        EXPECT_EQ(longer.stack(StackNumber{leaf}).frame.offset, leaf);
    }
}

TEST(EpochDictionary, CutsAtACallerThatIsNotNumberedBeforeItsCallee) {
    for (const auto& [stacks, cut_count] :
         {std::pair{std::vector<SampleBatch::Stack>{{3, 3, 0, 0}}, 1U},
          std::pair{std::vector<SampleBatch::Stack>{{1, 2, 0, 0}, {2, 1, 0, 0}}, 1U},
          std::pair{std::vector<SampleBatch::Stack>{{1, 2, 0, 0}, {2, 3, 0, 0}, {3, 0, 0, 0}}, 2U},
          std::pair{std::vector<SampleBatch::Stack>{{1, 0, 0, 0}, {2, 4, 0, 0}, {3, 2, 0, 0}, {4, 3, 0, 0}}, 1U}}) {
        EpochDictionary dictionary;
        ASSERT_TRUE(add_stacks(dictionary, stacks).ok());
        EXPECT_EQ(dictionary.finish().cut_count, cut_count);
        for (const SampleBatch::Stack& stack : stacks) {
            const std::vector<StackNumber> nodes = chain_from(dictionary, stack.number);
            EXPECT_LE(nodes.size(), stacks.size() + 1);
            EXPECT_EQ(caller_of(dictionary, nodes.back()), kEmptyStack);
        }
    }
}

// Every chain ends within its bound, for any rows.
TEST(EpochDictionary, NeverLeadsInCircles) {
    std::mt19937_64 random{13};
    for (int round = 0; round < 3'000; ++round) {
        std::vector<SampleBatch::Stack> stacks;
        const auto count = static_cast<std::uint32_t>(1 + random() % 12);
        for (std::uint32_t number = 1; number <= count; ++number) {
            stacks.push_back({number, static_cast<std::uint32_t>(random() % (count + 2)), 0, 0});
        }
        EpochDictionary dictionary;
        ASSERT_TRUE(add_stacks(dictionary, stacks).ok());
        const auto is_cut = [](const SampleBatch::Stack& stack) { return stack.parent >= stack.number; };
        EXPECT_EQ(dictionary.finish().cut_count,
                  static_cast<std::uint64_t>(std::count_if(stacks.begin(), stacks.end(), is_cut)));
        for (std::uint32_t number = 1; number <= count + 1; ++number) {
            EXPECT_LE(chain_from(dictionary, number).size(), count + 1);
        }
    }
}

}  // namespace
}  // namespace perfleet
