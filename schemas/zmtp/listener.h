// Sockets that listen where an endpoint says.
//
//   tcp://ADDRESS:PORT   an IPv4 address, an IPv6 address in brackets, `*` (every IPv4 address) or the name of an
//                        interface; `*` as PORT takes a free one
//   ipc://PATH           a Unix socket; what a killed process has left there is replaced
#pragma once

#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet::zmtp {

inline constexpr int kBacklog = 4'096;

// A descriptor and, for ipc://, the file. A resource: closes and removes them.
class Listener {
public:
    // Not blocking, close-on-exec. `option` is named in errors: kUsage (not an endpoint, not an address of this
    // machine), kBusy (address in use), kPermission, kIo.
    [[nodiscard]] static Result<Listener> open(std::string_view option, const std::string& endpoint);
    // Takes over what is bound already, and listens. Errors: kIo.
    [[nodiscard]] static Result<Listener> adopt(FileDescriptor bound, std::string endpoint);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&&) = delete;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    [[nodiscard]] int fd() const { return fd_.get(); }
    // A connection that came: doesn't block, close-on-exec, with the options of TCP. Empty: none.
    [[nodiscard]] FileDescriptor accept() const;
    // With the port that it got.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

private:
    Listener(FileDescriptor fd, std::string endpoint, std::string own_path);

    FileDescriptor fd_;
    std::string endpoint_;
    std::string own_path_;  // of ipc://: to be removed
};

// Of the other end, for messages.
[[nodiscard]] std::string peer_address(int fd);

}  // namespace perfleet::zmtp
