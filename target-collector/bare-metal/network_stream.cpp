#include "target-collector/bare-metal/network_stream.h"

#include <new>

namespace perfleet::bare_metal {

NetworkStream open_network(VirtioNet& card, const VirtioPlace& place, const TcpStream::Options& options) {
    alignas(TcpStream) static std::byte memory[sizeof(TcpStream)];
    static constexpr std::string_view kNoCard =
        "no virtio network card: give QEMU -netdev user,id=net and -device virtio-net-device,netdev=net";
    if (!card.start(place)) {
        return {nullptr, kNoCard};
    }
    return {new (memory) TcpStream{card, options}, {}};
}

}  // namespace perfleet::bare_metal
