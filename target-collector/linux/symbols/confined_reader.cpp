#include "target-collector/linux/symbols/confined_reader.h"

#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
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
#include <ctime>
#include <span>
#include <string_view>
#include <type_traits>

#include "schemas/host/file_io.h"
#include "schemas/host/helper_process.h"
#include "schemas/host/host_clock.h"
#include "target-collector/linux/symbols/system_call_filter.h"
#include "target-collector/process/unwind/table_bytes.h"

namespace perfleet {
namespace {

constexpr const char* kName = "perfleet-reader";  // argv[0], at most as long as a thread's name
constexpr const char* kUrgent = "urgent";         // argv[1]
constexpr int kSocket = STDIN_FILENO;
constexpr uid_t kNobody = 65'534;

enum class MessageType : std::uint32_t {
    kSymbols,  // to the reader, with the file: five requests
    kUnwindTable,
    kPythonSymbols,
    kProbeEntries,
    kProbeDoor,
    kDebugFile,  // from the reader: text is the debug link; to it: the reply, with or without the file
    kAnswer,     // from the reader, with a memory file that holds the answer
    kError,      // from the reader: code and text
};

std::uint32_t number_of(MessageType type) { return static_cast<std::uint32_t>(type); }

// Both ends are the same program, so the struct is sent as it is.
struct Message {
    MessageType type = MessageType::kSymbols;
    std::uint32_t code = 0;
    std::uint32_t is_whole = 0;
    std::uint32_t text_size = 0;
    std::uint64_t file_offset = 0;  // for kProbeDoor
    std::array<char, 1'000> text{};

    [[nodiscard]] std::string_view view() const { return {text.data(), std::min<std::size_t>(text_size, text.size())}; }
    void set_text(std::string_view from) {
        text_size = static_cast<std::uint32_t>(from.copy(text.data(), text.size()));
    }
};

struct Received {
    Message message;
    FileDescriptor fd;
};

bool send_message(int socket, const Message& message, int fd) {
    return perfleet::send_message(socket, std::as_bytes(std::span{&message, 1}), fd);
}

std::optional<Received> receive_message(int socket, int wait_ms) {
    pollfd ready{socket, POLLIN, 0};
    int count = 0;
    while ((count = ::poll(&ready, 1, wait_ms)) < 0 && errno == EINTR) {
    }
    Received received;
    const bool is_whole =
        count > 0 &&
        perfleet::receive_message(socket, std::as_writable_bytes(std::span{&received.message, 1}), received.fd);
    return is_whole ? std::optional{std::move(received)} : std::nullopt;
}

Result<std::string> content_of(int fd) {
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0 || status.st_size < 0 ||
        static_cast<std::size_t>(status.st_size) > ConfinedReader::kAnswerSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "the answer can't be taken over"};
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    if (read_all_at(fd, 0, std::as_writable_bytes(std::span{bytes})) != bytes.size()) {
        return error_from_errno(errno, "an answer");
    }
    return bytes;
}

// The rest of this namespace runs in the reader process.

void limit(__rlimit_resource resource, rlim_t most) {
    const rlimit limits{most, most};
    (void)::setrlimit(resource, &limits);
}

// Leaves the reader nothing but its socket and the files received through it.
void give_up_rights() {
    ::prctl(PR_SET_NAME, kName);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, ConfinedReader::kAnswerSizeBytesMax);
    limit(RLIMIT_NOFILE, ConfinedReader::kDescriptorsMax);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes
    limit(RLIMIT_AS, ConfinedReader::kMemorySizeBytesMax);
#endif
    // A user namespace may have no user "nobody": then only the capabilities are dropped.
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
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);                              // again: a change of the user clears it
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers need more system calls
    (void)filter_system_calls();                                     // without seccomp the other limits still apply
#endif
}

void allow_cpu_time(unsigned seconds_max) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    const rlimit limits{seconds + 1 + seconds_max, RLIM_INFINITY};
    (void)::setrlimit(RLIMIT_CPU, &limits);
}

FileDescriptor ask_for_debug_file(const SymbolPart& part) {
    Message wanted{MessageType::kDebugFile, 0, 0, 0, 0, {}};
    wanted.set_text(part.debug_link);
    auto answer = send_message(kSocket, wanted, -1) ? receive_message(kSocket, -1) : std::nullopt;
    return answer ? std::move(answer->fd) : FileDescriptor{};
}

