// A network card: Ethernet frames without their checksums. A port owns the memory of its frames, their addresses as the
// device sees them, and the maintenance of caches. Platforms implement it; network/tcp_stream.h makes a byte stream of
// it.
//
// Freestanding interface; one thread; no function blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class EthernetPort : NonCopyable {
public:
    using MacAddress = std::array<std::uint8_t, 6>;

    static constexpr std::size_t kFrameSizeBytesMax = 1'514;  // 14 of them are the header

    [[nodiscard]] virtual MacAddress mac_address() = 0;
    [[nodiscard]] virtual bool is_link_up() = 0;

    // Memory for the next frame to send, kFrameSizeBytesMax bytes; empty: none is free now.
    [[nodiscard]] virtual std::span<std::byte> outgoing_frame() = 0;
    // Sends that frame, of which the first `size_bytes` are filled in.
    virtual void send(std::size_t size_bytes) = 0;

    // The next received frame, valid until the next call, which gives its memory back to the device; empty: none now.
    [[nodiscard]] virtual std::span<const std::byte> receive() = 0;

protected:
    // A protected destructor: as ByteStream's.
    ~EthernetPort() = default;
};

}  // namespace perfleet
