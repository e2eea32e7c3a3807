// A program that works for this one, and messages between them: each of one size, with a descriptor or without.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

// Starts a program whose standard input is a socket; `socket` is the other end of it. It has no other descriptors than
// that, and standard error if `has_errors`; and a process group of its own: signals of the terminal go to this program.
// `arguments`: argv, up to a null pointer. 0, or an errno.
[[nodiscard]] int start_helper(const std::string& program, const char* const* arguments, bool has_errors, pid_t& pid,
                               FileDescriptor& socket);

// `fd`: negative: none. False: the peer has gone, or errno says why.
[[nodiscard]] bool send_message(int socket, std::span<const std::byte> message, int fd);

// Waits for a message. False: the peer has gone, or sent one of another size. `fd` is closed with exec.
[[nodiscard]] bool receive_message(int socket, std::span<std::byte> message, FileDescriptor& fd);

}  // namespace perfleet
