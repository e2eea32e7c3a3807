// A TCP connection to a gateway over a network card, as byte stream: IPv4, ARP, and DHCP or a fixed address, by lwIP
// (raw API, static pools).
//
// Freestanding interface; one thread; no function blocks. One object per program, because lwIP's state is global. A
// connection begins as soon as there are a link and an address. kRetryNs after it has ended, by either side, with the
// link, or with the address, another one begins, from another port and with another sequence number. tick() takes at
// most kFramesMax received frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/network/ipv4.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/ethernet_port.h"

struct tcp_pcb;

namespace perfleet {

class TcpStream final : public ByteStream {
public:
    static constexpr std::size_t kFramesMax = 16;  // taken by one tick()
    static constexpr std::size_t kReceiveBufferBytes = 4'096;
    static constexpr std::uint64_t kRetryNs = 1'000'000'000;
    static constexpr std::uint64_t kConnectNsMax = 5'000'000'000;  // for one attempt

    struct Options {
        Ipv4Endpoint gateway;
        std::optional<Ipv4Network> address;  // without one, by DHCP
        // Of ports and sequence numbers: random bits, different in each run.
        std::uint64_t seed = 0;
    };
    struct Counts {
        std::uint64_t connections_made = 0;
        std::uint64_t attempts_failed = 0;    // connections that weren't made
        std::uint64_t connections_lost = 0;   // ended by the gateway, the link or the address
        std::uint64_t connections_ended = 0;  // by end_connection()
        std::uint64_t frames_unsent = 0;      // dropped or deferred: the port had no free frame
        std::uint64_t frames_unread = 0;      // received and dropped: no buffer was free, or lwIP took none of it
    };

    // Borrows `port`.
    TcpStream(EthernetPort& port, const Options& options);
    ~TcpStream();

    void tick(std::uint64_t now_ns) override;
    [[nodiscard]] std::uint64_t connection() override;
    [[nodiscard]] std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    [[nodiscard]] bool end_connection() override;

    [[nodiscard]] const Counts& counts() const { return counts_; }
    // Its address now; 0: none.
    [[nodiscard]] static Ipv4Address address();

private:
    friend struct TcpStreamCallbacks;  // lwIP's callbacks

    enum class State : std::uint8_t { kNone, kConnecting, kConnected };

    void follow_link();
    void take_frames();
    void follow_connection();
    void connect();
    void abort_connection();
    void forget_connection();
    [[nodiscard]] std::size_t queue(std::span<const std::byte> bytes, bool is_followed);

    EthernetPort& port_;
    Options options_;
    Counts counts_;
    State state_ = State::kNone;
    tcp_pcb* connection_ = nullptr;
    std::uint64_t now_ns_ = 0;
    std::uint64_t next_attempt_ns_ = 0;
    std::uint64_t attempt_began_ns_ = 0;
    std::uint16_t port_offset_ = 0;   // of the local port
    Ipv4Address kept_next_hop_;       // in lwIP's ARP table; 0: none
    bool is_closed_by_peer_ = false;  // what it has sent before can still be read
    std::size_t received_begin_ = 0;  // in received_, a ring; grows
    std::size_t received_end_ = 0;
    std::array<std::byte, kReceiveBufferBytes> received_{};
};

}  // namespace perfleet
