#include "target-collector/small/frame_chain.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
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
    stack.put_record(1, 0, 0x2000);
    EXPECT_EQ(stack.chain(stack.address(1)), Frames{0x1000}) << "no record stands there";
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
    constexpr std::uint64_t kCodeAboveTheStack = 0xffff'ffff'8000'0000;
    stack.put_record(2, stack.address(10), kCodeAboveTheStack);
    EXPECT_EQ(stack.chain_below(stack.address(4), 0x5000), (Frames{0x1000, kCodeAboveTheStack, 0x3000, 0x4000}));
    EXPECT_EQ(stack.chain_below(stack.address(64) + 16, 0x5000), Frames{0x1000});
}

TEST(FrameChain, ALeafOfRiscVHasItsReturnAddressInTheRegister) {
    Stack stack;
    stack.words[3] = stack.address(10);  // all that the leaf keeps
    stack.put_record(8, stack.address(64), 0x3000);
    stack.put_record(62, 0, 0x4000);
    EXPECT_EQ(stack.chain_below(stack.address(4), 0x2000), (Frames{0x1000, 0x2000, 0x3000, 0x4000}));
}

// The same stack as if it lay at other addresses here.
class MovedStack final : public StackReader {
public:
    static constexpr std::uint64_t kBegin = 0x7000'0000;

    explicit MovedStack(const Stack& stack) : stack_{stack} {}
    void begin_chain() override { ++chains; }
    bool read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) override {
        const std::span<const std::byte> bytes = stack_.bytes();
        if (address < kBegin || address - kBegin > bytes.size() - kRecordSizeBytes) {
            return false;
        }
        EXPECT_EQ(address % kRecordSizeBytes, 0U);
        std::memcpy(into.data(), bytes.data() + (address - kBegin), kRecordSizeBytes);
        return true;
    }

    int chains = 0;

private:
    const Stack& stack_;
};

TEST(FrameChain, AStackThatIsntMappedHereIsReadByItsReader) {
    Stack stack;
    stack.put_record(2, MovedStack::kBegin + 8 * 8, 0x2000);
    stack.put_record(8, MovedStack::kBegin + 64 * 8, 0x3000);
    stack.put_record(62, 0, 0x4000);
    MovedStack moved{stack};
    Frames frames(8);
    frames.resize(walk_frames({0x1000, MovedStack::kBegin + 16, 0}, moved, frames, FrameLayout::kRecordAtPointer));
    EXPECT_EQ(frames, (Frames{0x1000, 0x2000, 0x3000})) << "it ends where the reader has no more";
    frames.resize(8);
    frames.resize(walk_frames({0x1000, 0, 0}, moved, frames, FrameLayout::kRecordBelowPointer));
    EXPECT_EQ(frames, Frames{0x1000});
    EXPECT_EQ(moved.chains, 2);
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
