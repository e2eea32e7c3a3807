// A ZMTP client: what a libzmq DEALER is to one ROUTER, within bounds that libzmq hasn't. Messages have one part.
//
// Nothing happens but in its functions: it has no thread, only one for a moment to look up a name. It holds one message
// on its way out, at most 64 KiB or one message on its way in, and reads on when that was taken. So whatever the server
// sends waits in the kernel.
//
// It connects, and connects again over times that double, with a random part. The connection is ended where the server
//   - doesn't shake hands, isn't the one with that key, or refuses the own one;
//   - sends what isn't ZMTP, a message of several parts or of more than `message_size_bytes_max`;
//   - sends more than `frames_burst` frames beyond `frames_per_second` and one for each message it was sent;
//   - is silent though it was asked for a sign of life.
// trouble() says which of these it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/file_descriptor.h"
#include "schemas/zmtp/curve_client.h"
#include "schemas/zmtp/frame.h"
#include "schemas/zmtp/kept_bytes.h"
#include "schemas/zmtp/resolver.h"

namespace perfleet::zmtp {

struct ClientOptions {
    std::size_t message_size_bytes_max = 1U << 20;
    std::uint64_t reconnect_after_ns = 100'000'000;
    std::uint64_t reconnect_after_ns_max = 2'000'000'000;
    std::uint64_t heartbeat_interval_ns = 5'000'000'000;
    std::uint64_t heartbeat_timeout_ns = 10'000'000'000;
    std::uint64_t frames_burst = 20'000;
    std::uint64_t frames_per_second = 2'000;
};

class Client {
public:
    struct Counts {
        std::uint64_t connections_made = 0;
        std::uint64_t floods_cut = 0;    // connections ended for too many frames
        std::uint64_t nonsense_cut = 0;  // and for what isn't ZMTP, or too large
    };

    // Doesn't wait for the server. With `keys` it speaks CURVE. Errors: kUsage (endpoint, named with "--gateway"),
    // kInvalid (not a pair of keys).
    [[nodiscard]] static Result<std::unique_ptr<Client>> connect(const std::string& endpoint, const ConnectKeys* keys,
                                                                 const ClientOptions& options);
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Never waits; copies what the kernel doesn't take at once. False: another one is on its way, or there is no
    // connection, or one that reconnected() has yet to tell of.
    [[nodiscard]] bool send(std::span<const std::byte> message);

    // The next message that is there; stays until the next call of any function. Nothing: none.
    [[nodiscard]] std::optional<std::span<const std::byte>> receive();

    // True once after each time that a connection was made.
    [[nodiscard]] bool reconnected();
    // As reconnected() saw it last.
    [[nodiscard]] bool is_connected() const { return step_ == Step::kReady && is_reported_; }

    // Why there is no connection, as far as that is known; empty: nothing is, or there is one.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

    // Until a message can be received, something that waits can go on, `wake_fd` (-1: none) is readable, or the time
    // is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    enum class Step : std::uint8_t { kPaused, kResolving, kConnecting, kGreeting, kHandshake, kReady };
    struct Frame {
        FrameHeader header;
        std::span<const std::byte> body;
    };

    Client(std::string endpoint, const ClientOptions& options);
    void go_on();
    void resolve();
    void try_addresses();
    void finish_connecting();
    void begin_handshake();
    void read();
    void write();
    void take_handshake();
    [[nodiscard]] bool take_greeting();
    void take_handshake_command(std::span<const std::byte> body);
    void become_ready(std::span<const std::byte> properties);
    void check_times();
    void append_command_frame(std::string_view name, std::span<const std::byte> data);
    void take_command(std::span<const std::byte> body);
    // Ends the connection where it isn't one of ours.
    [[nodiscard]] std::optional<Frame> next_frame();
    [[nodiscard]] bool take_token();
    [[nodiscard]] std::span<const std::byte> input() const { return kept_.bytes().subspan(used_); }
    void use(std::size_t size_bytes) { used_ += size_bytes; }
    void end(std::uint64_t pause_ns);
    void end_as_nonsense();
    void fail_handshake(std::string trouble, bool is_exact);
    [[nodiscard]] std::uint64_t next_deadline_ns() const;
    [[nodiscard]] std::uint64_t random_below(std::uint64_t bound);

    std::string endpoint_;
    ClientOptions options_;
    std::optional<CurveClient::Keys> keys_;
    std::string key_name_;

    Step step_ = Step::kPaused;
    FileDescriptor fd_;
    std::optional<Resolver> resolver_;
    std::vector<SocketAddress> addresses_;
    std::size_t next_address_ = 0;
    std::unique_ptr<CurveClient> curve_;
    bool is_reported_ = false;  // reconnected() has told of this connection
    bool has_ended_ = false;    // the server has hung up; what it sent before is still there
    bool is_trouble_exact_ = false;
    std::string trouble_;

    std::uint64_t now_ns_ = 0;
    std::uint64_t next_try_ns_ = 0;
    std::uint64_t pause_ns_ = 0;  // the next one
    std::uint64_t begun_ns_ = 0;  // connecting, or the handshake
    std::uint64_t heard_ns_ = 0;
    std::uint64_t pinged_ns_ = 0;
    std::uint64_t tokens_ = 0;  // frames that may come
    std::uint64_t tokens_at_ns_ = 0;
    std::uint64_t random_state_ = 1;

    KeptBytes kept_;  // from used_ on not taken yet
    std::size_t used_ = 0;
    std::size_t to_use_ = 0;         // the message that receive() gave
    std::vector<std::byte> opened_;  // the payload of one CURVE message
    std::string out_;                // from out_at_ on not sent yet
    std::size_t out_at_ = 0;
    Counts counts_;
};

}  // namespace perfleet::zmtp
