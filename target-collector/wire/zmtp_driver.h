// The network driver of targets without libzmq: a ZMTP 3.1 DEALER over any byte stream. Its gateway sees an ordinary
// ZeroMQ peer. The mechanism is NULL, or that of Options (curve/curve_client.h): then frames are sealed into the
// mechanism's memory, and none is borrowed.
//
// Freestanding; one thread; no function blocks. Limits: one incoming message, one outgoing (borrowed: sent from its
// place, after its header), and one answer to a PING. Messages larger than limits::kReplySizeBytesMax, empty ones and
// multipart ones are skipped and counted.
//
// The connection ends if the peer breaks the protocol, doesn't finish the handshake, or doesn't answer a PING. If the
// stream can't be closed (a serial port), the current frame is completed, followed by bytes that are invalid in ZMTP,
// so that the peer ends the connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/driver.h"
#include "target-collector/wire/zmtp_layout.h"
#include "target-collector/wire/zmtp_reader.h"

namespace perfleet {

class ZmtpDriver final : public NetworkDriver {
public:
    struct Options {
        std::uint64_t handshake_ns_max = 10'000'000'000;
        // Interval of PINGs; a peer that sends nothing for heartbeat_timeout_ns after one is gone.
        std::uint64_t heartbeat_interval_ns = 5'000'000'000;
        std::uint64_t heartbeat_timeout_ns = 10'000'000'000;
        ZmtpMechanism* mechanism = nullptr;  // null: NULL; borrowed
    };
    // Counters, for messages to the user and for tests.
    struct Counts {
        std::uint64_t handshakes = 0;         // completed
        std::uint64_t connections_lost = 0;   // ended by the peer or the stream
        std::uint64_t connections_ended = 0;  // ended by this side; last_fault says why
        std::uint64_t messages_skipped = 0;
        std::uint64_t pings_answered = 0;
        Fault last_fault;  // kUnavailable: silence; others: ZmtpReader::read()
    };

    // `stream` is borrowed.
    explicit ZmtpDriver(ByteStream& stream) : ZmtpDriver{stream, Options{}} {}
    ZmtpDriver(ByteStream& stream, const Options& options);
    // For peers that send larger messages than a gateway does: messages are assembled in `memory` instead of
    // limits::kReplySizeBytesMax bytes of its own. Borrowed.
    ZmtpDriver(ByteStream& stream, std::span<std::byte> memory, const Options& options);

    // Sets the time and moves bytes.
    void tick(std::uint64_t now_ns) override;

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] std::span<const std::byte> borrowed() const override {
        return options_.mechanism == nullptr ? frame_ : std::span<const std::byte>{};
    }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override;

    [[nodiscard]] bool is_connected() const { return state_ == State::kConnected; }
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    // Limit of a turn, so that a peer that sends without pause doesn't block the loop.
    static constexpr std::size_t kReadBytesMax = 64U << 10;  // at once

    enum class State : std::uint8_t {
        kNone,      // no connection
        kGreeting,  // sending our greeting, waiting for the peer's
        kReady,     // the same for READY
        kConnected,
        kEnding,  // nothing is sent or read until the next connection
    };

    void follow_connection();
    void forget_connection();
    void move_bytes();
    void read_bytes();
    void hear();
    void handle(ZmtpReader::Event event);
    void write_bytes();
    // Puts the next short bytes into head_, if any are due. False: none.
    [[nodiscard]] bool prepare_head();
    [[nodiscard]] zmtp_layout::ShortBytes sealed(const zmtp_layout::ShortBytes& command);
    [[nodiscard]] bool is_writing() const { return written_bytes_ < head_.size_bytes + frame_.size(); }
    void end(const Fault& fault);
    void check_times();

    ByteStream& stream_;
    Options options_;
    ZmtpReader reader_;
    State state_ = State::kNone;
    std::uint64_t connection_ = 0;
    bool was_made_ = false;  // since reconnected() was asked
    Counts counts_;

    std::uint64_t now_ns_ = 0;
    std::uint64_t begun_ns_ = 0;  // the connection
    std::uint64_t heard_ns_ = 0;
    std::uint64_t pinged_ns_ = 0;
    std::uint64_t unanswered_ns_ = 0;  // time of the first PING since which nothing was received
    bool has_unanswered_ping_ = false;

    // Being sent: head_, then frame_.
    zmtp_layout::ShortBytes head_;
    std::span<const std::byte> frame_;
    std::size_t written_bytes_ = 0;  // of both
    bool is_greeting_due_ = false;
    bool is_ready_due_ = false;     // or HELLO of a mechanism
    bool is_initiate_due_ = false;  // of a mechanism
    bool is_ping_due_ = false;
    bool is_refusal_due_ = false;
    bool is_pong_due_ = false;
    zmtp_layout::ShortBytes pong_;

    // Received bytes from input_begin_ to input_end_ wait while a message hasn't been taken.
    std::array<std::byte, 512> input_{};
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
    bool has_message_ = false;
    bool has_skipped_message_ = false;
    std::array<std::byte, limits::kReplySizeBytesMax + ZmtpMechanism::kSealedOverheadBytes> message_{};
};

}  // namespace perfleet
