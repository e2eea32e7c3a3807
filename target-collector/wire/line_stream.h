// A line that knows no connections (a UART, a serial cable) as byte stream. ZMTP's own greeting says where one begins:
//
//   the host     speaks first: its greeting opens a connection, and what comes before the target's is passed over
//   the target   waits for the host's greeting, wherever it comes: whoever sends one begins anew
//
// So either end may be started again at any time. A greeting within a message is taken for what it seems (its first
// eight bytes have to be those of libzmq or of ours, which costs the connection and nothing else).
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/wire/byte_stream.h"

namespace perfleet {

// What a platform supplies: the bytes of the line.
class LinePort {
public:
    LinePort() = default;
    LinePort(const LinePort&) = delete;
    LinePort& operator=(const LinePort&) = delete;

    // How many it takes now.
    [[nodiscard]] virtual std::size_t write(std::span<const std::byte> bytes) = 0;
    // Copies what has come; 0: nothing now.
    [[nodiscard]] virtual std::size_t read(std::span<std::byte> into) = 0;
    // Whether bytes were lost or damaged behind what read() has returned, since the last call: the connection ends.
    [[nodiscard]] virtual bool take_damage() { return false; }

protected:
    ~LinePort() = default;
};

class LineStream final : public ByteStream {
public:
    enum class End : std::uint8_t { kHost, kTarget };

    // `port` is borrowed.
    LineStream(LinePort& port, End end) : port_{port}, end_{end}, number_{end == End::kHost ? 1U : 0U} {}

    [[nodiscard]] std::uint64_t connection() override;
    [[nodiscard]] std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    [[nodiscard]] bool end_connection() override;

private:
    // A greeting begins so: ff, 8 bytes of which libzmq sets the last, 7f. It says no more before it has heard us.
    static constexpr std::size_t kSignatureSizeBytes = 10;

    static constexpr std::size_t kPassedOverBytesMax = 1U << 20;  // at once

    // Passes over what comes until a greeting has begun. False: it hasn't.
    [[nodiscard]] bool find_greeting();
    [[nodiscard]] bool refill();
    // Whether a greeting has begun with this byte as the last of its signature.
    [[nodiscard]] bool ends_signature(std::byte byte);
    void open();

    LinePort& port_;
    End end_;
    std::uint64_t number_;
    bool is_open_ = false;      // the peer's greeting has come
    bool is_new_due_ = false;   // another greeting came: the next connection() tells
    std::size_t reported_ = 0;  // bytes of the signature that were read, kSignatureSizeBytes: all
    std::array<std::byte, kSignatureSizeBytes> last_{};  // bytes that came, the newest last
    std::array<std::byte, 128> input_{};
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
};

}  // namespace perfleet
