#include "target-collector/network/tcp_stream.h"

#include <lwip/dhcp.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

static_assert(TCP_WND == TcpStream::kReceiveBufferBytes, "the peer sends no more than received_ holds");

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint16_t kFirstLocalPort = 49'152;  // of those for connections that a host makes
constexpr std::uint16_t kLocalPorts = 16'384;

// lwIP's state and this are global.
bool is_initialised = false;
std::uint32_t now_ms = 0;
std::uint64_t random_state = 0;
netif interface;

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t next_random() {
    random_state += 0x9e37'79b9'7f4a'7c15;
    std::uint64_t mixed = random_state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d0'49bb'1331'11eb;
    return mixed ^ mixed >> 31;
}

ip4_addr_t lwip_address(Ipv4Address address) { return {lwip_htonl(address.value)}; }

}  // namespace

struct TcpStreamCallbacks {
    static TcpStream& stream(void* of) { return *static_cast<TcpStream*>(of); }

    static err_t start_interface(netif* of) {
        of->name[0] = 'e';
        of->name[1] = 'n';
        of->mtu = EthernetPort::kFrameSizeBytesMax - SIZEOF_ETH_HDR;
        const auto mac_address = stream(of->state).port_.mac_address();
        of->hwaddr_len = static_cast<u8_t>(mac_address.size());
        std::memcpy(of->hwaddr, mac_address.data(), mac_address.size());
        of->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
        of->output = etharp_output;
        of->linkoutput = send_frame;
        return ERR_OK;
    }

    static err_t send_frame(netif* of, pbuf* packet) {
        TcpStream& stream = TcpStreamCallbacks::stream(of->state);
        const auto frame = stream.port_.outgoing_frame();
        if (packet->tot_len > frame.size()) {
            ++stream.counts_.frames_unsent;
            return ERR_MEM;  // TCP tries again
        }
        (void)pbuf_copy_partial(packet, frame.data(), packet->tot_len, 0);
        stream.port_.send(packet->tot_len);
        return ERR_OK;
    }

    static err_t connected(void* of, tcp_pcb* /*connection*/, err_t /*error*/) {
        TcpStream& stream = TcpStreamCallbacks::stream(of);
        stream.state_ = TcpStream::State::kConnected;
        ++stream.counts_.connections_made;
        return ERR_OK;
    }

    // No packet: the peer has closed.
    static err_t received(void* of, tcp_pcb* /*connection*/, pbuf* packet, err_t /*error*/) {
        TcpStream& stream = TcpStreamCallbacks::stream(of);
        if (packet == nullptr) {
            stream.is_closed_by_peer_ = true;
            return ERR_OK;
        }
        for (const pbuf* part = packet; part != nullptr; part = part->next) {
            for (std::size_t i = 0; i < part->len; ++i) {
                stream.received_[stream.received_end_++ % TcpStream::kReceiveBufferBytes] =
                    static_cast<const std::byte*>(part->payload)[i];
            }
        }
        PERFLEET_ASSERT(stream.received_end_ - stream.received_begin_ <= TcpStream::kReceiveBufferBytes);
        (void)pbuf_free(packet);
        return ERR_OK;
    }

    // lwIP has already freed the connection.
    static void failed(void* of, err_t /*error*/) {
        TcpStream& stream = TcpStreamCallbacks::stream(of);
        stream.connection_ = nullptr;
        ++(stream.state_ == TcpStream::State::kConnected ? stream.counts_.connections_lost
                                                         : stream.counts_.attempts_failed);
        stream.forget_connection();
    }
};

TcpStream::TcpStream(EthernetPort& port, const Options& options) : port_{port}, options_{options} {
    random_state = options.seed;
    port_offset_ = static_cast<std::uint16_t>(next_random() % kLocalPorts);
    if (!is_initialised) {
        is_initialised = true;
        lwip_init();
    }
    ip4_addr_t address{};
    ip4_addr_t netmask{};
    ip4_addr_t router{};
    if (options.address) {
        address = lwip_address(options.address->address);
        netmask = lwip_address(options.address->netmask);
        router = lwip_address(options.address->router);
    }
    (void)netif_add(&interface, &address, &netmask, &router, this, TcpStreamCallbacks::start_interface, ethernet_input);
    netif_set_default(&interface);
    netif_set_up(&interface);
}

TcpStream::~TcpStream() {
    if (connection_ != nullptr) {
        tcp_abort(connection_);
    }
    if (!options_.address) {
        dhcp_release_and_stop(&interface);
        dhcp_cleanup(&interface);
    }
    netif_remove(&interface);
}

Ipv4Address TcpStream::address() { return {lwip_ntohl(netif_ip4_addr(&interface)->addr)}; }

void TcpStream::tick(std::uint64_t now_ns) {
    const bool is_first = now_ns_ == 0;
    now_ns_ = now_ns;
    now_ms = static_cast<std::uint32_t>(now_ns / kNsPerMs);
    if (is_first) {
        sys_restart_timeouts();
    }
    follow_link();
    take_frames();
    sys_check_timeouts();
    follow_connection();
}

