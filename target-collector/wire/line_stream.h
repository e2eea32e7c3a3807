// A byte stream over a line without connections (a UART, a serial cable). ZMTP's own greeting marks where one begins:
//
//   the host     speaks first: its greeting opens a connection; bytes before the target's greeting are skipped
//   the target   waits for the host's greeting; every greeting begins a new connection
//
// So either end may be restarted at any time. Bytes within a message that equal a greeting (the first eight bytes must
// be those of libzmq or perfleet) are taken for one, which costs the connection and nothing else.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/wire/byte_stream.h"

namespace perfleet {

// The bytes of the line; implemented by a platform.
class LinePort : NonCopyable {
public:
    // Returns the number of bytes that it took.
    [[nodiscard]] virtual std::size_t write(std::span<const std::byte> bytes) = 0;
    // Copies received bytes and returns how many; 0: none now.
    [[nodiscard]] virtual std::size_t read(std::span<std::byte> into) = 0;
    // Whether bytes after those that read() returned were lost or damaged, since the last call: then the connection
    // ends.
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
    // A greeting begins with ff, 8 bytes of which libzmq sets the last, and 7f. The peer sends no more until it has our
    // greeting.
    static constexpr std::size_t kSignatureSizeBytes = 10;

    static constexpr std::size_t kPassedOverBytesMax = 1U << 20;  // at once

    // Skips bytes until a greeting has begun. False: none has.
    [[nodiscard]] bool find_greeting();
    [[nodiscard]] bool refill();
    // Whether this byte is the last one of a greeting's signature.
    [[nodiscard]] bool ends_signature(std::byte byte);
    void open();

    LinePort& port_;
    End end_;
    std::uint64_t number_;
    bool is_open_ = false;      // the peer's greeting has arrived
    bool is_new_due_ = false;   // another greeting has arrived: connection() will report it
    std::size_t reported_ = 0;  // bytes of the signature passed to read(); kSignatureSizeBytes: all
    std::array<std::byte, kSignatureSizeBytes> last_{};  // received bytes, newest last
    std::array<std::byte, 128> input_{};
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
};

}  // namespace perfleet