void answer_with(const Error& error) {
    Message answer{MessageType::kError, static_cast<std::uint32_t>(error.code), 0, 0, 0, {}};
    answer.set_text(error.message);
    (void)send_message(kSocket, answer, -1);
}

void answer_with(std::string_view bytes, bool is_whole) {
    const Message answer{MessageType::kAnswer, 0, is_whole ? 1U : 0U, 0, 0, {}};
    const FileDescriptor memory{::memfd_create("answer", MFD_CLOEXEC)};
    if (memory && !write_all(memory.get(), std::as_bytes(std::span{bytes}))) {
        std::_Exit(1);
    }
    (void)send_message(kSocket, answer, memory.get());
}

template <class Value>
void answer_with_values(std::span<const Value> values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    answer_with({reinterpret_cast<const char*>(values.data()), values.size_bytes()}, true);
}

// ProbeDoorPlace as sent over the socket: all bit patterns are valid.
struct DoorAnswer {
    std::uint64_t distance = 0;
    std::uint64_t has_names = 0;
};

void answer(const Message& request, int fd) {
    DirectImageReader images;
    switch (request.type) {
        case MessageType::kSymbols: {
            allow_cpu_time(ConfinedReader::kSymbolsCpuSecondsMax);
            const auto packed = packed_symbols_of_file(fd, ask_for_debug_file);
            packed.ok() ? answer_with(packed->bytes, packed->is_whole) : answer_with(packed.error());
            return;
        }
        case MessageType::kUnwindTable: {
            allow_cpu_time(ConfinedReader::kTableCpuSecondsMax);
            const auto table = images.unwind_table(fd);
            table.ok() ? answer_with(unwind_table_bytes(*table), true) : answer_with(table.error());
            return;
        }
        case MessageType::kPythonSymbols: {
            allow_cpu_time(ConfinedReader::kTableCpuSecondsMax);
            const auto found = images.python_symbols(fd);
            const PythonSymbols symbols = found.value_or(PythonSymbols{});
            answer_with_values(std::span{&symbols, found ? 1U : 0U});
            return;
        }
        case MessageType::kProbeEntries: {
            allow_cpu_time(ConfinedReader::kTableCpuSecondsMax);
            const auto entries = images.probe_entries(fd);
            answer_with_values(std::span{entries});
            return;
        }
        case MessageType::kProbeDoor: {
            allow_cpu_time(ConfinedReader::kTableCpuSecondsMax);
            const auto found = images.probe_door(fd, request.file_offset);
            const DoorAnswer door{found ? found->distance : 0, found && found->has_names ? 1U : 0U};
            answer_with_values(std::span{&door, found ? 1U : 0U});
            return;
        }
        case MessageType::kDebugFile:
        case MessageType::kAnswer:
        case MessageType::kError: return;
    }
}

}  // namespace

void run_if_confined_reader(const char* const* arguments) {
    if (arguments[0] == nullptr || std::string_view{arguments[0]} != kName) {
        return;
    }
    if (arguments[1] != nullptr && std::string_view{arguments[1]} == kUrgent) {
        (void)::setpriority(PRIO_PROCESS, 0, ConfinedReader::kUrgentNice);
    }
    give_up_rights();
    while (const auto wanted = receive_message(kSocket, -1)) {
        if (wanted->fd) {
            answer(wanted->message, wanted->fd.get());
        }
    }
    std::_Exit(0);
}

void ConfinedReader::start() {
    const std::uint64_t now = monotonic_now_ns();
    const std::uint64_t since = (now - starts_counted_ns_) / kStartEveryNs;
    if (since > 0) {
        starts_left_ = static_cast<unsigned>(std::min<std::uint64_t>(starts_left_ + since, kStartsMax));
        starts_counted_ns_ = now;
    }
    if (starts_left_ == 0) {
        start_error_ = EAGAIN;
        return;
    }
    --starts_left_;
    const std::array<const char*, 3> arguments{kName, is_urgent_ ? kUrgent : nullptr, nullptr};
    pid_t pid = 0;
    start_error_ = start_helper(program_, arguments.data(), false, pid, socket_);
    if (start_error_ == 0) {
        pid_ = pid;
    }
}

void ConfinedReader::end() {
    if (pid_ == 0) {
        return;
    }
    socket_.reset();
    ::kill(pid_, SIGKILL);
    rusage used{};
    while (::wait4(pid_, nullptr, 0, &used) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
        ended_cpu_ns_ +=
            static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
    }
}

