// An Ethernet of a test: a faulty cable, and one other host that answers ARP and accepts TCP connections at one port
// (RFC 9293, as little of it as a peer needs: it acknowledges each segment, and sends again after a timeout). All in
// the test's own time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "target-collector/wire/ethernet_port.h"

namespace perfleet {

using Frame = std::vector<std::uint8_t>;

// Shares of frames that something happens to, each way.
struct CableFaults {
    double lost = 0;
    double doubled = 0;
    double reordered = 0;  // overtaken by the next one
    double damaged = 0;    // a bit of it
    double cut = 0;        // to its first half
};

// The other host, 10.9.0.1.
class PlayedHost {
public:
    static constexpr std::uint32_t kAddress = 0x0a09'0001;
    static constexpr std::uint16_t kPort = 7'411;

    struct Connection {
        std::uint16_t port = 0;          // the target's
        std::uint32_t first_number = 0;  // of the target's sequence numbers
        std::string received;
        bool was_reset = false;  // by the target
    };

    // A frame from the target.
    void take(const Frame& frame, std::uint64_t now_ns);
    // What it sends.
    std::deque<Frame> frames;

    // To be called now and then: sends again what wasn't acknowledged.
    void tick(std::uint64_t now_ns);
    void send(const std::string& bytes) { to_send_ += bytes; }
    // Ends the connection: in order (FIN), or at once (RST).
    void close() { is_closing_ = true; }
    void reset();
    // Answers nothing any more, as a host that was switched off, or again.
    void set_mute(bool is_mute) { is_mute_ = is_mute; }

    [[nodiscard]] const std::vector<Connection>& connections() const { return connections_; }

private:
    void take_arp(const Frame& frame);
    void take_tcp(const Frame& frame, std::uint64_t now_ns);
    void send_segment(std::uint8_t flags, std::uint32_t number, std::span<const char> data);
    void send_more(std::uint64_t now_ns);

    bool is_mute_ = false;
    std::vector<Connection> connections_;
    std::uint32_t target_address_ = 0;
    bool is_open_ = false;
    bool is_established_ = false;
    bool is_closing_ = false;
    std::uint32_t expected_ = 0;  // next number of the target
    std::uint32_t base_ = 0;      // number of the first byte of to_send_
    std::uint32_t sent_ = 0;      // bytes of to_send_ that were sent
    std::uint32_t window_ = 0;
    std::uint64_t sent_ns_ = 0;
    std::string to_send_;
    std::map<std::uint32_t, std::string> early_;  // received before earlier bytes; no number wraps in a test
};

// The target's end of the cable.
class PlayedNetwork final : public EthernetPort {
public:
    explicit PlayedNetwork(std::uint32_t seed = 1) : random_{seed} {}

    CableFaults faults;
    bool has_link = true;
    std::size_t frames_free = 16;  // that the target may send until pass()
    PlayedHost host;
    std::vector<Frame> sent;  // by the target, whatever became of it

    // Moves what both have sent.
    void pass(std::uint64_t now_ns);
    // Puts a frame before the target.
    void put(Frame frame) { to_target_.push_back(std::move(frame)); }
    [[nodiscard]] std::size_t waiting() const { return to_target_.size(); }

    [[nodiscard]] MacAddress mac_address() override { return {2, 0, 0, 0, 0, 1}; }
    [[nodiscard]] bool is_link_up() override { return has_link; }
    [[nodiscard]] std::span<std::byte> outgoing_frame() override;
    void send(std::size_t size_bytes) override;
    [[nodiscard]] std::span<const std::byte> receive() override;

private:
    void carry(std::deque<Frame>& from, std::deque<Frame>& to);
    [[nodiscard]] bool happens(double share) { return std::uniform_real_distribution{}(random_) < share; }

    std::mt19937 random_;
    std::array<std::byte, kFrameSizeBytesMax> outgoing_{};
    std::size_t used_ = 0;
    std::deque<Frame> from_target_;
    std::deque<Frame> to_target_;
    Frame held_;
};

// Frames of others, for floods.
[[nodiscard]] Frame arp_request(std::uint32_t sender, std::uint32_t wanted);
[[nodiscard]] Frame tcp_segment(std::uint32_t from, std::uint16_t from_port, std::uint32_t to, std::uint16_t to_port,
                                std::uint32_t number, std::uint32_t acknowledged, std::uint8_t flags,
                                std::span<const char> data);

}  // namespace perfleet
