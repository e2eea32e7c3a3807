// Bytes to and from a peer, in order: a virtio serial port, a UART, a TCP stack. What a platform supplies to
// zmtp_driver.
//
// Freestanding interface; one thread; nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace perfleet {

class ByteStream {
public:
    ByteStream() = default;
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;

    // Number of the connection that there is: another one than before when it was lost and made again; 0: none now.
    [[nodiscard]] virtual std::uint64_t connection() = 0;

    // Takes bytes of `head`, then of `body`, and returns how many of both; 0: none now. They are copied or gone when it
    // returns. What was taken may still get lost with the connection.
    [[nodiscard]] virtual std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) = 0;

    // Copies bytes that have come into `into` and returns how many; 0: none there now.
    [[nodiscard]] virtual std::size_t read(std::span<std::byte> into) = 0;

    // Ends the connection; the stream makes another one when it can. False: this end has no way to do that.
    [[nodiscard]] virtual bool end_connection() = 0;

protected:
    // Nobody owns a stream through this class: a virtual one would want operator delete, and there is no heap.
    ~ByteStream() = default;
};

}  // namespace perfleet
