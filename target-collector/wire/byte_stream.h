// A stream of bytes to and from a peer: a virtio serial port, a UART, a TCP stack. Platforms implement four functions
// for zmtp_driver; tick() is for streams that keep time.
//
// Freestanding interface; one thread; no function blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class ByteStream : NonCopyable {
public:
    // To be called at every turn of the loop, with monotonic time, by the sender: continues pending work.
    virtual void tick(std::uint64_t /*now_ns*/) {}

    // Number of the current connection; a new number after it was lost and made again; 0: none.
    [[nodiscard]] virtual std::uint64_t connection() = 0;

    // Takes bytes of `head`, then of `body`, and returns how many of both together; 0: none now. The taken bytes are
    // copied or sent on return, but may get lost with the connection.
    [[nodiscard]] virtual std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) = 0;

    // Copies received bytes into `into` and returns how many; 0: none now.
    [[nodiscard]] virtual std::size_t read(std::span<std::byte> into) = 0;

    // Ends the connection; the stream makes another one when possible. False: this side can't end it.
    [[nodiscard]] virtual bool end_connection() = 0;

protected:
    // A protected destructor, because streams aren't deleted through this class: a virtual one would need operator
    // delete, and there is no heap.
    ~ByteStream() = default;
};

}  // namespace perfleet
