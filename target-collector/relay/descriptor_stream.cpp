#include "target-collector/relay/descriptor_stream.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace perfleet {
namespace {

// Takes the result of a nonblocking write(2) or read(2). False: the connection is dead.
bool is_alive(ssize_t result) { return result >= 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::size_t size_of(ssize_t result) { return result > 0 ? static_cast<std::size_t>(result) : 0; }

speed_t speed_of(unsigned baud) {
    switch (baud) {
        case 9'600: return B9600;
        case 19'200: return B19200;
        case 38'400: return B38400;
        case 57'600: return B57600;
        case 115'200: return B115200;
        case 230'400: return B230400;
        case 460'800: return B460800;
        case 921'600: return B921600;
        case 1'000'000: return B1000000;
        case 1'500'000: return B1500000;
        case 2'000'000: return B2000000;
        case 3'000'000: return B3000000;
        case 4'000'000: return B4000000;
        default: return B0;
    }
}

Result<FileDescriptor> connect_to(const std::string& path) {
    sockaddr_un address{};
    if (path.size() >= sizeof address.sun_path) {
        return Error{ErrorCode::kUsage, "--serial " + path + ": the path of a socket has at most 107 bytes"};
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    FileDescriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (socket.get() < 0 || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return error_from_errno(errno, "--serial " + path);
    }
    return socket;
}

Result<Done> make_raw(const std::string& path, int line, unsigned baud) {
    const speed_t speed = speed_of(baud);
    if (speed == B0) {
        return Error{ErrorCode::kUsage, "--baud " + std::to_string(baud) +
                                            ": no speed of serial lines; 115200, 921600 and 3000000 are some"};
    }
    termios terminal{};
    if (::tcgetattr(line, &terminal) != 0) {
        return Error{ErrorCode::kUsage, "--serial " + path + ": neither a serial line nor a socket"};
    }
    ::cfmakeraw(&terminal);
    terminal.c_cflag |= CLOCAL | CREAD;
    ::cfsetispeed(&terminal, speed);
    ::cfsetospeed(&terminal, speed);
    if (::tcsetattr(line, TCSANOW, &terminal) != 0 || ::ioctl(line, TIOCEXCL) != 0) {
        return error_from_errno(errno, "--serial " + path);
    }
    ::tcflush(line, TCIOFLUSH);
    return Done{};
}

}  // namespace

std::size_t AcceptedStream::write(std::span<const std::byte> head, std::span<const std::byte> body) {
    if (!is_open_) {
        return 0;
    }
    std::array<iovec, 2> parts{iovec{const_cast<std::byte*>(head.data()), head.size()},
                               iovec{const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    is_open_ = is_alive(sent);
    return size_of(sent);
}

std::size_t AcceptedStream::read(std::span<std::byte> into) {
    if (!is_open_) {
        return 0;
    }
    const ssize_t got = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
    is_open_ = got != 0 && is_alive(got);
    return size_of(got);
}

bool AcceptedStream::end_connection() {
    ::shutdown(socket_, SHUT_RDWR);
    is_open_ = false;
    return true;
}

std::size_t DescriptorPort::write(std::span<const std::byte> bytes) {
    const ssize_t written = ::write(line_, bytes.data(), bytes.size());
    is_gone_ = is_gone_ || !is_alive(written);
    return size_of(written);
}

std::size_t DescriptorPort::read(std::span<std::byte> into) {
    const ssize_t got = ::read(line_, into.data(), into.size());
    is_gone_ = is_gone_ || got == 0 || !is_alive(got);
    return size_of(got);
}

Result<FileDescriptor> open_line(const std::string& path, unsigned baud) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return error_from_errno(errno, "--serial " + path);
    }
    if (S_ISSOCK(status.st_mode)) {
        return connect_to(path);
    }
    if (!S_ISCHR(status.st_mode)) {
        return Error{ErrorCode::kUsage, "--serial " + path + ": neither a serial line nor a socket"};
    }
    FileDescriptor line{::open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)};
    if (line.get() < 0) {
        return error_from_errno(errno, "--serial " + path);
    }
    PERFLEET_TRY(make_raw(path, line.get(), baud));
    return line;
}

}  // namespace perfleet
