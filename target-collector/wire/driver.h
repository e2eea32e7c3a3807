// A network driver carries frames between a collector and its gateway, and knows nothing of their meaning.
//
// Freestanding interface; one thread. Implementations: socket_driver (on Linux), zmtp_driver (freestanding, over any
// byte stream), file_driver and frame_stream_driver (a file instead of a gateway).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/result.h"

namespace perfleet {

class NetworkDriver {
public:
    NetworkDriver() = default;
    NetworkDriver(const NetworkDriver&) = delete;
    NetworkDriver& operator=(const NetworkDriver&) = delete;

    // To be called at every turn of a loop that nothing else drives, with a clock that only grows: what waited goes on.
    virtual void tick(std::uint64_t /*now_ns*/) {}

    // Hands over one frame; its bytes must stay as they are while borrowed() names them. False: can't take it now, or
    // the connection is one that reconnected() has yet to tell of; try later.
    [[nodiscard]] virtual bool send(std::span<const std::byte> frame) = 0;

    // The frame that was handed over and is not all gone yet; empty: none. Nothing else can be sent meanwhile. A driver
    // that copies has never any.
    [[nodiscard]] virtual std::span<const std::byte> borrowed() const { return {}; }

    // Copies the next frame that has come into `into` and returns its size; 0: none there now. A frame larger than
    // `into` is dropped (kTooLarge).
    [[nodiscard]] virtual Checked<std::size_t> receive(std::span<std::byte> into) = 0;

    // True once after each time that the connection was (re)made: the peer may be a new one.
    [[nodiscard]] virtual bool reconnected() = 0;

    // The peer says that another gateway is meant, as its address: the next connection is made to that one, if the
    // driver can, and reconnected() tells of it. Borrowed until this returns.
    virtual void go_to(std::string_view /*endpoint*/, std::string_view /*public_key*/) {}

protected:
    // Nobody owns a driver through this class: a virtual one would want operator delete, and there is no heap.
    ~NetworkDriver() = default;
};

}  // namespace perfleet
