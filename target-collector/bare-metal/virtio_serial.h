// A virtio serial port as byte stream (VIRTIO 1.2, 5.3; legacy virtio-mmio, as QEMU's `virt` has it): port 1 of the
// device, polled.
//
// One thread. A connection lasts from one PORT_OPEN of the host to the next: then the peer is gone or replaced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/wire/byte_stream.h"

namespace perfleet::bare_metal {

class VirtioSerial final : public ByteStream {
public:
    VirtioSerial() = default;

    // Addresses: the board's virtio-mmio devices in our address space (default: the AArch64 board), and the offset from
    // our addresses to those of devices (this object must be contiguous there).
    struct Place {
        std::uint64_t devices = 0x0a00'0000;
        std::uint64_t device_distance = 0x200;
        int device_count = 32;
        std::uint64_t bus_offset = 0;
    };

    // False: this machine has no such device.
    [[nodiscard]] bool start() { return start(Place{}); }
    [[nodiscard]] bool start(const Place& place);

    [[nodiscard]] std::uint64_t connection() override;
    [[nodiscard]] std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    // Only the host can close it.
    [[nodiscard]] bool end_connection() override { return false; }

private:
    static constexpr std::uint16_t kEntries = 8;  // of each queue, with a buffer each

    // One queue in the legacy layout: descriptors and the driver's ring, and on its own page the ring of buffers that
    // the device has used.
    struct alignas(4096) Ring {
        struct Descriptor {
            std::uint64_t address;
            std::uint32_t size_bytes;
            std::uint16_t flags;
            std::uint16_t next;
        };
        struct Used {
            std::uint32_t index;
            std::uint32_t size_bytes;
        };
        std::array<Descriptor, kEntries> descriptors;
        std::uint16_t given_flags;
        volatile std::uint16_t given_count;
        std::array<std::uint16_t, kEntries> given;
        alignas(4096) std::uint16_t used_flags;
        volatile std::uint16_t used_count;
        std::array<Used, kEntries> used;
    };
    template <std::size_t kBufferSizeBytes>
    struct Queue {
        Ring ring{};
        std::array<std::array<std::byte, kBufferSizeBytes>, kEntries> buffers{};
        std::uint16_t number = 0;
        std::uint16_t used_seen = 0;
    };
    enum class Direction : std::uint8_t { kToDevice, kFromDevice };

    template <std::size_t kSizeBytes>
    void set_up(Queue<kSizeBytes>& queue, std::uint16_t number, Direction direction);
    template <std::size_t kSizeBytes>
    void give(Queue<kSizeBytes>& queue, std::uint16_t index, std::size_t size_bytes, Direction direction);
    void follow_host();
    void obey(std::span<const std::byte> message);
    void send_control(std::uint32_t port, std::uint16_t event, std::uint16_t value);
    void take_back_sent();

    [[nodiscard]] std::uint64_t bus_address(const void* memory) const {
        return reinterpret_cast<std::uint64_t>(memory) + bus_offset_;
    }

    std::uint64_t device_ = 0;  // its registers
    std::uint64_t bus_offset_ = 0;
    Queue<64> control_in_;
    Queue<64> control_out_;
    Queue<512> in_;
    Queue<4'096> out_;
    std::uint16_t control_sent_ = 0;
    std::array<bool, kEntries> is_out_{};  // buffers of out_ that the device has

    std::uint64_t connections_ = 0;
    bool is_open_ = false;
    std::uint16_t in_old_count_ = 0;   // received buffers of an earlier connection
    std::size_t in_offset_bytes_ = 0;  // bytes already read from the oldest received buffer
};

}  // namespace perfleet::bare_metal
