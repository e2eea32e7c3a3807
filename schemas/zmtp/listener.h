// Sockets that listen at endpoints.
//
//   tcp://ADDRESS:PORT   an IPv4 address, an IPv6 address in brackets, `*` (every IPv4 address) or the name of an
//                        interface; `*` as PORT takes a free one
//   ipc://PATH           a Unix socket; replaces the one that a killed process has left there
#pragma once

#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet::zmtp {

inline constexpr int kBacklog = 4'096;

// A listening descriptor and, for ipc://, its file. The destructor closes and removes them.
class Listener {
public:
    // The socket is non-blocking and close-on-exec. `option` is named in errors: kUsage (not an endpoint, not an
    // address of this machine), kBusy (address in use), kPermission, kIo.
    [[nodiscard]] static Result<Listener> open(std::string_view option, const std::string& endpoint);
    // Takes a bound socket and listens. Errors: kIo.
    [[nodiscard]] static Result<Listener> adopt(FileDescriptor bound, std::string endpoint);
    Listener(Listener&& other) noexcept;
    Listener& operator=(Listener&&) = delete;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    [[nodiscard]] int fd() const { return fd_.get(); }
    // The next new connection: non-blocking, close-on-exec, with TCP's options set. Empty: none.
    [[nodiscard]] FileDescriptor accept() const;
    // With the port that it got.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

private:
    Listener(FileDescriptor fd, std::string endpoint, std::string own_path);

    FileDescriptor fd_;
    std::string endpoint_;
    std::string own_path_;  // of ipc://: removed by the destructor
};

// The address of the other end, for messages.
[[nodiscard]] std::string peer_address(int fd);

}  // namespace perfleet::zmtp
