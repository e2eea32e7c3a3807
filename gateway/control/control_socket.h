// The socket for an operator's requests to a gateway: `control.sock` in the folder of its store, for the gateway's user
// (and root) alone. Packets, each of them a message (operator_message.h).
//
// Descriptors are close-on-exec.
#pragma once

#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::string_view kControlSocketName = "control.sock";

// Replaces the socket of a gateway that was killed: the caller must hold the store's lock. Doesn't block.
[[nodiscard]] Result<FileDescriptor> listen_control_socket(const std::string& folder);
void remove_control_socket(const std::string& folder);

// Errors: kNotFound (no gateway serves this folder), kPermission; both say what to do.
[[nodiscard]] Result<FileDescriptor> connect_control_socket(const std::string& folder);

// Whether the other end belongs to this process's user or root, whatever the mode of the socket's file.
[[nodiscard]] bool is_own_peer(int fd);

}  // namespace perfleet
