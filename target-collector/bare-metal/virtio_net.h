// A virtio network card (VIRTIO 1.2, 5.1) as EthernetPort, polled: one queue each way, no offloads.
//
// One thread. The object must be contiguous for the device (VirtioPlace).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/bare-metal/virtio_device.h"
#include "target-collector/bare-metal/virtqueue.h"
#include "target-collector/wire/ethernet_port.h"

namespace perfleet::bare_metal {

class VirtioNet final : public EthernetPort {
public:
    struct Counts {
        std::uint64_t frames_sent = 0;
        std::uint64_t frames_received = 0;
        std::uint64_t frames_damaged = 0;  // received, but without a whole Ethernet header: dropped
    };

    VirtioNet() = default;

    // False: this machine has no such device.
    [[nodiscard]] bool start(const VirtioPlace& place = {});

    [[nodiscard]] MacAddress mac_address() override;
    [[nodiscard]] bool is_link_up() override;
    [[nodiscard]] std::span<std::byte> outgoing_frame() override;
    void send(std::size_t size_bytes) override;
    [[nodiscard]] std::span<const std::byte> receive() override;

    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    static constexpr std::uint16_t kEntries = 16;
    static constexpr std::size_t kBufferSizeBytes = 1'536;  // the device's header, and a frame

    void give_back(std::uint16_t index);

    VirtioDevice device_;
    std::size_t header_size_bytes_ = 0;
    std::optional<std::uint16_t> outgoing_;
    std::optional<std::uint16_t> held_;  // the buffer of the frame that receive() returned
    Counts counts_;
    Virtqueue<kEntries, kBufferSizeBytes> in_;
    Virtqueue<kEntries, kBufferSizeBytes> out_;
};

}  // namespace perfleet::bare_metal
