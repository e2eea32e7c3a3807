#include "schemas/host/helper_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace perfleet {

int start_helper(const std::string& program, const char* const* arguments, bool has_errors, pid_t& pid,
                 FileDescriptor& socket) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return errno;
    }
    FileDescriptor own_end{ends[0]};
    const FileDescriptor its_end{ends[1]};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!has_errors) {
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error =
        ::posix_spawn(&pid, program.c_str(), &actions, &attributes, const_cast<char* const*>(arguments), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0) {
        socket = std::move(own_end);
    }
    return error;
}

bool send_message(int socket, std::span<const std::byte> message, int fd) {
    iovec part{const_cast<std::byte*>(message.data()), message.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    if (fd >= 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* const with = CMSG_FIRSTHDR(&header);
        with->cmsg_level = SOL_SOCKET;
        with->cmsg_type = SCM_RIGHTS;
        with->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(with), &fd, sizeof(int));
    }
    return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

bool receive_message(int socket, std::span<std::byte> message, FileDescriptor& fd) {
    iovec part{message.data(), message.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t size = 0;
    while ((size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    const cmsghdr* const with = size > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
    if (with != nullptr && with->cmsg_level == SOL_SOCKET && with->cmsg_type == SCM_RIGHTS &&
        with->cmsg_len == CMSG_LEN(sizeof(int))) {
        int received = -1;
        std::memcpy(&received, CMSG_DATA(with), sizeof(int));
        fd.reset(received);
    }
    return size == static_cast<ssize_t>(message.size());
}

}  // namespace perfleet
