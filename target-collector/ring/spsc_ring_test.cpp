#include "target-collector/ring/spsc_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace perfleet {
namespace {

class Memory {
public:
    explicit Memory(std::size_t size_bytes) : words_(size_bytes / 8) {}
    [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{words_}); }

private:
    std::vector<std::uint64_t> words_;
};

bool put(SpscRing& ring, const std::string& text, std::size_t reserve_bytes = 0) {
    const auto room = ring.reserve(std::max(text.size(), reserve_bytes));
    if (room.empty()) {
        return false;
    }
    std::memcpy(room.data(), text.data(), text.size());
    ring.commit(text.size());
    return true;
}

std::string take(SpscRing& ring) {
    const auto record = ring.acquire();
    std::string text(reinterpret_cast<const char*>(record.data()), record.size());
    if (!record.empty()) {
        ring.release();
    }
    return text;
}

TEST(SpscRing, GivesRecordsInOrder) {
    Memory memory(256);
    SpscRing ring(memory.bytes());
    EXPECT_TRUE(ring.acquire().empty());
    EXPECT_TRUE(put(ring, "one"));
    EXPECT_TRUE(put(ring, "two and a half"));
    EXPECT_EQ(take(ring), "one");
    EXPECT_EQ(take(ring), "two and a half");
    EXPECT_TRUE(ring.acquire().empty());
}

TEST(SpscRing, ShowsNothingBeforeCommit) {
    Memory memory(64);
    SpscRing ring(memory.bytes());
    ASSERT_FALSE(ring.reserve(8).empty());
    EXPECT_TRUE(ring.acquire().empty());
    ring.commit(8);
    EXPECT_EQ(ring.acquire().size(), 8U);
}

TEST(SpscRing, CommitKeepsTheFirstBytesOfTheReservation) {
    Memory memory(128);
    SpscRing ring(memory.bytes());
    EXPECT_TRUE(put(ring, "abc", 48));
    EXPECT_TRUE(put(ring, "de", 48));
    EXPECT_EQ(take(ring), "abc");
    EXPECT_EQ(take(ring), "de");
}

TEST(SpscRing, RecordsAreAlignedTo8) {
    Memory memory(256);
    SpscRing ring(memory.bytes());
    for (const char* text : {"a", "abcdefghi", "abcdefgh"}) {
        const auto room = ring.reserve(16);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data()) % 8, 0U);
        ring.commit(std::strlen(text));
    }
    while (!ring.acquire().empty()) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring.acquire().data()) % 8, 0U);
        ring.release();
    }
}

TEST(SpscRing, FillsToTheLastByte) {
    Memory memory(64);
    SpscRing ring(memory.bytes());
    EXPECT_TRUE(put(ring, "12345678"));
    EXPECT_TRUE(put(ring, "12345678"));
    EXPECT_TRUE(put(ring, "12345678"));
    EXPECT_TRUE(put(ring, "12345678"));
    EXPECT_FALSE(put(ring, "1"));
    EXPECT_EQ(take(ring), "12345678");
    EXPECT_TRUE(put(ring, "abcdefgh"));
    EXPECT_FALSE(put(ring, "1"));
}

TEST(SpscRing, IsFullAfterIndexWraps) {
    Memory memory(64);
    SpscRing ring(memory.bytes());
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(put(ring, "x"));
        EXPECT_EQ(take(ring), "x");
    }
    // Positions 48, 64, 80, 96: the second begins a new round.
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(put(ring, "round"));
    }
    EXPECT_FALSE(put(ring, "x"));
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(take(ring), "round");
    }
    EXPECT_TRUE(ring.acquire().empty());
}

