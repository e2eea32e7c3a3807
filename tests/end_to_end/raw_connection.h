// A TCP connection over loopback that sends whatever a test gives it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

class RawConnection {
public:
    explicit RawConnection(const std::string& endpoint) : socket_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
        EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    RawConnection(RawConnection&& other) noexcept : socket_{std::exchange(other.socket_, -1)} {}
    RawConnection& operator=(RawConnection&&) = delete;
    ~RawConnection() {
        if (socket_ >= 0) {
            close(socket_);
        }
    }

    // False: the other side has closed it. Waits while the other side doesn't read.
    bool write(const std::string& bytes) const {
        for (std::size_t sent = 0; sent < bytes.size();) {
            // A sender whose peer disconnected without reading learns of it late.
            pollfd ready{socket_, POLLOUT | POLLRDHUP, 0};
            if (poll(&ready, 1, kTimeoutS * 1'000) != 1 || (ready.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
                return false;
            }
            const ssize_t part = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (part <= 0 && errno != EAGAIN) {
                return false;
            }
            sent += part > 0 ? static_cast<std::size_t>(part) : 0;
        }
        return true;
    }

    // Waits for so many bytes and discards them. libzmq closes a connection whose peer continues before it has sent
    // anything.
    void wait_for_bytes(std::size_t size_bytes) const {
        std::string bytes(size_bytes, '\0');
        pollfd waiting{socket_, POLLIN, 0};
        for (std::size_t taken = 0; taken < size_bytes;) {
            ASSERT_EQ(poll(&waiting, 1, kTimeoutS * 1'000), 1);
            const ssize_t part = recv(socket_, bytes.data(), size_bytes - taken, 0);
            ASSERT_GT(part, 0);
            taken += static_cast<std::size_t>(part);
        }
    }

    // A DEALER without a key, ready to send.
    void shake_hands() const;

    // Waits until the other side closes it, and discards everything received.
    [[nodiscard]] bool is_closed_by_peer() const {
        char bytes[4'096];
        pollfd waiting{socket_, POLLIN, 0};
        while (poll(&waiting, 1, kTimeoutS * 1'000) == 1) {
            if (recv(socket_, bytes, sizeof bytes, 0) <= 0) {
                return true;
            }
        }
        return false;
    }

private:
    int socket_;
};

// The first bytes of a ZMTP 3 peer, with this mechanism.
inline std::string zmtp_greeting(const std::string& mechanism) {
    std::string greeting{"\xff\0\0\0\0\0\0\0\1\x7f\x03\0", 12};
    greeting += mechanism + std::string(20 - mechanism.size(), '\0');
    return greeting + std::string(32, '\0');
}

// The READY of a DEALER, without a key.
inline std::string zmtp_ready() {
    const std::string body = std::string{"\x05READY\x0bSocket-Type\0\0\0\x06", 6 + 12 + 4} + "DEALER";
    return std::string{"\x04", 1} + static_cast<char>(body.size()) + body;
}

inline void RawConnection::shake_hands() const {
    constexpr std::size_t kGreetingSizeBytes = 64;
    ASSERT_TRUE(write(zmtp_greeting("NULL")));
    wait_for_bytes(kGreetingSizeBytes);
    ASSERT_TRUE(write(zmtp_ready()));
    wait_for_bytes(2);  // its READY has begun
}

}  // namespace perfleet::end_to_end