void TcpStream::follow_link() {
    const bool is_up = port_.is_link_up();
    if (is_up == (netif_is_link_up(&interface) != 0)) {
        return;
    }
    if (is_up) {
        netif_set_link_up(&interface);
        if (!options_.address) {
            (void)dhcp_start(&interface);
        }
        return;
    }
    netif_set_link_down(&interface);
    if (connection_ != nullptr) {
        tcp_abort(connection_);  // calls failed()
    }
}

void TcpStream::take_frames() {
    for (std::size_t i = 0; i < kFramesMax; ++i) {
        const auto frame = port_.receive();
        if (frame.empty()) {
            return;
        }
        pbuf* const packet = frame.size() <= EthernetPort::kFrameSizeBytesMax
                                 ? pbuf_alloc(PBUF_RAW, static_cast<u16_t>(frame.size()), PBUF_POOL)
                                 : nullptr;
        if (packet == nullptr) {
            ++counts_.frames_unread;
            continue;
        }
        (void)pbuf_take(packet, frame.data(), static_cast<u16_t>(frame.size()));
        if (interface.input(packet, &interface) != ERR_OK) {
            (void)pbuf_free(packet);
            ++counts_.frames_unread;
        }
    }
}

void TcpStream::follow_connection() {
    if (state_ == State::kConnecting && now_ns_ - attempt_began_ns_ >= kConnectNsMax) {
        tcp_abort(connection_);  // calls failed()
    } else if (is_closed_by_peer_ && received_begin_ == received_end_) {
        ++counts_.connections_lost;
        abort_connection();
    } else if (state_ == State::kConnected) {
        (void)tcp_output(connection_);  // what the port had no frame for
    } else if (state_ == State::kNone && now_ns_ >= next_attempt_ns_ && netif_is_link_up(&interface) != 0 &&
               address().value != 0) {
        connect();
    }
}

void TcpStream::connect() {
    port_offset_ = static_cast<std::uint16_t>((port_offset_ + 1) % kLocalPorts);
    attempt_began_ns_ = now_ns_;
    next_attempt_ns_ = now_ns_ + kRetryNs;
    connection_ = tcp_new();
    if (connection_ == nullptr) {
        ++counts_.attempts_failed;
        return;
    }
    state_ = State::kConnecting;
    tcp_arg(connection_, this);
    tcp_err(connection_, TcpStreamCallbacks::failed);
    tcp_recv(connection_, TcpStreamCallbacks::received);
    tcp_nagle_disable(connection_);
    const ip4_addr_t gateway = lwip_address(options_.gateway.address);
    if (tcp_bind(connection_, IP4_ADDR_ANY, static_cast<u16_t>(kFirstLocalPort + port_offset_)) != ERR_OK ||
        tcp_connect(connection_, &gateway, options_.gateway.port, TcpStreamCallbacks::connected) != ERR_OK) {
        tcp_abort(connection_);  // calls failed()
    }
}

void TcpStream::forget_connection() {
    state_ = State::kNone;
    next_attempt_ns_ = now_ns_ + kRetryNs;
    is_closed_by_peer_ = false;
    received_begin_ = received_end_;
}

std::uint64_t TcpStream::connection() { return state_ == State::kConnected ? counts_.connections_made : 0; }

void TcpStream::abort_connection() {
    tcp_err(connection_, nullptr);
    tcp_abort(connection_);
    connection_ = nullptr;
    forget_connection();
}

bool TcpStream::end_connection() {
    if (connection_ != nullptr) {
        ++counts_.connections_ended;
        abort_connection();
    }
    return true;
}

std::size_t TcpStream::queue(std::span<const std::byte> bytes, bool is_followed) {
    constexpr std::size_t kOneCallMax = 0xffff;
    std::size_t size = tcp_sndbuf(connection_) < bytes.size() ? tcp_sndbuf(connection_) : bytes.size();
    size = size < kOneCallMax ? size : kOneCallMax;
    const auto flags = static_cast<u8_t>(TCP_WRITE_FLAG_COPY | (is_followed ? TCP_WRITE_FLAG_MORE : 0));
    return size > 0 && tcp_write(connection_, bytes.data(), static_cast<u16_t>(size), flags) == ERR_OK ? size : 0;
}

std::size_t TcpStream::write(std::span<const std::byte> head, std::span<const std::byte> body) {
    if (state_ != State::kConnected || is_closed_by_peer_) {
        return 0;
    }
    std::size_t taken = queue(head, !body.empty());
    if (taken == head.size()) {
        taken += queue(body, false);
    }
    if (taken > 0) {
        (void)tcp_output(connection_);
    }
    return taken;
}

std::size_t TcpStream::read(std::span<std::byte> into) {
    std::size_t taken = 0;
    for (; taken < into.size() && received_begin_ != received_end_; ++taken, ++received_begin_) {
        into[taken] = received_[received_begin_ % kReceiveBufferBytes];
    }
    if (taken > 0 && connection_ != nullptr) {
        tcp_recved(connection_, static_cast<u16_t>(taken));
    }
    return taken;
}

}  // namespace perfleet

extern "C" {

std::uint32_t sys_now() { return perfleet::now_ms; }

unsigned perfleet_lwip_random() { return static_cast<unsigned>(perfleet::next_random()); }

void perfleet_lwip_stop(int line) { perfleet_panic("lwIP", line, "a bug"); }

}  // extern "C"