TEST(SpscRing, ARecordThatWouldCrossTheEndStartsAgainAtTheBeginning) {
    Memory memory(64);
    SpscRing ring(memory.bytes());
    EXPECT_TRUE(put(ring, std::string(24, 'a')));  // 32 bytes with its header
    EXPECT_TRUE(put(ring, "b"));                   // up to 48
    EXPECT_EQ(take(ring), std::string(24, 'a'));
    EXPECT_TRUE(put(ring, std::string(24, 'c')));  // 16 left at the end: they are skipped
    EXPECT_FALSE(put(ring, "d"));                  // only the skipped bytes are left
    EXPECT_EQ(take(ring), "b");
    EXPECT_EQ(take(ring), std::string(24, 'c'));
    EXPECT_TRUE(put(ring, "d"));
    EXPECT_EQ(take(ring), "d");
}

TEST(SpscRing, TakesTheLargestRecordWhereverItStands) {
    constexpr std::size_t kSize = 256;
    const std::string largest(SpscRing::record_size_bytes_max(kSize), 'L');
    for (std::size_t before = 0; before < kSize / 8; ++before) {
        Memory memory(kSize);
        SpscRing ring(memory.bytes());
        for (std::size_t i = 0; i < before; ++i) {
            ASSERT_TRUE(put(ring, "x"));
            ASSERT_EQ(take(ring), "x");
        }
        EXPECT_TRUE(put(ring, largest)) << before;
        EXPECT_EQ(take(ring), largest);
    }
}

TEST(SpscRing, RefusesWhatNeverFits) {
    Memory memory(64);
    SpscRing ring(memory.bytes());
    EXPECT_TRUE(ring.reserve(57).empty());
    EXPECT_TRUE(ring.reserve(~std::size_t{0}).empty());
    EXPECT_FALSE(ring.reserve(56).empty());
}

TEST(SpscRing, BehavesAsAQueueOfBoundedSize) {
    std::mt19937 random(7);
    for (const std::size_t size : {64U, 128U, 1024U}) {
        Memory memory(size);
        SpscRing ring(memory.bytes());
        std::deque<std::string> model;
        int refused = 0;
        for (int turn = 0; turn < 20'000; ++turn) {
            if (random() % 2 == 0) {
                const std::string text(1 + random() % SpscRing::record_size_bytes_max(size),
                                       static_cast<char>('a' + turn % 26));
                if (put(ring, text, text.size() + random() % 8)) {
                    model.push_back(text);
                } else {
                    ++refused;
                    EXPECT_FALSE(model.empty()) << "an empty ring takes every record";
                }
            } else if (model.empty()) {
                EXPECT_TRUE(ring.acquire().empty());
            } else {
                EXPECT_EQ(take(ring), model.front());
                model.pop_front();
            }
        }
        EXPECT_GT(refused, 0);
    }
}

// Every byte of every record depends on its number: a reader that sees a record before it is whole, or a writer that
// overwrites one that is being read, shows. Under the thread sanitizer a missing barrier is a race by itself.
TEST(SpscRing, CarriesRecordsBetweenTwoThreads) {
    constexpr std::uint64_t kRecords = 50'000;
    Memory memory(8'192);  // on a busy machine the one waits long for the other, each time that it is full or empty
    SpscRing ring(memory.bytes());
    const auto size_of = [](std::uint64_t number) { return 1 + number * 2'654'435'761 % 120; };
    const auto byte_of = [](std::uint64_t number, std::size_t i) { return static_cast<std::byte>(number * 31 + i); };
    std::thread producer([&] {
        for (std::uint64_t number = 0; number < kRecords;) {
            const auto room = ring.reserve(size_of(number));
            if (room.empty()) {
                std::this_thread::yield();
                continue;
            }
            for (std::size_t i = 0; i < room.size(); ++i) {
                room[i] = byte_of(number, i);
            }
            ring.commit(room.size());
            ++number;
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t number = 0; number < kRecords;) {
        const auto record = ring.acquire();
        if (record.empty()) {
            std::this_thread::yield();
            continue;
        }
        wrong += record.size() != size_of(number) ? 1 : 0;
        for (std::size_t i = 0; i < record.size(); ++i) {
            wrong += record[i] != byte_of(number, i) ? 1 : 0;
        }
        ring.release();
        ++number;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_TRUE(ring.acquire().empty());
}

}  // namespace
}  // namespace perfleet
