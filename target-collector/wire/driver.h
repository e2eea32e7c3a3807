// A network driver carries frames between a collector and its gateway, and knows nothing of their meaning.
//
// Freestanding interface; one thread. Implementations: zmq_driver (libzmq on Linux), later a ZMTP codec on a byte
// stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/result.h"

namespace perfleet {

class NetworkDriver {
public:
    NetworkDriver() = default;
    NetworkDriver(const NetworkDriver&) = delete;
    NetworkDriver& operator=(const NetworkDriver&) = delete;
    virtual ~NetworkDriver() = default;

    // Hands over one frame; the bytes are copied or gone when it returns. False: can't take it now, or the
    // connection is one that reconnected() has yet to tell of; try later.
    [[nodiscard]] virtual bool send(std::span<const std::byte> frame) = 0;

    // Copies the next frame that has come into `into` and returns its size; 0: none there now. A frame larger than
    // `into` is dropped (kTooLarge).
    [[nodiscard]] virtual Checked<std::size_t> receive(std::span<std::byte> into) = 0;

    // True once after each time that the connection was (re)made: the peer may be a new one.
    [[nodiscard]] virtual bool reconnected() = 0;
};

}  // namespace perfleet
