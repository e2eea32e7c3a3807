// `HOST:PORT`, where a program listens for HTTP: parsed from an option, and bound.
//
// Hosts only. Plain functions.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct ListenAddress {
    std::string option;         // "--metrics", for messages
    std::uint16_t example = 0;  // the option's usual port, for messages
    std::string host;           // an IPv4 address
    std::uint16_t port = 0;     // 0: a free one

    [[nodiscard]] bool is_loopback() const { return host.starts_with("127."); }
    [[nodiscard]] std::string text() const { return host + ":" + (port == 0 ? "*" : std::to_string(port)); }
};

// `*` or 0 as the port takes a free one. Errors: kUsage, naming the option and the way out.
[[nodiscard]] Result<ListenAddress> parse_listen_address(const std::string& option, const std::string& text,
                                                         std::uint16_t example);

// A descriptor that listens there, non-blocking. Errors: kUsage (not an address of this machine), kBusy (another
// program listens there), kPermission, kIo.
[[nodiscard]] Result<FileDescriptor> listen_at(const ListenAddress& address);

// HOST:PORT with the port that was bound.
[[nodiscard]] std::string bound_address(const ListenAddress& address, int listening_fd);

}  // namespace perfleet
