// A network driver carries frames between a collector and its gateway; it doesn't interpret them.
//
// Freestanding interface; one thread. Implementations: socket_driver (on Linux), zmtp_driver (freestanding, over any
// byte stream), file_driver and frame_stream_driver (a file instead of a gateway).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/result.h"

namespace perfleet {

class NetworkDriver : NonCopyable {
public:
    // To be called at every turn of the loop, with monotonic time: continues pending work.
    virtual void tick(std::uint64_t /*now_ns*/) {}

    // Passes on one frame; its bytes must not change while borrowed() refers to them. False: not possible now, or
    // reconnected() must be called first; try later.
    [[nodiscard]] virtual bool send(std::span<const std::byte> frame) = 0;

    // The frame that is still being sent; empty: none. No other frame can be sent meanwhile. Always empty for drivers
    // that copy.
    [[nodiscard]] virtual std::span<const std::byte> borrowed() const { return {}; }

    // Copies the next received frame into `into` and returns its size in bytes; 0: none now. A frame larger than `into`
    // is dropped (kTooLarge).
    [[nodiscard]] virtual Checked<std::size_t> receive(std::span<std::byte> into) = 0;

    // True once after each (re)connect: the peer may be another one.
    [[nodiscard]] virtual bool reconnected() = 0;

    // The peer redirects to another gateway with this address: the driver connects there if it can; reconnected()
    // reports it. Borrowed until this returns.
    virtual void go_to(std::string_view /*endpoint*/, std::string_view /*public_key*/) {}

protected:
    // A protected destructor, because drivers aren't deleted through this class: a virtual one would need operator
    // delete, and there is no heap.
    ~NetworkDriver() = default;
};

}  // namespace perfleet
