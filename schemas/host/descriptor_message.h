// Messages over a Unix socket that keeps them apart (SOCK_SEQPACKET), each of one size, with a descriptor or without.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

// `fd`: negative: none. False: the peer has gone, or errno says why.
[[nodiscard]] bool send_message(int socket, std::span<const std::byte> message, int fd);

// Waits for a message. False: the peer has gone, or sent one of another size. `fd` is closed with exec.
[[nodiscard]] bool receive_message(int socket, std::span<std::byte> message, FileDescriptor& fd);

}  // namespace perfleet
