// The client's side of CurveZMQ (rfc.zeromq.org/spec/26) on fixed memory: authenticates a target to a gateway whose key
// it has.
//
//   → HELLO     1 0 │ 72 × 0 │ C' │ nonce 8 │ box[64 × 0](C'→S)
//   ← WELCOME   nonce 16 │ box[S' │ cookie 96](S→C')
//   → INITIATE  cookie 96 │ nonce 8 │ box[C │ nonce 16 │ vouch 80 │ properties](C'→S')
//   ← READY     nonce 8 │ box[properties](S'→C')
//   ↔ MESSAGE   nonce 8 │ box[flags │ payload]
//
// Freestanding; one thread. Secrets of a connection are wiped with the next one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "target-collector/curve/secret_box.h"
#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet {

class CurveClient final : public ZmtpMechanism {
public:
    static constexpr std::size_t kPropertiesSizeBytesMax = 64;

    struct Keys {
        curve::Key gateway_public;
        curve::Key own_secret;
    };
    static constexpr std::size_t kKeysSizeBytes = 64;
    // As `perfleet keygen --raw` writes them: the gateway's public key, the own secret one. Nothing: not valid keys.
    [[nodiscard]] static std::optional<Keys> read_keys(std::span<const std::byte> bytes);

    // `keys`: of read_keys(). `seed`: random, of this start alone. `memory`: where messages are sealed, as memory()
    // says; borrowed.
    CurveClient(const Keys& keys, const curve::Key& seed, std::span<std::byte> memory);

    [[nodiscard]] std::string_view name() const override { return "CURVE"; }
    [[nodiscard]] std::span<const std::byte> hello() override;
    [[nodiscard]] bool take_welcome(std::span<std::byte> data_untrusted) override;
    [[nodiscard]] std::span<const std::byte> initiate(std::span<const std::byte> properties) override;
    [[nodiscard]] std::optional<std::span<const std::byte>> take_ready(std::span<std::byte> data_untrusted) override;
    [[nodiscard]] std::size_t seal(std::uint8_t flags, std::span<const std::byte> payload,
                                   std::span<std::byte> into) override;
    [[nodiscard]] std::optional<Opened> open(std::span<std::byte> body_untrusted) override;
    [[nodiscard]] std::span<std::byte> memory() override { return memory_; }

    [[nodiscard]] const curve::Key& own_public() const { return own_public_; }

private:
    static constexpr std::size_t kShortNonceSizeBytes = 8;
    static constexpr std::size_t kLongNonceSizeBytes = 16;
    static constexpr std::size_t kCookieSizeBytes = 96;
    static constexpr std::size_t kVouchSizeBytes = 2 * curve::kKeySizeBytes + curve::kMacSizeBytes;

    // Appends to frame_.
    void begin_command(std::string_view name, std::size_t data_size_bytes);
    std::span<std::byte> append(std::span<const std::byte> bytes);
    std::span<std::byte> append_zeros(std::size_t size_bytes);
    std::span<const std::byte> append_nonce();
    [[nodiscard]] std::span<const std::byte> frame() const { return std::span{frame_}.first(frame_size_bytes_); }
    [[nodiscard]] bool take_nonce(std::span<const std::byte> nonce);

    Keys keys_;
    curve::Key own_public_;
    curve::RandomStream random_;
    std::span<std::byte> memory_;

    curve::Key short_secret_{};  // of this connection
    curve::Key short_public_{};
    curve::Key peer_short_public_{};
    curve::Key shared_{};
    std::array<std::byte, kCookieSizeBytes> cookie_{};
    std::uint64_t own_nonce_ = 0;
    std::uint64_t peer_nonce_ = 0;
    std::array<std::byte, 296 + kPropertiesSizeBytesMax> frame_{};
    std::size_t frame_size_bytes_ = 0;
};

}  // namespace perfleet
