// A virtio device on virtio-mmio (VIRTIO 1.2, 4.2), legacy (version 1) or modern (version 2): its registers. The memory
// that it reads and writes: virtqueue.h.
//
// One thread.
#pragma once

#include <cstdint>

namespace perfleet::bare_metal {

// Addresses: the board's virtio-mmio devices in our address space (default: the AArch64 board), and the offset from our
// addresses to those of devices (a driver's object must be contiguous there).
struct VirtioPlace {
    std::uint64_t devices = 0x0a00'0000;
    std::uint64_t device_distance = 0x200;
    int device_count = 32;
    std::uint64_t bus_offset = 0;
};

class VirtioDevice {
public:
    // Finds the first device of this type and resets it; it then has those of the features that it offers. False: this
    // machine has none, or it refuses the features.
    [[nodiscard]] bool open(const VirtioPlace& place, std::uint32_t type, std::uint32_t features);
    // To be called after its queues are set: starts the device.
    void start();

    // Sets a queue of this many entries; its three parts have Virtqueue's layout.
    void set_queue(std::uint16_t number, std::uint16_t entries, const volatile void* descriptors,
                   const volatile void* given, const volatile void* used);
    void notify(std::uint16_t queue) const;

    [[nodiscard]] bool is_legacy() const { return is_legacy_; }
    [[nodiscard]] bool has(std::uint32_t feature) const { return (features_ & feature) != 0; }
    // A byte of the configuration of this type of device.
    [[nodiscard]] std::uint8_t config(std::uint64_t offset) const;
    [[nodiscard]] std::uint64_t bus_address(const volatile void* memory) const {
        return reinterpret_cast<std::uint64_t>(memory) + bus_offset_;
    }

private:
    std::uint64_t registers_ = 0;
    std::uint64_t bus_offset_ = 0;
    std::uint32_t features_ = 0;
    std::uint32_t status_ = 0;
    bool is_legacy_ = false;
};

}  // namespace perfleet::bare_metal
