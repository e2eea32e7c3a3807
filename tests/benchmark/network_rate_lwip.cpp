// Not with network_rate.cpp: lwIP's headers and the compiler's <algorithm> declare ssize_t differently.
#include "tests/benchmark/network_rate.h"

#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/netif.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint16_t kBytesPort = 1;

netif interface;
bool is_connected = false;
std::uint64_t acknowledged_bytes = 0;

err_t send_frame(netif* of, pbuf* packet) {
    auto& card = *static_cast<VirtioNet*>(of->state);
    const auto frame = card.outgoing_frame();
    if (packet->tot_len > frame.size()) {
        return ERR_MEM;
    }
    (void)pbuf_copy_partial(packet, frame.data(), packet->tot_len, 0);
    card.send(packet->tot_len);
    return ERR_OK;
}

err_t start_interface(netif* of) {
    of->name[0] = 'b';
    of->name[1] = 'l';
    of->mtu = 1'500;
    const auto address = static_cast<VirtioNet*>(of->state)->mac_address();
    of->hwaddr_len = static_cast<u8_t>(address.size());
    std::memcpy(of->hwaddr, address.data(), address.size());
    of->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
    of->output = etharp_output;
    of->linkoutput = send_frame;
    return ERR_OK;
}

void poll(VirtioNet& card) {
    for (auto frame = card.receive(); !frame.empty(); frame = card.receive()) {
        pbuf* const packet = pbuf_alloc(PBUF_RAW, static_cast<u16_t>(frame.size()), PBUF_POOL);
        if (packet != nullptr) {
            (void)pbuf_take(packet, frame.data(), static_cast<u16_t>(frame.size()));
            (void)interface.input(packet, &interface);
        }
    }
    sys_check_timeouts();
}

}  // namespace

void send_by_lwip(VirtioNet& card, std::span<const std::byte> piece, std::uint64_t bytes) {
    lwip_init();
    const ip4_addr_t address{lwip_htonl(kNetwork.address.value)};
    const ip4_addr_t netmask{lwip_htonl(kNetwork.netmask.value)};
    const ip4_addr_t router{lwip_htonl(kNetwork.router.value)};
    const ip4_addr_t host{lwip_htonl(kHost.value)};
    (void)netif_add(&interface, &address, &netmask, &router, &card, start_interface, ethernet_input);
    netif_set_default(&interface);
    netif_set_up(&interface);
    netif_set_link_up(&interface);
    tcp_pcb* const connection = tcp_new();
    PERFLEET_ASSERT(connection != nullptr);
    tcp_nagle_disable(connection);
    tcp_sent(connection, [](void*, tcp_pcb*, u16_t size) {
        acknowledged_bytes += size;
        return err_t{ERR_OK};
    });
    (void)tcp_connect(connection, &host, kBytesPort, [](void*, tcp_pcb*, err_t) {
        is_connected = true;
        return err_t{ERR_OK};
    });
    while (!is_connected) {
        poll(card);
    }
    const std::uint64_t began_ns = now_ns();
    const std::uint64_t began_frames = card.counts().frames_sent;
    for (std::uint64_t given = 0; acknowledged_bytes < bytes;) {
        const std::uint64_t size = tcp_sndbuf(connection) < bytes - given ? tcp_sndbuf(connection) : bytes - given;
        const auto now = static_cast<u16_t>(size < piece.size() ? size : piece.size());
        if (now > 0 && tcp_write(connection, piece.data(), now, TCP_WRITE_FLAG_COPY) == ERR_OK) {
            given += now;
        }
        (void)tcp_output(connection);
        poll(card);
    }
    print_rate("lwip", bytes, began_ns, card.counts().frames_sent - began_frames);
    tcp_abort(connection);
    netif_remove(&interface);
}

}  // namespace perfleet::bare_metal
