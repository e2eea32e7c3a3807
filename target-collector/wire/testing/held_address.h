// An address of this machine that is this test's alone, whether or not anything listens there: a port that was merely
// free a moment ago may be another process's by now.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace perfleet {

class HeldAddress {
public:
    // A socket that is bound and never listens keeps its port from those who take any free one. A program that requests
    // this very port and sets SO_REUSEADDR, as libzmq does, gets it; connections are refused until one listens.
    HeldAddress() : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        const int one = 1;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any_address = reinterpret_cast<sockaddr*>(&address);
        if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
            ::bind(socket_, any_address, size) != 0 || ::getsockname(socket_, any_address, &size) != 0) {
            throw std::system_error{errno, std::generic_category(), "no port on 127.0.0.1"};
        }
        endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ~HeldAddress() { ::close(socket_); }
    HeldAddress(const HeldAddress&) = delete;
    HeldAddress& operator=(const HeldAddress&) = delete;

    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

private:
    int socket_;
    std::string endpoint_;
};

}  // namespace perfleet
