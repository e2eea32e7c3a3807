#include "gateway/wire/fair_inbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace perfleet {
namespace {

constexpr std::size_t kRoomSizeBytes = 1U << 20;

std::vector<std::byte> frame_of(std::size_t size_bytes, char letter = 'x') {
    return std::vector<std::byte>(size_bytes, static_cast<std::byte>(letter));
}

bool offer(FairInbox& inbox, std::string_view peer, std::size_t size_bytes) {
    if (!inbox.has_room(peer, size_bytes)) {
        return false;
    }
    inbox.put({peer, frame_of(size_bytes)});
    return true;
}

std::string order_of(FairInbox& inbox) {
    std::string order;
    while (const auto message = inbox.take()) {
        order += message->routing_id();
    }
    return order;
}

TEST(FairInbox, TakesPeersInTurn) {
    FairInbox inbox{kRoomSizeBytes};
    for (const std::string_view peer : {"a", "a", "a", "b", "c", "c"}) {
        ASSERT_TRUE(offer(inbox, peer, 100));
    }
    EXPECT_EQ(order_of(inbox), "abcaca");
    EXPECT_TRUE(inbox.is_empty());
    EXPECT_EQ(inbox.size_bytes(), 0U);
}

TEST(FairInbox, APeerWhoseMessagesCostMuchPaysByTurns) {
    FairInbox inbox{kRoomSizeBytes};
    for (int i = 0; i < 4; ++i) {
        for (const std::string_view peer : {"a", "b", "c"}) {
            ASSERT_TRUE(offer(inbox, peer, 100));
        }
    }
    std::string order;
    while (const auto message = inbox.take()) {
        order += message->routing_id();
        if (message->routing_id() == "a") {
            inbox.charge("a", 200U << 10);  // three turns and a part
        }
    }
    EXPECT_EQ(order, "abcbcbcbcaaa") << "and nobody waits where nobody else has anything";
    inbox.charge("a", 1);
    EXPECT_TRUE(inbox.is_empty());
}

TEST(FairInbox, KeepsTheOrderOfOnePeer) {
    FairInbox inbox{kRoomSizeBytes};
    for (char letter = 'a'; letter <= 'e'; ++letter) {
        inbox.put({"peer", frame_of(9, letter)});
        inbox.put({"other", frame_of(9, '-')});
    }
    std::string letters;
    while (const auto message = inbox.take()) {
        ASSERT_EQ(message->frame().size(), 9U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message->frame().data()) % 8, 0U);
        if (message->routing_id() == "peer") {
            letters += static_cast<char>(message->frame()[8]);
        }
    }
    EXPECT_EQ(letters, "abcde");
}

TEST(FairInbox, ALargeMessageCostsItsPeerTurns) {
    FairInbox inbox{16U << 20};
    ASSERT_TRUE(offer(inbox, "L", 1U << 20));  // sixteen turns
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(offer(inbox, "s", 100));
    }
    const std::string order = order_of(inbox);
    EXPECT_EQ(std::count(order.begin(), order.end(), 's'), 20);
    EXPECT_GE(order.find('L'), 16U);
    EXPECT_LT(order.find('L'), 18U);
}

TEST(FairInbox, WhoSendsLittleComesBeforeLargeMessagesOfManyPeers) {
    FairInbox inbox{64U << 20};
    const auto offer_large = [&](int peer) { EXPECT_TRUE(offer(inbox, "L" + std::to_string(peer), 1U << 20)); };
    for (int peer = 0; peer < 16; ++peer) {
        offer_large(peer);
    }
    std::size_t large_count = 0;
    for (int i = 0; i < 400; ++i) {
        ASSERT_TRUE(offer(inbox, "s", 4'000));
        std::size_t before_it = 0;
        while (inbox.take()->routing_id() != "s") {
            offer_large(16 + static_cast<int>(large_count++));
            ++before_it;
        }
        EXPECT_LE(before_it, 1U) << i;
    }
    // A turn for each MiB of what comes first.
    EXPECT_EQ(large_count, 400U * (4'000 + InboxMessage::kOverheadBytes) >> 20U);
}

TEST(FairInbox, OneThatIsAloneNeedNotWait) {
    FairInbox inbox{16U << 20};
    ASSERT_TRUE(offer(inbox, "L", 4U << 20));
    EXPECT_EQ(order_of(inbox), "L");
}

TEST(FairInbox, SmallMessagesOfAPeerAreLimitedInNumber) {
    FairInbox inbox{16U << 20};
    std::size_t count = 0;
    while (offer(inbox, "flood", 1)) {
        ++count;
    }
    EXPECT_EQ(count, FairInbox::kMessagesOfPeerMax);
    EXPECT_TRUE(offer(inbox, "other", 1));
    (void)inbox.take();
    EXPECT_TRUE(offer(inbox, "flood", 1));
}

TEST(FairInbox, AFloodLeavesHalfOfTheRoom) {
    FairInbox inbox{kRoomSizeBytes};
    std::size_t flooded = 0;
    while (offer(inbox, "flood", 4'000)) {
        ++flooded;
        ASSERT_LE(inbox.size_bytes(), kRoomSizeBytes);
    }
    EXPECT_NEAR(static_cast<double>(inbox.size_bytes()), kRoomSizeBytes / 2.0, 4'300);
    // Others fit in, and are served after at most one message of the flood each.
    std::string peers;
    for (char peer = 'a'; peer <= 'z'; ++peer) {
        ASSERT_TRUE(offer(inbox, std::string(1, peer), 1'000));
    }
    EXPECT_FALSE(offer(inbox, "flood", 4'000));
    std::string order;
    for (int i = 0; i < 27; ++i) {
        order += inbox.take()->routing_id() + ' ';
    }
    EXPECT_EQ(order, "flood a b c d e f g h i j k l m n o p q r s t u v w x y z ");
}

TEST(FairInbox, ManyFloodsStayWithinTheRoom) {
    FairInbox inbox{kRoomSizeBytes};
    for (int round = 0; round < 200; ++round) {
        for (int peer = 0; peer < 50; ++peer) {
            offer(inbox, "flood " + std::to_string(peer), 4'000);
            ASSERT_LE(inbox.size_bytes(), kRoomSizeBytes);
        }
    }
    EXPECT_TRUE(offer(inbox, "honest", 2'000));
}

TEST(FairInbox, WhatIsLargerThanTheRoomFindsNone) {
    FairInbox inbox{kRoomSizeBytes};
    EXPECT_FALSE(inbox.has_room("peer", kRoomSizeBytes));
    EXPECT_TRUE(inbox.has_room("peer", kRoomSizeBytes - InboxMessage::kOverheadBytes));
}

TEST(FairInbox, ForgetsWhatWaitsOfOnePeer) {
    FairInbox inbox{kRoomSizeBytes};
    for (const std::string_view peer : {"a", "b", "a", "c"}) {
        ASSERT_TRUE(offer(inbox, peer, 100));
    }
    EXPECT_EQ(inbox.forget("a"), 2U);
    EXPECT_EQ(inbox.forget("a"), 0U);
    EXPECT_EQ(inbox.size_bytes(), 2 * (100 + InboxMessage::kOverheadBytes));
    ASSERT_TRUE(offer(inbox, "a", 100));
    EXPECT_EQ(order_of(inbox), "bca");
    EXPECT_EQ(inbox.size_bytes(), 0U);
}

}  // namespace
}  // namespace perfleet