std::uint64_t ConfinedReader::cpu_ns() const {
    clockid_t clock{};
    const bool runs = pid_ != 0 && ::clock_getcpuclockid(pid_, &clock) == 0;
    return ended_cpu_ns_ + (runs ? clock_ns(clock) : 0);
}

Result<ConfinedReader::Answer> ConfinedReader::ask(std::uint32_t request, int fd, int wait_ms,
                                                   const OpenDebugFile& open_debug_file, std::uint64_t file_offset) {
    if (pid_ == 0) {
        start();
    }
    if (pid_ == 0) {
        return Error{ErrorCode::kUnsupported, "no process to read files: " + std::string{std::strerror(start_error_)}};
    }
    bool is_sent = send_message(socket_.get(), {static_cast<MessageType>(request), 0, 0, 0, file_offset, {}}, fd);
    for (unsigned count = 0; is_sent && count < kMessagesMax; ++count) {
        const auto received = receive_message(socket_.get(), wait_ms);
        if (!received) {
            break;
        }
        const Message& message = received->message;
        if (message.type == MessageType::kDebugFile && open_debug_file) {
            SymbolPart part;
            part.debug_link = message.view();
            const FileDescriptor debug_file = open_debug_file(part);
            is_sent = send_message(socket_.get(), {MessageType::kDebugFile, 0, 0, 0, 0, {}}, debug_file.get());
        } else if (message.type == MessageType::kError) {
            const bool is_known = message.code > 0 && message.code <= static_cast<std::uint32_t>(ErrorCode::kCancelled);
            return Error{is_known ? static_cast<ErrorCode>(message.code) : ErrorCode::kInvalid,
                         std::string{message.view()}};
        } else if (message.type == MessageType::kAnswer) {
            auto bytes = PERFLEET_TRY(content_of(received->fd.get()));
            return Answer{std::move(bytes), message.is_whole != 0};
        } else {
            break;
        }
    }
    end();
    return Error{ErrorCode::kTooLarge, "reading it took more than the limits"};
}

Result<PackedSymbols> ConfinedReader::symbols(int fd, const OpenDebugFile& open_debug_file) {
    auto answer = ask(number_of(MessageType::kSymbols), fd, kSymbolsWaitMs, open_debug_file);
    if (!answer.ok()) {
        Error error = std::move(answer).error();
        const bool is_known = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kUnsupported;
        error.code = is_known ? error.code : ErrorCode::kTooLarge;
        return error;
    }
    return PackedSymbols{std::move(answer->bytes), answer->is_whole};
}

Result<UnwindTable> ConfinedReader::unwind_table(int fd) {
    const auto answer = PERFLEET_TRY(ask(number_of(MessageType::kUnwindTable), fd, kTableWaitMs, nullptr));
    return unwind_table_of_bytes(std::as_bytes(std::span{answer.bytes}));
}

template <class Value>
std::vector<Value> ConfinedReader::ask_for_values(std::uint32_t request, int fd, std::size_t count_max,
                                                  std::uint64_t file_offset) {
    const auto answer = ask(request, fd, kTableWaitMs, nullptr, file_offset);
    if (!answer.ok() || answer->bytes.size() % sizeof(Value) != 0 || answer->bytes.size() / sizeof(Value) > count_max) {
        return {};
    }
    std::vector<Value> values(answer->bytes.size() / sizeof(Value));
    answer->bytes.copy(reinterpret_cast<char*>(values.data()), answer->bytes.size());
    return values;
}

std::optional<PythonSymbols> ConfinedReader::python_symbols(int fd) {
    const auto found = ask_for_values<PythonSymbols>(number_of(MessageType::kPythonSymbols), fd, 1);
    return found.empty() ? std::nullopt : std::optional{found[0]};
}

std::vector<perfleet_probe_name> ConfinedReader::probe_entries(int fd) {
    return ask_for_values<perfleet_probe_name>(number_of(MessageType::kProbeEntries), fd, kProbeEntriesMax);
}

std::optional<ProbeDoorPlace> ConfinedReader::probe_door(int fd, std::uint64_t file_offset) {
    const auto found = ask_for_values<DoorAnswer>(number_of(MessageType::kProbeDoor), fd, 1, file_offset);
    return found.empty() ? std::nullopt : std::optional{ProbeDoorPlace{found[0].distance, found[0].has_names != 0}};
}

}  // namespace perfleet
