#include "target-collector/wire/delivery_spool.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace perfleet::delivery_spool_test {
namespace {

SealedRecord record(std::uint64_t seq) {
    SealedRecord made;
    made.type = SealedRecord::Type::kBatch;
    made.seq = Seq{seq};
    made.report_number = 2;
    made.epoch = EpochNumber{1};
    made.series_count = 1;
    made.rows[0].series = {Kind::kSample, EventNumber{7}};
    made.rows[0].row_count = 3;
    return made;
}

// The checksums are CRC-32C over the bytes that the header names, made with another program.
TEST(DeliverySpool, ARecordHasTheDocumentedBytes) {
    std::vector<std::uint64_t> memory(32);
    DeliverySpool spool(std::as_writable_bytes(std::span{memory}), true);
    std::array<std::byte, 16> message{};
    for (std::size_t i = 0; i < message.size(); ++i) {
        message[i] = static_cast<std::byte>(i);
    }
    ASSERT_TRUE(spool.has_room_for(record(5), message.size()));
    spool.push(record(5), message);
    std::string hex;
    for (const std::byte byte : std::as_bytes(std::span{memory}).first(88)) {
        std::array<char, 4> pair{};
        std::snprintf(pair.data(), pair.size(), "%02x", static_cast<int>(byte));
        hex += pair.data();
    }
    EXPECT_EQ(hex,
              "50465342eb3aaf3605000000000000000200000000000000"
              "010000000100000010000000"
              "5b5b4c6d"
              "000000000000000000000000000000000000000000000000"
              "0100070003000000"
              "000102030405060708090a0b0c0d0e0f");
}

TEST(DeliverySpool, HasRoomExactlyWhenAPushGoesWell) {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> memory(300);
    DeliverySpool spool(std::as_writable_bytes(std::span{memory}));
    std::deque<std::pair<std::uint64_t, std::vector<std::byte>>> expected;
    std::uint64_t seq = 0;
    std::uint64_t wraps = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::byte> message(random() % 600 + 1, static_cast<std::byte>(i));
        if (random() % 2 == 0) {
            if (spool.has_room_for(record(seq + 1), message.size())) {
                spool.push(record(++seq), message);
                expected.emplace_back(seq, std::move(message));
            } else {
                EXPECT_GT(spool.used_bytes() + DeliverySpool::size_bytes_of(1, message.size()), memory.size() * 8 / 3);
            }
        } else if (!expected.empty()) {
            spool.pop_front();
            expected.pop_front();
        }
        wraps += spool.places().is_wrapped ? 1 : 0;
        // Another that goes on from these places sees the same.
        DeliverySpool other(std::as_writable_bytes(std::span{memory}));
        other.restore(spool.places());
        SpooledBatch* batch = other.front();
        for (const auto& [kept_seq, kept] : expected) {
            ASSERT_NE(batch, nullptr);
            EXPECT_EQ(batch->seq, Seq{kept_seq});
            const auto seen = DeliverySpool::message_of(*batch);
            EXPECT_TRUE(std::equal(seen.begin(), seen.end(), kept.begin(), kept.end()));
            batch = other.next(batch);
        }
        EXPECT_EQ(batch, nullptr);
    }
    EXPECT_GT(wraps, 1'000U);
}

TEST(DeliverySpool, IsFilledToItsLastByte) {
    const std::vector<std::byte> message(16);
    const std::size_t size_bytes = DeliverySpool::size_bytes_of(1, message.size());
    std::vector<std::uint64_t> memory(4 * size_bytes / 8);
    DeliverySpool spool(std::as_writable_bytes(std::span{memory}));
    std::uint64_t seq = 0;
    const auto fill = [&] {
        while (spool.has_room_for(record(seq + 1), message.size())) {
            spool.push(record(++seq), message);
        }
        return spool.used_bytes();
    };
    EXPECT_EQ(fill(), 4 * size_bytes);
    for (std::uint64_t popped = 1; popped <= 4; ++popped) {
        for (std::uint64_t i = 0; i < popped; ++i) {
            spool.pop_front();
        }
        EXPECT_EQ(fill(), 4 * size_bytes) << popped;
        EXPECT_EQ(spool.front()->seq, Seq{seq - 3});
    }
}

}  // namespace
}  // namespace perfleet::delivery_spool_test
