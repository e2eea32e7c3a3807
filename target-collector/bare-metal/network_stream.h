// A TCP connection to a gateway over the board's virtio network card, where this image was built with lwIP.
#pragma once

#include <string_view>

#include "target-collector/bare-metal/virtio_net.h"
#include "target-collector/network/tcp_stream.h"

namespace perfleet::bare_metal {

struct NetworkStream {
    TcpStream* stream = nullptr;
    std::string_view error;  // why there is no stream; ends with a NUL
};
// Starts `card`, which is borrowed, and one stream for the program's life.
[[nodiscard]] NetworkStream open_network(VirtioNet& card, const VirtioPlace& place, const TcpStream::Options& options);

}  // namespace perfleet::bare_metal
