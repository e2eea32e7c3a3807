#include "target-collector/linux/symbol_extractor.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "target-collector/linux/system_call_filter.h"

namespace perfleet {
namespace {

constexpr const char* kName = "perfleet-symbol";  // its argv[0], as long as a thread's name can be
constexpr int kSocket = STDIN_FILENO;
constexpr uid_t kNobody = 65'534;

enum class MessageType : std::uint32_t {
    kExtract,    // to it, with the file
    kDebugFile,  // from it: the text is the debug link; to it: the answer, with the file or without
    kSymbols,    // from it, with a file in memory that holds them
    kError,      // from it: code and text
};

// Both ends are the same program, so it goes over the socket as it stands.
struct Message {
    MessageType type = MessageType::kExtract;
    std::uint32_t code = 0;
    std::uint32_t is_whole = 0;
    std::uint32_t text_size = 0;
    std::array<char, 1'008> text{};

    [[nodiscard]] std::string_view view() const { return {text.data(), std::min<std::size_t>(text_size, text.size())}; }
    void set_text(std::string_view from) {
        text_size = static_cast<std::uint32_t>(from.copy(text.data(), text.size()));
    }
};

struct Received {
    Message message;
    int fd = -1;  // the receiver's
};

bool send_message(int socket, const Message& message, int fd) {
    iovec part{const_cast<Message*>(&message), sizeof(message)};
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
    return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(message));
}

std::optional<Received> receive_message(int socket, int wait_ms) {
    pollfd ready{socket, POLLIN, 0};
    int count = 0;
    while ((count = ::poll(&ready, 1, wait_ms)) < 0 && errno == EINTR) {
    }
    if (count <= 0) {
        return std::nullopt;
    }
    Received received;
    iovec part{&received.message, sizeof(received.message)};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    const cmsghdr* const with = size > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
    if (with != nullptr && with->cmsg_level == SOL_SOCKET && with->cmsg_type == SCM_RIGHTS &&
        with->cmsg_len == CMSG_LEN(sizeof(int))) {
        std::memcpy(&received.fd, CMSG_DATA(with), sizeof(int));
    }
    if (size != static_cast<ssize_t>(sizeof(received.message))) {
        if (received.fd >= 0) {
            ::close(received.fd);
        }
        return std::nullopt;
    }
    return received;
}

Result<std::string> content_of(int fd) {
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0 || status.st_size < 0 ||
        static_cast<std::size_t>(status.st_size) > SymbolExtractor::kPackedSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "the symbols can't be taken over"};
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t size = ::pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
        if (size <= 0) {
            return error_from_errno(errno, "symbols");
        }
        at += static_cast<std::size_t>(size);
    }
    return bytes;
}

// Below: in the process that reads.

void limit(__rlimit_resource resource, rlim_t most) {
    const rlimit limits{most, most};
    (void)::setrlimit(resource, &limits);
}

// What it has is the socket and what comes through it.
void give_up_rights() {
    ::prctl(PR_SET_NAME, kName);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, SymbolExtractor::kPackedSizeBytesMax);
    limit(RLIMIT_NOFILE, SymbolExtractor::kDescriptorsMax);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve terabytes
    limit(RLIMIT_AS, SymbolExtractor::kMemorySizeBytesMax);
#endif
    // In a user namespace nobody may not exist: then the capabilities alone go.
    if (::geteuid() == 0) {
        (void)(::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
               ::setresuid(kNobody, kNobody, kNobody) == 0);
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    if (::syscall(SYS_capset, &header, none.data()) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        std::_Exit(1);
    }
    limit(RLIMIT_NPROC, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);                              // another user's process has none
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose threads and reports take more
    (void)filter_system_calls();                                     // a kernel without leaves the rest
#endif
}

void allow_cpu_time() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    const rlimit limits{seconds + 1 + SymbolExtractor::kCpuSecondsMax, RLIM_INFINITY};
    (void)::setrlimit(RLIMIT_CPU, &limits);
}

int ask_for_debug_file(const SymbolPart& part) {
    Message wanted{MessageType::kDebugFile, 0, 0, 0, {}};
    wanted.set_text(part.debug_link);
    const auto answer = send_message(kSocket, wanted, -1) ? receive_message(kSocket, -1) : std::nullopt;
    return answer ? answer->fd : -1;
}

