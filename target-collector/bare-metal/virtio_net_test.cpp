// The network card's driver against a device of this test: registers are memory, which holds the last value written.
#include "target-collector/bare-metal/virtio_net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "target-collector/bare-metal/testing/played_queue.h"

namespace perfleet::bare_metal::virtio_net_test {
namespace {

constexpr std::uint16_t kEntries = 16;
constexpr std::uint32_t kMacAddress = 1U << 5;
constexpr std::uint32_t kStatus = 1U << 16;
constexpr std::size_t kConfig = 0x100;

// A card whose queues are found in the driver's memory, at the pages that hold descriptors.
class Card {
public:
    explicit Card(std::uint32_t version, std::uint32_t features) {
        set(0x00, 0x7472'6976);
        set(0x04, version);
        set(0x08, 1);
        set(0x10, features);
        set(0x34, 256);
        const std::uint8_t mac[] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
        std::memcpy(reinterpret_cast<std::byte*>(registers_.data()) + kConfig, mac, sizeof mac);
        set_link(true);
        is_started_ = net_->start({.devices = reinterpret_cast<std::uint64_t>(registers_.data()), .device_count = 1});
        // The receiving queue is the one that the device has buffers of; the other's first page is empty, 8 pages on.
        auto* const memory = reinterpret_cast<std::byte*>(net_.get());
        for (std::size_t at = 0; at < sizeof(VirtioNet) && queues_.empty(); at += PlayedQueue::kPageSizeBytes) {
            const PlayedQueue queue{kEntries, memory + at};
            if (queue.is_for_device_to_write() && queue.has_next()) {
                queues_.push_back(queue);
                queues_.emplace_back(kEntries, memory + at + sizeof(Virtqueue<kEntries, 1'536>));
            }
        }
    }

    void set_link(bool is_up) { reinterpret_cast<std::uint8_t*>(registers_.data())[kConfig + 6] = is_up ? 1 : 0; }
    [[nodiscard]] std::uint32_t get(std::size_t offset) const { return registers_[offset / 4]; }

    [[nodiscard]] bool is_started() const { return is_started_; }
    VirtioNet& net() { return *net_; }
    PlayedQueue& in() { return queues_.at(0); }
    PlayedQueue& out() { return queues_.at(1); }

    bool receive(std::size_t header_bytes, std::span<const std::byte> frame) {
        std::vector<std::byte> bytes(header_bytes);
        bytes.insert(bytes.end(), frame.begin(), frame.end());
        return in().put(bytes);
    }

private:
    void set(std::size_t offset, std::uint32_t value) { registers_[offset / 4] = value; }

    std::vector<std::uint32_t> registers_ = std::vector<std::uint32_t>(0x1000 / 4);
    std::unique_ptr<VirtioNet> net_ = std::make_unique<VirtioNet>();
    bool is_started_ = false;
    std::vector<PlayedQueue> queues_;
};

std::vector<std::byte> frame_of(std::size_t size_bytes, std::uint8_t first) {
    std::vector<std::byte> frame(size_bytes);
    for (std::byte& byte : frame) {
        byte = std::byte{first++};
    }
    return frame;
}

// Version of the device, and the size of what stands before each frame.
class VirtioNetTest : public testing::TestWithParam<std::pair<std::uint32_t, std::size_t>> {
protected:
    Card card_{GetParam().first, kMacAddress | kStatus};
    std::size_t header_bytes_ = GetParam().second;
};

INSTANTIATE_TEST_SUITE_P(LegacyAndModern, VirtioNetTest,
                         testing::Values(std::pair{1U, std::size_t{10}}, std::pair{2U, std::size_t{12}}));

TEST_P(VirtioNetTest, FramesPassBothWaysThroughManyTurnsOfItsRings) {
    ASSERT_TRUE(card_.is_started());
    EXPECT_EQ(card_.net().mac_address(), (EthernetPort::MacAddress{0x52, 0x54, 0, 0x12, 0x34, 0x56}));
    for (std::size_t i = 0; i < 70'000; ++i) {  // 16-bit counts wrap
        const auto frame = frame_of(14 + i % 1'501, static_cast<std::uint8_t>(i));
        ASSERT_TRUE(card_.receive(header_bytes_, frame));
        const auto received = card_.net().receive();
        ASSERT_TRUE(std::equal(received.begin(), received.end(), frame.begin(), frame.end())) << i;
        const auto outgoing = card_.net().outgoing_frame();
        ASSERT_EQ(outgoing.size(), EthernetPort::kFrameSizeBytesMax);
        std::memcpy(outgoing.data(), frame.data(), frame.size());
        card_.net().send(frame.size());
        const auto sent = card_.out().take();
        ASSERT_EQ(sent.size(), header_bytes_ + frame.size());
        ASSERT_TRUE(std::equal(sent.begin() + static_cast<std::ptrdiff_t>(header_bytes_), sent.end(), frame.begin()));
        ASSERT_TRUE(std::all_of(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(header_bytes_),
                                [](std::byte byte) { return byte == std::byte{0}; }));
    }
    EXPECT_EQ(card_.net().counts().frames_received, 70'000U);
    EXPECT_EQ(card_.net().counts().frames_sent, 70'000U);
}

TEST_P(VirtioNetTest, ADeviceThatTakesNothingLeavesNoFrameToFill) {
    for (std::size_t i = 0; i < kEntries; ++i) {
        ASSERT_FALSE(card_.net().outgoing_frame().empty()) << i;
        card_.net().send(60);
    }
    EXPECT_TRUE(card_.net().outgoing_frame().empty());
    EXPECT_FALSE(card_.out().take().empty());
    EXPECT_FALSE(card_.net().outgoing_frame().empty());
}

TEST_P(VirtioNetTest, FramesWithoutAWholeHeaderAreDroppedAndCounted) {
    for (std::size_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(card_.receive(header_bytes_, frame_of(i % 14, 1))) << i;
        ASSERT_TRUE(card_.receive(header_bytes_, frame_of(60, static_cast<std::uint8_t>(i)))) << i;
        const auto received = card_.net().receive();
        ASSERT_EQ(received.size(), 60U);
        ASSERT_EQ(received.front(), static_cast<std::byte>(i));
        ASSERT_TRUE(card_.net().receive().empty());
    }
    EXPECT_EQ(card_.net().counts().frames_damaged, 100U);
}

TEST_P(VirtioNetTest, ItsLinkIsTheDevices) {
    EXPECT_TRUE(card_.net().is_link_up());
    card_.set_link(false);
    EXPECT_FALSE(card_.net().is_link_up());
}

TEST(VirtioNet, WithoutTheseFeaturesItHasAnAddressOfItsOwnAndALink) {
    Card card{1, 0};
    card.set_link(false);
    EXPECT_TRUE(card.net().is_link_up());
    EXPECT_EQ(card.net().mac_address()[0] & 3, 2) << "administered locally, of one card";
}

TEST(VirtioNet, OfAModernDeviceEachPartOfAQueueHasItsAddress) {
    Card card{2, kMacAddress | kStatus};
    ASSERT_TRUE(card.is_started());
    EXPECT_EQ(card.get(0x44), 1U) << "the queue isn't ready";
    EXPECT_EQ(card.get(0x20), 1U) << "of the upper features it needs version 1 alone";
    // Of the sending queue, which was set last.
    const std::uint64_t descriptors = card.get(0x80) | std::uint64_t{card.get(0x84)} << 32;
    const std::uint64_t given = card.get(0x90) | std::uint64_t{card.get(0x94)} << 32;
    const std::uint64_t used = card.get(0xa0) | std::uint64_t{card.get(0xa4)} << 32;
    PlayedQueue out{kEntries, reinterpret_cast<std::byte*>(descriptors), reinterpret_cast<std::byte*>(given),
                    reinterpret_cast<std::byte*>(used)};
    ASSERT_EQ(card.net().outgoing_frame().size(), EthernetPort::kFrameSizeBytesMax);
    card.net().send(64);
    EXPECT_EQ(out.take().size(), 76U);
}

TEST(VirtioNet, AnotherVersionOrAnotherDeviceIsNone) { EXPECT_FALSE((Card{3, kMacAddress}).is_started()); }

}  // namespace
}  // namespace perfleet::bare_metal::virtio_net_test
