// A queue of a virtio device (VIRTIO 1.2, 2.7: split), polled, with a buffer for each entry. The places of its parts
// suit legacy and modern devices:
//
//   byte 0      16 × entries   descriptors
//   then        u16 flags | u16 count | u16 × entries          given: the buffers that the device may use
//   byte 4096   u16 flags | u16 count | 2 × u32 × entries      used: those that it has used, and how much of them
//   byte 8192   the buffers
//
// One thread; the device reads and writes at any time. Data that the device has written aren't trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "target-collector/bare-metal/device_memory.h"
#include "target-collector/bare-metal/virtio_device.h"

namespace perfleet::bare_metal {

enum class VirtqueueDirection : std::uint8_t { kToDevice, kFromDevice };

template <std::uint16_t kEntries, std::size_t kBufferSizeBytes>
class alignas(4096) Virtqueue {
    static_assert(kEntries <= 128 && (kEntries & (kEntries - 1)) == 0, "the first two parts have one page");

public:
    using Buffer = std::array<std::byte, kBufferSizeBytes>;
    struct Used {
        std::uint16_t index = 0;
        std::size_t size_bytes = 0;  // written by the device
    };

    // To be called between VirtioDevice's open() and start(). A queue from the device gets all its buffers. Borrows
    // `device`.
    void set_up(VirtioDevice& device, std::uint16_t number, VirtqueueDirection direction) {
        device_ = &device;
        number_ = number;
        direction_ = direction;
        given_flags_ = kNoInterrupt;
        device.set_queue(number, kEntries, &descriptors_, &given_flags_, &used_flags_);
        for (std::uint16_t i = 0; i < kEntries && direction == VirtqueueDirection::kFromDevice; ++i) {
            give(i, kBufferSizeBytes);
        }
    }

    [[nodiscard]] Buffer& buffer(std::uint16_t index) { return buffers_[index]; }

    // Gives a buffer to the device.
    void give(std::uint16_t index, std::size_t size_bytes) {
        to_device(buffers_[index].data(), size_bytes);
        descriptors_[index] = {device_->bus_address(buffers_[index].data()), static_cast<std::uint32_t>(size_bytes),
                               direction_ == VirtqueueDirection::kFromDevice ? kDeviceWrites : std::uint16_t{0}, 0};
        is_given_[index] = true;
        given_[given_count_ % kEntries] = index;
        to_device(this, kControlSizeBytes);
        barrier();  // the device reads the entry once the count has grown
        given_count_ = static_cast<std::uint16_t>(given_count_ + 1);
        to_device(this, kControlSizeBytes);
        barrier();
    }
    // Notifies the device of new buffers, unless it polls.
    void notify() {
        if ((used_flags_ & kNoNotify) == 0) {
            device_->notify(number_);
        }
    }

    // The oldest used buffer for which take_used() wasn't called.
    [[nodiscard]] std::optional<Used> used() {
        from_device(&used_flags_, kControlSizeBytes);
        if (used_seen_ == used_count_) {
            return std::nullopt;
        }
        barrier();
        const UsedEntry& entry = used_[used_seen_ % kEntries];
        const auto index = static_cast<std::uint16_t>(entry.index % kEntries);
        const Used used{index, entry.size_bytes < kBufferSizeBytes ? entry.size_bytes : kBufferSizeBytes};
        from_device(buffers_[index].data(), used.size_bytes);
        return used;
    }
    void take_used() {
        is_given_[used_[used_seen_ % kEntries].index % kEntries] = false;
        used_seen_ = static_cast<std::uint16_t>(used_seen_ + 1);
    }
    [[nodiscard]] std::uint16_t used_waiting() const { return static_cast<std::uint16_t>(used_count_ - used_seen_); }

    // For a queue to the device: a buffer that the device doesn't hold.
    [[nodiscard]] std::optional<std::uint16_t> free_buffer() {
        while (used()) {
            take_used();
        }
        for (std::uint16_t i = 0; i < kEntries; ++i) {
            if (!is_given_[i]) {
                return i;
            }
        }
        return std::nullopt;
    }
    // Forgets the buffers that the device holds: they are never used again.
    void forget_given() {
        used_seen_ = used_count_;
        is_given_.fill(false);
    }

private:
    struct Descriptor {
        std::uint64_t address;
        std::uint32_t size_bytes;
        std::uint16_t flags;
        std::uint16_t next;
    };
    struct UsedEntry {
        std::uint32_t index;
        std::uint32_t size_bytes;
    };
    static constexpr std::uint16_t kDeviceWrites = 2;
    static constexpr std::uint16_t kNoInterrupt = 1;  // in given_flags_
    static constexpr std::uint16_t kNoNotify = 1;     // in used_flags_
    static constexpr std::size_t kControlSizeBytes = 4'096;

    std::array<Descriptor, kEntries> descriptors_{};
    std::uint16_t given_flags_ = 0;
    volatile std::uint16_t given_count_ = 0;
    std::array<std::uint16_t, kEntries> given_{};
    // Of this side alone, in the rest of the page.
    std::array<bool, kEntries> is_given_{};
    VirtioDevice* device_ = nullptr;
    std::uint16_t number_ = 0;
    VirtqueueDirection direction_ = VirtqueueDirection::kToDevice;
    std::uint16_t used_seen_ = 0;
    alignas(4096) volatile std::uint16_t used_flags_ = 0;
    volatile std::uint16_t used_count_ = 0;
    std::array<UsedEntry, kEntries> used_{};
    alignas(4096) std::array<Buffer, kEntries> buffers_{};
};

}  // namespace perfleet::bare_metal