void answer_with(const Result<PackedSymbols>& packed) {
    Message answer{MessageType::kError, 0, 0, 0, {}};
    if (!packed.ok()) {
        answer.code = static_cast<std::uint32_t>(packed.error().code);
        answer.set_text(packed.error().message);
        (void)send_message(kSocket, answer, -1);
        return;
    }
    answer.type = MessageType::kSymbols;
    answer.is_whole = packed->is_whole ? 1 : 0;
    const int memory = ::memfd_create("symbols", MFD_CLOEXEC);
    for (std::size_t at = 0; memory >= 0 && at < packed->bytes.size();) {
        const ssize_t size = ::write(memory, packed->bytes.data() + at, packed->bytes.size() - at);
        if (size <= 0) {
            std::_Exit(1);
        }
        at += static_cast<std::size_t>(size);
    }
    (void)send_message(kSocket, answer, memory);
    ::close(memory);
}

}  // namespace

void run_if_symbol_extractor(const char* const* arguments) {
    if (arguments[0] == nullptr || std::string_view{arguments[0]} != kName) {
        return;
    }
    give_up_rights();
    while (const auto wanted = receive_message(kSocket, -1)) {
        if (wanted->message.type == MessageType::kExtract && wanted->fd >= 0) {
            allow_cpu_time();
            answer_with(packed_symbols_of_file(wanted->fd, ask_for_debug_file));
        }
        ::close(wanted->fd);
    }
    std::_Exit(0);
}

void SymbolExtractor::start() {
    std::array<int, 2> ends{};
    if (start_count_++ >= kStartsMax) {
        start_error_ = EAGAIN;
        return;
    }
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        start_error_ = errno;
        return;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], kSocket);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    // Signals of a terminal are the collector's; the end of the socket is this process's.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const std::array<const char*, 2> arguments{kName, nullptr};
    start_error_ = ::posix_spawn(&pid_, program_.c_str(), &actions, &attributes,
                                 const_cast<char* const*>(arguments.data()), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (start_error_ == 0) {
        socket_ = ends[0];
    } else {
        pid_ = 0;
        ::close(ends[0]);
    }
}

void SymbolExtractor::end() {
    if (pid_ == 0) {
        return;
    }
    ::close(std::exchange(socket_, -1));
    ::kill(pid_, SIGKILL);
    rusage used{};
    while (::wait4(pid_, nullptr, 0, &used) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
        cpu_ns_ +=
            static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
    }
}

Result<PackedSymbols> SymbolExtractor::extract(int fd, const OpenDebugFile& open_debug_file) {
    if (pid_ == 0) {
        start();
    }
    if (pid_ == 0) {
        return Error{ErrorCode::kUnsupported,
                     "no process to read symbols: " + std::string{std::strerror(start_error_)}};
    }
    bool is_sent = send_message(socket_, {MessageType::kExtract, 0, 0, 0, {}}, fd);
    for (unsigned count = 0; is_sent && count < kMessagesMax; ++count) {
        const auto received = receive_message(socket_, kWaitMs);
        if (!received) {
            break;
        }
        const Message& message = received->message;
        if (message.type != MessageType::kSymbols && received->fd >= 0) {
            ::close(received->fd);
        }
        if (message.type == MessageType::kDebugFile) {
            SymbolPart part;
            part.debug_link = message.view();
            const int debug_file = open_debug_file(part);
            is_sent = send_message(socket_, {MessageType::kDebugFile, 0, 0, 0, {}}, debug_file);
            if (debug_file >= 0) {
                ::close(debug_file);
            }
        } else if (message.type == MessageType::kError) {
            const bool is_invalid = message.code == static_cast<std::uint32_t>(ErrorCode::kInvalid);
            return Error{is_invalid ? ErrorCode::kInvalid : ErrorCode::kTooLarge, std::string{message.view()}};
        } else {
            auto bytes = content_of(received->fd);
            ::close(received->fd);
            return bytes.ok() ? Result<PackedSymbols>{PackedSymbols{std::move(*bytes), message.is_whole != 0}}
                              : Error{bytes.error()};
        }
    }
    end();
    return Error{ErrorCode::kTooLarge, "reading its symbols took more than the limits"};
}

}  // namespace perfleet
