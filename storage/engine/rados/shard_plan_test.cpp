#include "storage/engine/rados/shard_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace perfleet {
namespace {

GatewayEntry gateway(const std::string& name, const std::vector<std::uint16_t>& shards = {}, std::uint64_t beat = 1) {
    GatewayEntry entry;
    entry.name = name;
    entry.beat = beat;
    for (const std::uint16_t shard : shards) {
        entry.leases[shard] = 7;
    }
    return entry;
}

// Lets each do what its plan says, until no gateway has anything to do; returns the shards of each.
std::vector<GatewayEntry> rebalanced(std::vector<GatewayEntry> all, std::uint16_t shard_count) {
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        const std::vector<GatewayEntry> seen = all;
        for (GatewayEntry& one : all) {
            const ShardPlan plan = plan_shards(one.name, seen, shard_count);
            for (const std::uint16_t shard : plan.give_up) {
                EXPECT_EQ(one.leases.erase(shard), 1U);
            }
            for (const std::uint16_t shard : plan.take) {
                for (const GatewayEntry& other : all) {
                    EXPECT_FALSE(other.leases.contains(shard)) << shard << " is " << other.name << "'s";
                }
                one.leases[shard] = 8;
            }
            is_changed = is_changed || !plan.take.empty() || !plan.give_up.empty();
        }
    }
    return all;
}

TEST(ShardPlan, OneGatewayTakesAll) {
    EXPECT_EQ(plan_shards("a", {gateway("a")}, 16).take.size(), 16U);
    EXPECT_TRUE(plan_shards("a", {gateway("a")}, 16).give_up.empty());
}

TEST(ShardPlan, EndsWithAllShardsInEqualParts) {
    for (const std::uint16_t shard_count : std::initializer_list<std::uint16_t>{1, 3, 16, 64}) {
        for (int count = 1; count <= 20; ++count) {
            std::vector<GatewayEntry> all{gateway("first")};
            for (std::uint16_t shard = 0; shard < shard_count; ++shard) {
                all[0].leases[shard] = 1;
            }
            for (int i = 1; i < count; ++i) {
                all.push_back(gateway(std::to_string(i)));
            }
            std::set<std::uint16_t> held;
            std::size_t sum = 0;
            for (const GatewayEntry& one : rebalanced(all, shard_count)) {
                EXPECT_GE(one.leases.size(), static_cast<std::size_t>(shard_count / count));
                EXPECT_LE(one.leases.size(), static_cast<std::size_t>((shard_count + count - 1) / count));
                for (const auto& [shard, lease] : one.leases) {
                    held.insert(shard);
                }
                sum += one.leases.size();
            }
            EXPECT_EQ(held.size(), shard_count);
            EXPECT_EQ(sum, shard_count);
        }
    }
}

TEST(ShardPlan, ShardsOfADeadOneGoToTheOthersAndNothingElseMoves) {
    const std::vector<GatewayEntry> alive{gateway("a", {0, 1, 2, 3, 4, 5}), gateway("b", {6, 7, 8, 9, 10})};
    const ShardPlan a = plan_shards("a", alive, 16);
    const ShardPlan b = plan_shards("b", alive, 16);
    EXPECT_EQ(a.take, (std::vector<std::uint16_t>{11, 12}));
    EXPECT_EQ(b.take, (std::vector<std::uint16_t>{13, 14, 15}));
    EXPECT_TRUE(a.give_up.empty());
    EXPECT_TRUE(b.give_up.empty());
}

TEST(GatewayBeats, IsDeadAfterLooksWithoutABeatAndAliveWithTheNext) {
    GatewayBeats beats;
    beats.see({gateway("a"), gateway("b")}, true);
    for (int look = 0; look < GatewayBeats::kLooksMax; ++look) {
        EXPECT_TRUE(beats.is_alive("b"));
        EXPECT_EQ(beats.is_fresh("b"), look < GatewayBeats::kFreshLooksMax);
        beats.see({gateway("a", {}, 2U + static_cast<unsigned>(look)), gateway("b")}, true);
        beats.see({gateway("a", {}, 2U + static_cast<unsigned>(look)), gateway("b")}, false);
    }
    EXPECT_TRUE(beats.is_alive("a"));
    EXPECT_FALSE(beats.is_alive("b"));
    EXPECT_FALSE(beats.is_alive("c"));
    beats.see({gateway("b", {}, 2)}, true);
    EXPECT_TRUE(beats.is_alive("b"));
    EXPECT_FALSE(beats.is_alive("a")) << "its entry is gone";
}

TEST(GatewayTable, EntriesAreReadAsTheyWereWrittenAndOthersAreLeftOut) {
    GatewayEntry entry = gateway("a", {0, 15}, 12);
    entry.address = {"tcp://[::1]:7411", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"};
    EXPECT_EQ(decode_gateway_untrusted("a", encode_gateway(entry)), entry);
    entry.is_alone = true;
    entry.sizes = {{0, 1ULL << 50}, {255, 1}};
    EXPECT_EQ(decode_gateway_untrusted("a", encode_gateway(entry)), entry);
    entry.sizes.emplace();
    EXPECT_EQ(decode_gateway_untrusted("a", encode_gateway(entry)), entry);
    for (const char* bytes : {"", "1", "1\n\n\n\n", "x\n\n\n\n\n", "1\n\n\n\n\n1", "1\n\n\n\n\n1:x",
                              "1\n\n\n\n\n99999:1", "1\n\n\n\n= 256:1\n", "1\n\n\n\n0:1\n"}) {
        EXPECT_EQ(decode_gateway_untrusted("a", bytes), std::nullopt) << bytes;
    }
}

}  // namespace
}  // namespace perfleet
