// A security mechanism of ZMTP 3 other than NULL, on the client's side: authenticates both peers, and seals their
// frames.
//
// Freestanding interface; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class ZmtpMechanism : NonCopyable {
public:
    // Flags of sealed frames, which differ from those of a frame. On the wire: must not change.
    static constexpr std::uint8_t kMoreInside = 1;
    static constexpr std::uint8_t kCommandInside = 2;
    static constexpr std::size_t kSealedOverheadBytes = 42;  // of seal(), at most; includes the frame's header

    // As in a greeting.
    [[nodiscard]] virtual std::string_view name() const = 0;

    // The handshake, in this order; frames are whole, and valid until the next call. hello() forgets the connection
    // before. False, nothing: the peer could not be authenticated.
    [[nodiscard]] virtual std::span<const std::byte> hello() = 0;
    [[nodiscard]] virtual bool take_welcome(std::span<std::byte> data_untrusted) = 0;
    [[nodiscard]] virtual std::span<const std::byte> initiate(std::span<const std::byte> properties) = 0;
    // Opens in place; the peer's properties.
    [[nodiscard]] virtual std::optional<std::span<const std::byte>> take_ready(std::span<std::byte> data_untrusted) = 0;

    // To be called after it. Writes a frame into `into`, which has kSealedOverheadBytes more than `payload`; returns
    // its size.
    [[nodiscard]] virtual std::size_t seal(std::uint8_t flags, std::span<const std::byte> payload,
                                           std::span<std::byte> into) = 0;
    struct Opened {
        std::uint8_t flags = 0;
        std::span<const std::byte> payload;
    };
    // The body of a frame, in place. Nothing: it was changed.
    [[nodiscard]] virtual std::optional<Opened> open(std::span<std::byte> body_untrusted) = 0;

    // Memory in which messages are sealed: as large as the largest one and kSealedOverheadBytes.
    [[nodiscard]] virtual std::span<std::byte> memory() = 0;

protected:
    ~ZmtpMechanism() = default;
};

}  // namespace perfleet
