#include "target-collector/small/frame_chain.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace perfleet::frame_chain_test {
namespace {

struct alignas(16) Stack {
    std::array<std::uint64_t, 64> words{};

    [[nodiscard]] std::uint64_t address(std::size_t word) const {
        return reinterpret_cast<std::uint64_t>(&words[word]);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words}); }
    void put_record(std::size_t word, std::uint64_t caller, std::uint64_t return_address) {
        words[word] = caller;
        words[word + 1] = return_address;
    }
    [[nodiscard]] std::vector<std::uint64_t> chain(std::uint64_t frame_pointer, std::size_t frames_max = 8) const {
        std::vector<std::uint64_t> frames(frames_max);
        frames.resize(walk_frames({0x1000, frame_pointer, 0}, bytes(), frames, FrameLayout::kRecordAtPointer));
        return frames;
    }
    // As RISC-V has it.
    [[nodiscard]] std::vector<std::uint64_t> chain_below(std::uint64_t frame_pointer,
                                                         std::uint64_t return_address) const {
        std::vector<std::uint64_t> frames(8);
        frames.resize(
            walk_frames({0x1000, frame_pointer, return_address}, bytes(), frames, FrameLayout::kRecordBelowPointer));
        return frames;
    }
};
using Frames = std::vector<std::uint64_t>;

TEST(FrameChain, FollowsRecordsUpToTheOutermostCaller) {
    Stack stack;
    stack.put_record(2, stack.address(8), 0x2000);
    stack.put_record(8, stack.address(62), 0x3000);
    stack.put_record(62, 0, 0x4000);
    EXPECT_EQ(stack.chain(stack.address(2)), (Frames{0x1000, 0x2000, 0x3000, 0x4000}));
    EXPECT_EQ(stack.chain(stack.address(2), 2), (Frames{0x1000, 0x2000}));
    EXPECT_EQ(stack.chain(stack.address(2), 0), Frames{});
}

TEST(FrameChain, EndsWhereTheStackDoesOrARecordLeadsDown) {
    Stack stack;
    EXPECT_EQ(stack.chain(0), Frames{0x1000});
    EXPECT_EQ(stack.chain(stack.address(0) - 16), Frames{0x1000});
    EXPECT_EQ(stack.chain(stack.address(0) + 8), Frames{0x1000}) << "no record stands there";
    EXPECT_EQ(stack.chain(stack.address(0) + 63 * 8), Frames{0x1000}) << "half a record";
    stack.put_record(2, stack.address(2), 0x2000);
    EXPECT_EQ(stack.chain(stack.address(2)), (Frames{0x1000, 0x2000})) << "a circle";
    stack.put_record(2, stack.address(0), 0x2000);
    EXPECT_EQ(stack.chain(stack.address(2)), (Frames{0x1000, 0x2000}));
    stack.put_record(4, stack.address(2), 0);
    EXPECT_EQ(stack.chain(stack.address(4)), Frames{0x1000}) << "no return address";
}

TEST(FrameChain, RecordsStandBelowTheFramePointerOfRiscV) {
    Stack stack;
    stack.put_record(2, stack.address(10), 0x2000);
    stack.put_record(8, stack.address(64), 0x3000);
    stack.put_record(62, 0, 0x4000);
    EXPECT_EQ(stack.chain_below(stack.address(4), 0x5000), (Frames{0x1000, 0x2000, 0x3000, 0x4000}));
    EXPECT_EQ(stack.chain_below(stack.address(0), 0x5000), Frames{0x1000}) << "the record would stand below the stack";
    EXPECT_EQ(stack.chain_below(8, 0x5000), Frames{0x1000});
    EXPECT_EQ(stack.chain_below(stack.address(64) + 16, 0x5000), Frames{0x1000});
}

TEST(FrameChain, ALeafOfRiscVHasItsReturnAddressInTheRegister) {
    Stack stack;
    stack.words[3] = stack.address(10);  // all that the leaf keeps
    stack.put_record(8, stack.address(64), 0x3000);
    stack.put_record(62, 0, 0x4000);
    EXPECT_EQ(stack.chain_below(stack.address(4), 0x2000), (Frames{0x1000, 0x2000, 0x3000, 0x4000}));
}

TEST(FrameChain, AStackOfAnythingIsReadWithinItsBounds) {
    std::mt19937_64 random{1};
    for (int i = 0; i < 10'000; ++i) {
        Stack stack;
        for (std::uint64_t& word : stack.words) {
            word = random() % 3 == 0 ? random() : stack.address(0) + random() % 600;
        }
        EXPECT_LE(stack.chain(stack.address(0) + random() % 512, 16).size(), 16U);
        EXPECT_LE(stack.chain_below(stack.address(0) + random() % 512, random()).size(), 8U);
    }
}

}  // namespace
}  // namespace perfleet::frame_chain_test
