// A virtio serial port as byte stream (VIRTIO 1.2, 5.3): port 1 of the device, polled.
//
// One thread. A connection lasts from one PORT_OPEN of the host to the next: then the peer is gone or replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/bare-metal/virtio_device.h"
#include "target-collector/bare-metal/virtqueue.h"
#include "target-collector/wire/byte_stream.h"

namespace perfleet::bare_metal {

class VirtioSerial final : public ByteStream {
public:
    VirtioSerial() = default;

    // False: this machine has no such device.
    [[nodiscard]] bool start(const VirtioPlace& place = {});

    [[nodiscard]] std::uint64_t connection() override;
    [[nodiscard]] std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    // Only the host can close it.
    [[nodiscard]] bool end_connection() override { return false; }

private:
    static constexpr std::uint16_t kEntries = 8;  // of each queue

    void follow_host();
    void obey(std::span<const std::byte> message);
    void send_control(std::uint32_t port, std::uint16_t event, std::uint16_t value);

    VirtioDevice device_;
    Virtqueue<kEntries, 64> control_in_;
    Virtqueue<kEntries, 64> control_out_;
    Virtqueue<kEntries, 512> in_;
    Virtqueue<kEntries, 4'096> out_;

    std::uint64_t connections_ = 0;
    bool is_open_ = false;
    std::uint16_t in_old_count_ = 0;   // received buffers of an earlier connection
    std::size_t in_offset_bytes_ = 0;  // bytes already read from the oldest received buffer
};

}  // namespace perfleet::bare_metal
