#include "target-collector/ring/untrusted_ring.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace perfleet {
namespace untrusted_ring_test {

constexpr std::uint64_t kCapacity = 8;
using Ring = UntrustedRing<2>;

// The producer's side, as programs write it.
struct Memory {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kCapacity * 2);

    Ring ring() { return Ring{head, tail, words}; }
    bool put(std::uint64_t first, std::uint64_t second) {
        const std::uint64_t at = std::atomic_ref{head}.load();
        if (at - std::atomic_ref{tail}.load(std::memory_order_acquire) >= kCapacity) {
            return false;
        }
        std::atomic_ref{words[(at % kCapacity) * 2]}.store(first, std::memory_order_relaxed);
        std::atomic_ref{words[((at % kCapacity) * 2) + 1]}.store(second, std::memory_order_relaxed);
        std::atomic_ref{head}.store(at + 1, std::memory_order_release);
        return true;
    }
};

TEST(UntrustedRing, GivesRecordsInOrderAndSpaceWhenItIsReleased) {
    Memory memory;
    Ring ring = memory.ring();
    Ring::Record record{};
    EXPECT_FALSE(ring.read(record));
    for (std::uint64_t i = 0; i < kCapacity; ++i) {
        EXPECT_TRUE(memory.put(i, ~i));
    }
    EXPECT_FALSE(memory.put(99, 99));
    for (std::uint64_t i = 0; i < kCapacity; ++i) {
        ASSERT_TRUE(ring.read(record));
        EXPECT_EQ(record, (Ring::Record{i, ~i}));
        ring.pop();
    }
    EXPECT_FALSE(ring.read(record));
    EXPECT_FALSE(memory.put(99, 99));
    ring.release();
    EXPECT_TRUE(memory.put(99, 1));
    ASSERT_TRUE(ring.read(record));
    EXPECT_EQ(record, (Ring::Record{99, 1}));
}

TEST(UntrustedRing, AHeadThatCanNotBeBreaksIt) {
    for (const std::uint64_t head : {kCapacity + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
        Memory memory;
        Ring ring = memory.ring();
        memory.head = head;
        Ring::Record record{};
        EXPECT_FALSE(ring.read(record)) << head;
        EXPECT_TRUE(ring.is_broken()) << head;
        memory.head = 1;
        EXPECT_FALSE(ring.read(record)) << head;
    }
    Memory memory;
    Ring ring = memory.ring();
    Ring::Record record{};
    ASSERT_TRUE(memory.put(1, 2));
    ASSERT_TRUE(ring.read(record));
    ring.pop();
    memory.head = 0;
    EXPECT_FALSE(ring.read(record));
    EXPECT_TRUE(ring.is_broken());
}

TEST(UntrustedRing, LosesNothingBetweenTwoThreads) {
    constexpr std::uint64_t kCount = 200'000;
    Memory memory;
    std::thread producer{[&] {
        for (std::uint64_t i = 0; i < kCount;) {
            if (memory.put(i, i * 3)) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    }};
    Ring ring = memory.ring();
    std::uint64_t next = 0;
    bool is_right = true;
    while (next < kCount) {
        Ring::Record record{};
        if (!ring.read(record)) {
            ring.release();
            std::this_thread::yield();
            continue;
        }
        is_right = is_right && record == Ring::Record{next, next * 3};
        ring.pop();
        ++next;
    }
    producer.join();
    EXPECT_TRUE(is_right);
    EXPECT_FALSE(ring.is_broken());
}

// Another thread writes anything anywhere all the time: the reader ends, and never reads outside.
TEST(UntrustedRing, SurvivesAProgramThatScribbles) {
    Memory memory;
    std::atomic<bool> is_over{false};
    std::thread hostile{[&] {
        std::mt19937_64 random{7};
        while (!is_over) {
            std::atomic_ref{memory.words[random() % memory.words.size()]}.store(random(), std::memory_order_relaxed);
            std::atomic_ref{memory.tail}.store(random(), std::memory_order_relaxed);
            std::atomic_ref{memory.head}.store(random() % (3 * kCapacity), std::memory_order_relaxed);
        }
    }};
    for (int round = 0; round < 2'000; ++round) {
        Ring ring = memory.ring();
        Ring::Record record{};
        std::uint64_t count = 0;
        for (; ring.read(record); ++count) {
            ring.pop();
            ring.release();
            ASSERT_LE(ring.waiting_count(), kCapacity);
            if (count > 3 * kCapacity) {
                break;
            }
        }
    }
    is_over = true;
    hostile.join();
}

}  // namespace untrusted_ring_test
}  // namespace perfleet
