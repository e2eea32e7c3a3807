// Stacks of other address spaces, by a libsel4 whose frames are pages of this process: what the window maps is really
// mapped there, read-only, and what it doesn't map can't be touched.
#include "target-collector/sel4/kernel/frame_window.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t kPage = 4'096;
constexpr seL4_CPtr kOwnCnode = 2;
constexpr seL4_CPtr kOwnSpace = 3;

// Frames by their capabilities; copies have capabilities of their own, and one place at most.
class Machine {
public:
    Machine() : file_{::memfd_create("frames", 0)} {
        EXPECT_GE(file_, 0);
        EXPECT_EQ(::ftruncate(file_, 64 * kPage), 0);
        window_ = ::mmap(nullptr, perfleet::sel4::FrameWindow::kPlaces * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
        EXPECT_NE(window_, MAP_FAILED);
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() {
        ::munmap(window_, perfleet::sel4::FrameWindow::kPlaces * kPage);
        ::close(file_);
    }

    // Two words at that offset of the frame.
    void put(seL4_Word page, std::size_t offset, std::uint64_t caller, std::uint64_t return_address) const {
        const std::uint64_t words[] = {caller, return_address};
        EXPECT_EQ(::pwrite(file_, words, sizeof words, static_cast<off_t>(page * kPage + offset)), 16);
    }
    [[nodiscard]] std::uint64_t window() const { return reinterpret_cast<std::uint64_t>(window_); }
    void map(seL4_Word page, seL4_Word address) const {
        EXPECT_NE(::mmap(reinterpret_cast<void*>(address), kPage, PROT_READ, MAP_SHARED | MAP_FIXED, file_,
                         static_cast<off_t>(page * kPage)),
                  MAP_FAILED);
    }
    static void unmap(seL4_Word address) {
        EXPECT_NE(
            ::mmap(reinterpret_cast<void*>(address), kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
    }

    std::map<seL4_CPtr, seL4_Word> frames;  // the page that a capability is of
    std::map<seL4_CPtr, seL4_Word> mapped;  // where that of a copy is mapped
    int copies = 0;
    bool refuses_to_map = false;

    // Revokes the page: all capabilities of it, and what they map.
    void revoke(seL4_Word page) {
        for (const auto& [capability, address] : mapped) {
            if (frames.at(capability) == page) {
                unmap(address);
            }
        }
        std::erase_if(mapped, [&](const auto& entry) { return frames.at(entry.first) == page; });
        std::erase_if(frames, [&](const auto& entry) { return entry.second == page; });
    }

private:
    int file_;
    void* window_;
};
Machine* machine = nullptr;

}  // namespace

extern "C" {
int seL4_CNode_Copy(seL4_CPtr to_root, seL4_CPtr to, uint8_t /*depth*/, seL4_CPtr root, seL4_CPtr from,
                    uint8_t /*depth*/, seL4_CapRights_t rights) {
    EXPECT_EQ(to_root, kOwnCnode);
    EXPECT_EQ(root, kOwnCnode);
    EXPECT_EQ(rights, seL4_CanRead);
    if (machine->frames.contains(to)) {
        return seL4_DeleteFirst;
    }
    if (!machine->frames.contains(from)) {
        return seL4_InvalidCapability;
    }
    machine->frames[to] = machine->frames.at(from);
    ++machine->copies;
    return seL4_NoError;
}
int seL4_CNode_Delete(seL4_CPtr /*root*/, seL4_CPtr slot, uint8_t /*depth*/) {
    if (const auto place = machine->mapped.find(slot); place != machine->mapped.end()) {
        Machine::unmap(place->second);
        machine->mapped.erase(place);
    }
    machine->frames.erase(slot);
    return seL4_NoError;
}
int seL4_X86_Page_Map(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word address, seL4_CapRights_t rights,
                      seL4_X86_VMAttributes /*attributes*/) {
    EXPECT_EQ(vspace, kOwnSpace);
    EXPECT_EQ(rights, seL4_CanRead);
    if (machine->refuses_to_map) {
        return seL4_InvalidCapability;
    }
    machine->map(machine->frames.at(frame), address);
    machine->mapped[frame] = address;
    return seL4_NoError;
}
int seL4_X86_Page_Unmap(seL4_CPtr /*frame*/) { return seL4_NoError; }
seL4_X86_Page_GetAddress_t seL4_X86_Page_GetAddress(seL4_CPtr frame) {
    const auto page = machine->frames.find(frame);
    return page == machine->frames.end() ? seL4_X86_Page_GetAddress_t{seL4_InvalidCapability, 7}
                                         : seL4_X86_Page_GetAddress_t{seL4_NoError, page->second * kPage};
}
}  // extern "C"

namespace perfleet::sel4::frame_window_test {
namespace {

using Chain = std::vector<std::uint64_t>;

class FrameWindowTest : public testing::Test {
protected:
    FrameWindowTest() { machine = &machine_; }
    ~FrameWindowTest() override { machine = nullptr; }

    Chain chain(StackReader& stack, std::uint64_t frame_pointer) {
        Chain found(8);
        found.resize(
            walk_frames({.pc = 1, .frame_pointer = frame_pointer}, stack, found, FrameLayout::kRecordAtPointer));
        return found;
    }

    static constexpr std::uint64_t kStack = 0x7000'0000;  // nothing of this process lies there

    Machine machine_;
    FrameWindow window_{{.address = machine_.window(), .first_slot = 100, .cnode = kOwnCnode, .vspace = kOwnSpace}};
};

TEST_F(FrameWindowTest, AChainGoesOnFromOneFrameOfMemoryToTheNext) {
    machine_.frames = {{10, 1}, {11, 2}};
    machine_.put(1, kPage - 16, kStack + kPage + 64, 0x1000);  // the last record of the first page
    machine_.put(2, 64, kStack + kPage + 128, 0x2000);
    machine_.put(2, 128, 0, 0x3000);
    const ForeignFrame frames[] = {{kStack, 10}, {kStack + kPage, 11}};
    ForeignStack stack{window_, frames};
    EXPECT_EQ(chain(stack, kStack + kPage - 16), (Chain{1, 0x1000, 0x2000, 0x3000}));
    EXPECT_EQ(machine_.copies, 2);
    EXPECT_EQ(chain(stack, kStack + kPage - 16), (Chain{1, 0x1000, 0x2000, 0x3000}));
    EXPECT_EQ(machine_.copies, 2) << "both were mapped already";
    EXPECT_EQ(window_.counts().mapped, 2U);
    EXPECT_EQ(chain(stack, kStack - 16), Chain{1}) << "below the stack";
    EXPECT_EQ(chain(stack, kStack + 2 * kPage), Chain{1}) << "above it";
    window_.close();
    EXPECT_EQ(machine_.frames.size(), 2U) << "no copy is left";
    EXPECT_TRUE(machine_.mapped.empty());
}

TEST_F(FrameWindowTest, ADeletedFrameIsNotTouched) {
    machine_.frames = {{10, 1}};
    machine_.put(1, 0, 0, 0x1000);
    const ForeignFrame frames[] = {{kStack, 10}};
    ForeignStack stack{window_, frames};
    ASSERT_EQ(chain(stack, kStack), (Chain{1, 0x1000}));
    machine_.revoke(1);
    EXPECT_EQ(chain(stack, kStack), Chain{1});
    EXPECT_EQ(window_.counts().gone, 1U);
    // Another thread's stack under the same capability, in the same memory and in another.
    machine_.frames[10] = 1;
    EXPECT_EQ(chain(stack, kStack), (Chain{1, 0x1000}));
    machine_.revoke(1);
    machine_.frames[10] = 2;
    machine_.put(2, 0, 0, 0x2000);
    EXPECT_EQ(chain(stack, kStack), (Chain{1, 0x2000}));
    // The same once more between two chains: the copy that was mapped is gone.
    machine_.revoke(2);
    machine_.frames[10] = 2;
    EXPECT_EQ(chain(stack, kStack), (Chain{1, 0x2000}));
    // Its owner deletes the capability alone: the copy would keep the memory.
    machine_.frames.erase(10);
    EXPECT_EQ(chain(stack, kStack), Chain{1});
    EXPECT_TRUE(machine_.mapped.empty());
}

TEST_F(FrameWindowTest, TheFrameThatWasUsedLeastRecentlyGivesWay) {
    std::vector<ForeignFrame> frames;
    for (std::size_t i = 0; i <= FrameWindow::kPlaces; ++i) {
        machine_.frames[10 + i] = i;
        machine_.put(i, 0, 0, 0x1000 + i);
        frames.push_back({kStack + i * kPage, 10 + i});
    }
    ForeignStack stack{window_, frames};
    const auto use = [&](std::size_t i) { EXPECT_EQ(chain(stack, kStack + i * kPage), (Chain{1, 0x1000 + i})); };
    for (std::size_t i = 0; i < FrameWindow::kPlaces; ++i) {
        use(i);
    }
    use(0);
    use(FrameWindow::kPlaces);
    EXPECT_EQ(window_.counts().mapped, FrameWindow::kPlaces + 1);
    use(0);
    EXPECT_EQ(window_.counts().mapped, FrameWindow::kPlaces + 1) << "it was still mapped";
    use(1);
    EXPECT_EQ(window_.counts().mapped, FrameWindow::kPlaces + 2) << "it had given way";
}

TEST_F(FrameWindowTest, AFrameThatCantBeMappedLeavesNoCopy) {
    machine_.frames = {{10, 1}};
    machine_.refuses_to_map = true;
    const ForeignFrame frames[] = {{kStack, 10}};
    ForeignStack stack{window_, frames};
    EXPECT_EQ(chain(stack, kStack), Chain{1});
    EXPECT_EQ(machine_.copies, 1);
    EXPECT_EQ(machine_.frames.size(), 1U);
    EXPECT_EQ(window_.counts().gone, 1U);
}

TEST_F(FrameWindowTest, MoreFramesThanPlacesTakeTurns) {
    constexpr std::size_t kFrames = 3 * FrameWindow::kPlaces;
    std::vector<ForeignFrame> frames;
    for (std::size_t i = 0; i < kFrames; ++i) {
        machine_.frames[10 + i] = i;
        const bool is_last = i + 1 == kFrames;
        machine_.put(i, 32, is_last ? 0 : kStack + (i + 1) * kPage + 32, 0x1000 + i);
        frames.push_back({kStack + i * kPage, 10 + i});
    }
    ForeignStack stack{window_, frames};
    for (int round = 0; round < 3; ++round) {
        Chain expected(8);
        std::iota(expected.begin() + 1, expected.end(), 0x1000);
        expected[0] = 1;
        EXPECT_EQ(chain(stack, kStack + 32), expected);
        Chain last{1, 0x1000 + kFrames - 2, 0x1000 + kFrames - 1};
        EXPECT_EQ(chain(stack, kStack + (kFrames - 2) * kPage + 32), last);
    }
    EXPECT_LE(machine_.mapped.size(), FrameWindow::kPlaces);
    EXPECT_EQ(machine_.frames.size(), kFrames + machine_.mapped.size());
}

}  // namespace
}  // namespace perfleet::sel4::frame_window_test
