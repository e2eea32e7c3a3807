#include "query-engine/statistic/stack/stack_totals.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "query-engine/statistic/stack/frame_counts.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::stack_totals_test {
namespace {

// Chains with few functions in them, so that many recur; one node in ten has lost its definition.
EpochDictionary random_dictionary(std::uint32_t node_count, std::uint32_t function_count, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::vector<SampleBatch::Stack> stacks;
    for (std::uint32_t number = 1; number <= node_count; ++number) {
        if (random() % 10 != 0) {
            const auto parent = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % number : number - 1);
            stacks.push_back({number, parent, 0, random() % function_count});
        }
    }
    SampleBatch batch{TargetId{1}, SessionId{1, 2}, Seq{1}, EpochNumber{0}, BucketNumber{1}};
    batch.add_images({{0, 0, std::string(20, 'b'), "/no/such/program"}}).add_stacks(stacks);
    EpochDictionary dictionary;
    for (const auto& series : batch.build().series) {
        const auto block = parse_block_untrusted(series.block);
        EXPECT_TRUE(block.ok() && dictionary.add(*block).ok());
    }
    static_cast<void>(dictionary.finish());
    return dictionary;
}

// As the above, with chains that are cut: a caller may have any number.
EpochDictionary cut_dictionary(std::uint32_t node_count) {
    std::mt19937_64 random{node_count};
    EpochDictionary dictionary;
    for (std::uint32_t number = 1; number <= node_count; ++number) {
        const std::uint64_t parent = random() % 8 == 0 ? random() % (node_count + 1) : number - 1;
        EXPECT_TRUE(
            dictionary.define_stack(StackNumber{number}, {StackNumber{static_cast<std::uint32_t>(parent)}, {}}).ok());
    }
    EXPECT_FALSE(dictionary.finish().ok());
    return dictionary;
}

// Some stacks, also beyond those that are defined, and chains without frames.
std::vector<StackCount> random_counts(std::uint32_t node_count, std::size_t stack_count, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::map<std::uint32_t, std::uint64_t> values{{0, 3}};
    for (std::size_t i = 0; i < stack_count; ++i) {
        values[static_cast<std::uint32_t>(random() % (node_count + 20))] += 1 + random() % 100;
    }
    std::vector<StackCount> counts;
    for (const auto& [stack, value] : values) {
        counts.push_back({0, StackNumber{stack}, {-static_cast<std::int64_t>(value), value}});
    }
    return counts;
}

TEST(StackTotals, AreWhatCountingChainByChainGives) {
    StackTotals totals;
    for (const auto& [node_count, is_cut] : {std::pair{1U, false}, std::pair{40U, false}, std::pair{40U, true},
                                             std::pair{2'000U, false}, std::pair{2'000U, true}}) {
        for (const std::size_t stack_count : {1U, 30U, 3'000U}) {  // few of the nodes are met, or nearly all
            const EpochDictionary dictionary =
                is_cut ? cut_dictionary(node_count) : random_dictionary(node_count, 30, node_count);
            const std::vector<StackCount> counts = random_counts(node_count, stack_count, stack_count);
            std::map<StackNumber, std::pair<Sum, Sum>> expected;
            std::vector<StackNumber> chain;
            for (const StackCount& count : counts) {
                expected[count.stack].first += count.sum;
                chain_of(dictionary, count.stack, chain);
                ASSERT_LT(chain.size(), limits::kStackDepthMax) << "the test's chains are short";
                for (const StackNumber node : chain) {
                    expected[node].second += count.sum;
                }
            }
            std::set<StackNumber> seen;
            for (const NodeTotal& node : totals.of(dictionary, counts)) {
                ASSERT_TRUE(expected.contains(node.node));
                EXPECT_TRUE(std::pair(node.self, node.total) == expected[node.node]) << node.node.value;
                EXPECT_TRUE(node.caller == kEmptyStack || seen.contains(node.caller)) << "its caller comes before it";
                seen.insert(node.node);
            }
            EXPECT_EQ(seen.size(), expected.size());
        }
    }
    EXPECT_TRUE(totals.of(EpochDictionary{}, {}).empty());
}

TEST(FrameCounts, CountAChainOnceForEachOfItsFunctionsHoweverOftenTheyRecur) {
    // Many functions share a bit of a path, few recur all the time.
    for (const std::uint32_t function_count : {3U, 400U}) {
        EpochStackCounts epoch;
        epoch.dictionary = std::make_shared<const EpochDictionary>(random_dictionary(3'000, function_count, 5));
        epoch.runners = {{"a", 0, 0, 0}, {"b", 0, 0, 0}};
        for (std::uint32_t runner = 0; runner < 2; ++runner) {
            for (StackCount count : random_counts(3'000, 500, runner)) {
                count.runner_index = runner;
                epoch.counts.push_back(count);
                epoch.total.sum += count.sum;
            }
        }
        Symbolizer symbolizer{nullptr, {}};
        QueryMemory memory;
        FrameCounts<std::string> counts{symbolizer, memory, 3, true, true};
        counts.add(epoch, [](const Runner& runner) { return runner.command; });

        std::map<std::tuple<std::string, std::string>, FrameCount> expected;
        Sum total;
        FrameNames names{symbolizer, memory, 1};
        names.name_epoch(*epoch.dictionary, epoch.counts);
        std::vector<StackNumber> chain;
        for (const StackCount& count : epoch.counts) {
            total += count.sum;
            chain_of(*epoch.dictionary, count.stack, chain);
            std::set<std::string> functions;
            for (const StackNumber node : chain) {
                functions.insert(names.symbols().text(names.name_of(node).symbol));
            }
            const std::string& command = epoch.runners[count.runner_index].command;
            for (const std::string& function : functions) {
                expected[{command, function}].children += count.sum;
            }
            expected[{command, names.symbols().text(names.name_of(count.stack).symbol)}].self += count.sum;
        }
        EXPECT_TRUE(counts.total().sum == total);
        std::size_t row_count = 0;
        for (const auto& [command, entries] : counts.groups()) {
            for (const auto& [row, entry] : entries) {
                const FrameCount& wanted = expected[{command, counts.symbol(row)}];
                EXPECT_TRUE(entry.self == wanted.self) << counts.symbol(row);
                EXPECT_TRUE(entry.children == wanted.children) << counts.symbol(row);
                ++row_count;
            }
        }
        EXPECT_EQ(row_count, expected.size());
    }
}

}  // namespace
}  // namespace perfleet::stack_totals_test
