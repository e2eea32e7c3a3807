// The virtio port's driver against a device of this test: registers are memory.
#include "target-collector/bare-metal/virtio_serial.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "target-collector/bare-metal/testing/played_queue.h"

namespace perfleet::bare_metal::virtio_serial_test {
namespace {

constexpr std::size_t kEntries = 8;
constexpr std::size_t kPage = PlayedQueue::kPageSizeBytes;

class VirtioSerialTest : public testing::Test {
protected:
    VirtioSerialTest() {
        constexpr std::size_t kDevice = 3;  // of four; the others are other devices
        const auto set = [&](std::size_t device, std::size_t offset, std::uint32_t value) {
            registers_[(device * kDistance + offset) / 4] = value;
        };
        for (std::size_t i = 0; i < kDevices; ++i) {
            set(i, 0x00, 0x7472'6976);
            set(i, 0x04, 1);
            set(i, 0x08, i == kDevice ? 3 : 2);
            set(i, 0x34, 64);
        }
        is_started_ = serial_->start({.devices = reinterpret_cast<std::uint64_t>(registers_.data()),
                                      .device_distance = kDistance,
                                      .device_count = static_cast<int>(kDevices)});
        // The first buffer of a queue lies behind its two pages.
        auto* const memory = reinterpret_cast<std::byte*>(serial_.get());
        for (std::size_t at = 0; at + 2 * kPage < sizeof(VirtioSerial); at += kPage) {
            std::uint64_t first = 0;
            std::memcpy(&first, memory + at, sizeof first);
            const bool is_for_device_to_write = memory[at + 12] == std::byte{2};
            if (is_for_device_to_write && first == reinterpret_cast<std::uint64_t>(memory + at + 2 * kPage)) {
                queues_.emplace_back(kEntries, memory + at);
            }
        }
    }

    void control(std::uint32_t port, std::uint16_t event, std::uint16_t value) {
        std::byte message[8];
        std::memcpy(message, &port, 4);
        std::memcpy(message + 4, &event, 2);
        std::memcpy(message + 6, &value, 2);
        ASSERT_TRUE(queues_[0].put(message));
    }

    static constexpr std::size_t kDevices = 4;
    static constexpr std::size_t kDistance = 0x1000;

    std::vector<std::uint32_t> registers_ = std::vector<std::uint32_t>(kDevices * kDistance / 4);
    std::unique_ptr<VirtioSerial> serial_ = std::make_unique<VirtioSerial>();
    bool is_started_ = false;
    std::vector<PlayedQueue> queues_;  // control messages, bytes
};

TEST_F(VirtioSerialTest, HearsItsPeerThroughADaysWorthOfBuffersOnOneConnection) {
    ASSERT_TRUE(is_started_);
    ASSERT_EQ(queues_.size(), 2U);
    EXPECT_EQ(serial_->connection(), 0U);
    control(1, 1, 1);  // PORT_ADD
    control(1, 6, 1);  // PORT_OPEN
    EXPECT_EQ(serial_->connection(), 1U);
    constexpr std::uint32_t kBuffers = 600'000;  // 32,768 in an hour and a half
    std::vector<std::byte> buffer;
    std::vector<std::byte> read(700);
    std::uint8_t said = 0;
    std::uint8_t heard = 0;
    std::size_t said_bytes = 0;
    std::size_t heard_bytes = 0;
    for (std::uint32_t i = 0; i < kBuffers;) {
        buffer.resize(1 + i % 40);
        for (std::byte& byte : buffer) {
            byte = std::byte{said++};
        }
        if (queues_[1].put(buffer)) {
            ++i;
            said_bytes += buffer.size();
            continue;
        }
        said = static_cast<std::uint8_t>(said - buffer.size());
        const std::size_t taken = serial_->read(read);
        ASSERT_GT(taken, 0U) << "deaf after " << i << " buffers";
        heard_bytes += taken;
        for (std::size_t at = 0; at < taken; ++at) {
            ASSERT_EQ(read[at], std::byte{heard++});
        }
    }
    heard_bytes += serial_->read(read);
    EXPECT_EQ(heard_bytes, said_bytes);
    EXPECT_EQ(serial_->connection(), 1U);
}

TEST_F(VirtioSerialTest, WhatWasSaidOnAnEarlierConnectionIsNotHeard) {
    ASSERT_TRUE(is_started_);
    ASSERT_EQ(queues_.size(), 2U);
    control(1, 1, 1);
    control(1, 6, 1);
    ASSERT_EQ(serial_->connection(), 1U);
    const std::byte old[] = {std::byte{1}, std::byte{2}};
    const std::byte current[] = {std::byte{3}};
    ASSERT_TRUE(queues_[1].put(old));
    control(1, 6, 0);
    EXPECT_EQ(serial_->connection(), 0U);
    control(1, 6, 1);
    ASSERT_TRUE(queues_[1].put(current));
    EXPECT_EQ(serial_->connection(), 2U);
    std::byte heard[8];
    ASSERT_EQ(serial_->read(heard), 1U);
    EXPECT_EQ(heard[0], std::byte{3});
}

}  // namespace
}  // namespace perfleet::bare_metal::virtio_serial_test
