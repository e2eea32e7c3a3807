// `HOST:PORT` or `unix:PATH`, where a program listens for HTTP: parsed from an option, and bound.
//
// Hosts only. Plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct ListenAddress {
    std::string option;         // "--metrics", for messages
    std::uint16_t example = 0;  // the option's usual port, for messages
    std::string host;           // an IPv4 address; empty: a Unix socket
    std::uint16_t port = 0;     // 0: a free one
    std::string path{};         // of the socket, absolute

    [[nodiscard]] bool is_loopback() const { return host.starts_with("127."); }
    [[nodiscard]] std::string text() const {
        return !path.empty() ? "unix:" + path : host + ":" + (port == 0 ? "*" : std::to_string(port));
    }
};

// Mode of a Unix socket.
inline constexpr unsigned kSocketMode = 0660;

// `*` or 0 as the port takes a free one. Errors: kUsage, naming the option and the way out.
[[nodiscard]] Result<ListenAddress> parse_listen_address(const std::string& option, const std::string& text,
                                                         std::uint16_t example);

// Parses `unix:PATH`; nothing for any other text. Errors: kUsage.
[[nodiscard]] Result<std::optional<ListenAddress>> parse_socket_path(const std::string& option,
                                                                     const std::string& text);

// A descriptor that listens there, non-blocking; it replaces the socket of a program that has ended. Errors: kUsage
// (not an address of this machine), kBusy (another program listens there), kPermission, kIo.
[[nodiscard]] Result<FileDescriptor> listen_at(const ListenAddress& address);

// The address with the port that was bound.
[[nodiscard]] std::string bound_address(const ListenAddress& address, int listening_fd);

}  // namespace perfleet
