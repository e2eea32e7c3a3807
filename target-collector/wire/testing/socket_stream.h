// A stream socket as the byte stream of a target: connects to a ZeroMQ endpoint (`tcp://127.0.0.1:PORT`, `ipc://PATH`),
// again when the connection is lost, and gives and takes bytes in pieces if a test wants it.
#pragma once

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "target-collector/wire/byte_stream.h"

namespace perfleet {

class SocketStream final : public ByteStream {
public:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

    explicit SocketStream(std::string endpoint) : endpoint_{std::move(endpoint)} {}
    ~SocketStream() { close(); }

    std::uint64_t connection() override {
        if (fd_ < 0 && may_connect) {
            connect();
        }
        return fd_ < 0 ? 0 : number_;
    }
    std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override {
        std::vector<std::byte> bytes{head.begin(), head.end()};
        bytes.insert(bytes.end(), body.begin(), body.end());
        std::size_t size = std::min({bytes.size(), piece_bytes_max, written_bytes_max - written.size()});
        if (size == 0 || (stutters && std::exchange(has_stuttered_, !has_stuttered_))) {
            return 0;
        }
        // The rest waits until the peer has read all that stands before it.
        if (written.size() == split_written_at) {
            int unread = 0;
            if (::ioctl(fd_, SIOCOUTQ, &unread) == 0 && unread > 0) {
                return 0;
            }
        } else if (written.size() < split_written_at) {
            size = std::min(size, split_written_at - written.size());
        }
        const ssize_t sent = ::send(fd_, bytes.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            lose_unless_busy();
            return 0;
        }
        written.insert(written.end(), bytes.begin(), bytes.begin() + sent);
        return static_cast<std::size_t>(sent);
    }
    std::size_t read(std::span<std::byte> into) override {
        std::size_t size = std::min({into.size(), piece_bytes_max, read_bytes_max - read_bytes.size()});
        if (size == 0) {
            return 0;
        }
        if (read_bytes.size() < split_read_at) {
            size = std::min(size, split_read_at - read_bytes.size());
        } else if (read_bytes.size() == split_read_at && !std::exchange(has_paused_, true)) {
            return 0;
        }
        const ssize_t got = ::recv(fd_, into.data(), size, MSG_DONTWAIT);
        if (got <= 0) {
            if (got == 0) {
                close();
            } else {
                lose_unless_busy();
            }
            return 0;
        }
        read_bytes.insert(read_bytes.end(), into.begin(), into.begin() + got);
        return static_cast<std::size_t>(got);
    }
    bool end_connection() override {
        if (can_end) {
            close();
        }
        return can_end;
    }
    void close() {
        if (fd_ >= 0) {
            ::close(fd_);
            fd_ = -1;
        }
    }

    bool may_connect = true;
    bool can_end = true;
    std::size_t piece_bytes_max = kNone;
    bool stutters = false;  // every other time it takes nothing
    // Of all bytes so far; no more goes through, as if the peer stood still.
    std::size_t written_bytes_max = kNone;
    std::size_t read_bytes_max = kNone;
    void stand_still() {
        written_bytes_max = written.size();
        read_bytes_max = read_bytes.size();
    }
    void go_on() {
        written_bytes_max = kNone;
        read_bytes_max = kNone;
    }
    // Of all bytes so far: those before it are gone before those after it follow.
    std::size_t split_written_at = kNone;
    std::size_t split_read_at = kNone;
    std::vector<std::byte> written;
    std::vector<std::byte> read_bytes;

private:
    void connect() {
        const bool is_local = endpoint_.starts_with("ipc://");
        const std::string place = endpoint_.substr(6);
        fd_ = ::socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int result = -1;
        if (is_local) {
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            std::strncpy(address.sun_path, place.c_str(), sizeof address.sun_path - 1);
            result = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        } else {
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(place.substr(place.rfind(':') + 1))));
            result = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
            const int one = 1;
            (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        }
        if (result != 0) {
            close();
        }
        ++number_;
    }
    void lose_unless_busy() {
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            close();
        }
    }

    std::string endpoint_;
    int fd_ = -1;
    std::uint64_t number_ = 0;
    bool has_paused_ = false;
    bool has_stuttered_ = false;
};

}  // namespace perfleet
