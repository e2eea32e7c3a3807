#include "query-engine/http/push/push_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <span>
#include <string_view>
#include <thread>

#include "query-engine/http/http_server.h"
#include "schemas/host/descriptor_message.h"
#include "schemas/host/file_io.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr const char* kName = "perfleet-push";  // argv[0], at most as long as a thread's name
constexpr int kSocket = STDIN_FILENO;
constexpr int kNoMemoryStatus = 77;
constexpr std::uint64_t kNsPerS = 1'000'000'000;

// What a message is: its first text. A request has none.
constexpr std::string_view kLoad = "load";      // since
constexpr std::string_view kParts = "parts";    // array of StoredPart
constexpr std::string_view kError = "error";    // code, message
constexpr std::string_view kAnswer = "answer";  // status, type, body, counts, headers

constexpr std::size_t kTextsMax = 16'384;  // of a message; headers have HttpServer::kHeaderSizeBytesMax
constexpr std::size_t kRequestSizeBytesMax = HttpServer::kUploadSizeBytesMax + (1U << 20);
constexpr std::size_t kAnswerSizeBytesMax = 1U << 20;
constexpr std::size_t kRequestTexts = 5;
constexpr std::size_t kAnswerTexts = 8;

struct StoredPart {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::int64_t time_ns = 0;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Texts = std::vector<std::string>;

template <class Value>
std::string_view bytes_of(const std::vector<Value>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

// A message is the number of its texts, their sizes, and the texts. Both ends are the same program.
bool send_texts(int socket, std::span<const std::string_view> texts) {
    std::vector<std::uint64_t> sizes{texts.size()};
    for (const std::string_view text : texts) {
        sizes.push_back(text.size());
    }
    std::string_view bytes = bytes_of(sizes);
    for (std::size_t next = 0;;) {
        while (bytes.empty() && next < texts.size()) {
            bytes = texts[next++];
        }
        if (bytes.empty()) {
            return true;
        }
        const ssize_t size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size < 0 && errno != EINTR) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
}

bool send_texts(int socket, std::initializer_list<std::string_view> texts) {
    return send_texts(socket, std::span{texts.begin(), texts.size()});
}

// Empty: the peer has gone, is silent for too long, or sent too much.
Texts receive_texts(int socket, std::uint64_t size_bytes_max) {
    const auto read_whole = [&](auto& into) {
        const auto bytes = std::as_writable_bytes(std::span{into});
        return read_all(socket, bytes) == bytes.size();
    };
    std::array<std::uint64_t, 1> count{};
    if (!read_whole(count) || count[0] > kTextsMax) {
        return {};
    }
    std::vector<std::uint64_t> sizes(count[0]);
    if (!read_whole(sizes)) {
        return {};
    }
    Texts texts;
    for (const std::uint64_t size : sizes) {
        if (size > size_bytes_max) {
            return {};
        }
        size_bytes_max -= size;
        if (!read_whole(texts.emplace_back(size, '\0'))) {
            return {};
        }
    }
    return texts;
}

void add_pairs(const Pairs& pairs, std::vector<std::string_view>& texts) {
    for (const auto& [name, value] : pairs) {
        texts.insert(texts.end(), {name, value});
    }
}

Pairs take_pairs(std::span<std::string> texts) {
    Pairs pairs;
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
        pairs.emplace_back(std::move(texts[i]), std::move(texts[i + 1]));
    }
    return pairs;
}

HttpResponse retry_answer(const std::string& text, std::uint64_t after_ns) {
    return {503,
            "text/plain; charset=utf-8",
            text + "; try again\n",
            {{"Retry-After", std::to_string(after_ns / kNsPerS + 1)}}};
}

bool send_parts(int socket, const Result<StoredParts>& parts) {
    if (!parts.ok() || parts->size() > PushProcess::kPartsMax) {
        const Error error =
            parts.ok() ? Error{ErrorCode::kBusy, "too many parts of profiles were stored within a day"} : parts.error();
        return send_texts(socket, {kError, std::to_string(static_cast<int>(error.code)), error.message});
    }
    std::vector<StoredPart> array;
    array.reserve(parts->size());
    for (const auto& [hash, time] : *parts) {
        array.push_back({hash.first, hash.second, time.value});
    }
    return send_texts(socket, {kParts, bytes_of(array)});
}

// The rest of this namespace runs in the push process.

Result<StoredParts> load_parts(int socket, UtcNs since) {
    const Error gone{ErrorCode::kUnavailable, "the store can't be read"};
    if (!send_texts(socket, {kLoad, std::to_string(since.value)})) {
        return gone;
    }
    const Texts reply = receive_texts(socket, PushProcess::kPartsMax * sizeof(StoredPart) + kAnswerSizeBytesMax);
    if (reply.size() == 3 && reply[0] == kError) {
        return Error{static_cast<ErrorCode>(number_of<int>(reply[1]).value_or(0)), reply[2]};
    }
    if (reply.size() != 2) {
        return gone;
    }
    StoredParts parts;
    for (std::size_t at = 0; at + sizeof(StoredPart) <= reply[1].size(); at += sizeof(StoredPart)) {
        StoredPart part;
        reply[1].copy(reinterpret_cast<char*>(&part), sizeof part, at);
        parts.emplace_hint(parts.end(), std::pair{part.high, part.low}, UtcNs{part.time_ns});
    }
    return parts;
}

void serve_push(int socket, const ReadPush& read, const std::function<PushCounts()>& counts) {
    Texts texts = receive_texts(socket, kRequestSizeBytesMax);
    const auto parameters = texts.size() < kRequestTexts ? std::nullopt : number_of<std::size_t>(texts[4]);
    if (!parameters || *parameters > (texts.size() - kRequestTexts) / 2) {
        return;
    }
    HttpRequest request;
    request.method = std::move(texts[0]);
    request.path = std::move(texts[1]);
    request.client = std::move(texts[2]);
    request.body = std::move(texts[3]);
    const auto pairs = std::span{texts}.subspan(kRequestTexts);
    request.parameters = take_pairs(pairs.first(2 * *parameters));
    request.headers = take_pairs(pairs.subspan(2 * *parameters));
    const HttpResponse answer = read(request, [socket](UtcNs since) { return load_parts(socket, since); });
    const PushCounts now = counts();
    const std::array numbers{std::to_string(answer.status), std::to_string(now.requests), std::to_string(now.refused),
                             std::to_string(now.rows), std::to_string(now.profiles_rejected)};
    std::vector<std::string_view> reply{kAnswer,    numbers[0], answer.content_type, answer.body,
                                        numbers[1], numbers[2], numbers[3],          numbers[4]};
    add_pairs(answer.headers, reply);
    (void)send_texts(socket, reply);
}

void limit(__rlimit_resource resource, rlim_t most) {
    const rlimit limits{most, most};
    (void)::setrlimit(resource, &limits);
}

}  // namespace

struct PushProcess::Run {
    pid_t pid = 0;
    FileDescriptor control;
    std::uint64_t started_ns = 0;
    std::size_t push_count = 0;  // that it reads
    bool has_ended = false;
    bool was_one_too_large = false;
};

PushProcess::~PushProcess() {
    if (run_ != nullptr) {
        ::kill(run_->pid, SIGKILL);
        (void)::waitpid(run_->pid, nullptr, 0);
    }
}

PushCounts PushProcess::counts() const {
    const std::scoped_lock lock{mutex_};
    return counts_;
}

std::uint64_t PushProcess::restart_count() const {
    const std::scoped_lock lock{mutex_};
    return start_count_ == 0 ? 0 : start_count_ - 1;
}

Result<Done> PushProcess::start() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return error_from_errno(errno, "socketpair");
    }
    FileDescriptor own_end{ends[0]};
    const FileDescriptor its_end{ends[1]};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], kSocket);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    // In a process group of its own: signals of the terminal go to this process alone.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    std::vector<const char*> arguments{kName};
    for (const std::string& argument : options_.arguments) {
        arguments.push_back(argument.c_str());
    }
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                                    const_cast<char* const*>(arguments.data()), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return error_from_errno(error, "starting the process that reads pushed profiles");
    }
    ++start_count_;
    counts_ = {};
    run_ = std::make_shared<Run>(Run{pid, std::move(own_end), monotonic_now_ns()});
    return Done{};
}

FileDescriptor PushProcess::hand_over() {
    while (run_ != nullptr || monotonic_now_ns() >= next_start_ns_) {
        if (run_ == nullptr) {
            if (const auto started = start(); !started.ok()) {
                next_start_ns_ = monotonic_now_ns() + kRestartAfterNsMax;
                options_.log({LogLevel::kError, "push_process", started.error().message});
                break;
            }
        }
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
            break;
        }
        FileDescriptor own_end{ends[0]};
        const FileDescriptor its_end{ends[1]};
        constexpr std::array kHere{std::byte{1}};
        if (send_message(run_->control.get(), kHere, its_end.get())) {
            return own_end;
        }
        end(*run_);
    }
    return FileDescriptor{};
}

void PushProcess::end(Run& run) {
    if (std::exchange(run.has_ended, true)) {
        return;
    }
    int status = 0;
    ::kill(run.pid, SIGKILL);  // changes nothing if it has ended
    while (::waitpid(run.pid, &status, 0) < 0 && errno == EINTR) {
    }
    const bool lacked_memory = WIFEXITED(status) && WEXITSTATUS(status) == kNoMemoryStatus;
    run.was_one_too_large = lacked_memory && run.push_count == 1;
    const std::uint64_t now_ns = monotonic_now_ns();
    pause_ns_ = now_ns - run.started_ns > kRestartAfterNsMax
                    ? 0
                    : std::clamp(2 * pause_ns_, kRestartAfterNsMin, kRestartAfterNsMax);
    next_start_ns_ = now_ns + pause_ns_;
    run_.reset();
    options_.log({LogLevel::kWarning, "push_process",
                  "the process that reads pushed profiles ended (" +
                      (lacked_memory         ? "it needed more than --http-push-memory"
                       : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                             : "exit status " + std::to_string(WEXITSTATUS(status))) +
                      "); the next push starts it again"});
}

std::optional<HttpResponse> PushProcess::ask(int socket, const HttpRequest& request) {
    const timeval wait{static_cast<time_t>(kAnswerNsMax / kNsPerS), 0};
    (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    const std::string parameter_count = std::to_string(request.parameters.size());
    std::vector<std::string_view> texts{request.method, request.path, request.client, request.body, parameter_count};
    add_pairs(request.parameters, texts);
    add_pairs(request.headers, texts);
    bool is_sent = send_texts(socket, texts);
    for (unsigned loads = 0; is_sent && loads <= kLoadsMax; ++loads) {
        Texts reply = receive_texts(socket, kAnswerSizeBytesMax);
        if (reply.size() == 2 && reply[0] == kLoad) {
            const auto since = number_of<std::int64_t>(reply[1]);
            is_sent = since && send_parts(socket, options_.load(UtcNs{*since}));
            continue;
        }
        // What it read may control it: its answer is checked.
        const auto status = reply.size() < kAnswerTexts ? std::nullopt : number_of<int>(reply[1]);
        if (!status || *status < 200 || *status > 599 || reply[0] != kAnswer) {
            return std::nullopt;
        }
        std::array<std::uint64_t, 4> counts{};
        for (std::size_t i = 0; i < counts.size(); ++i) {
            counts[i] = number_of<std::uint64_t>(reply[4 + i]).value_or(0);
        }
        const std::scoped_lock lock{mutex_};
        counts_ = {std::max(counts_.requests, counts[0]), std::max(counts_.refused, counts[1]),
                   std::max(counts_.rows, counts[2]), std::max(counts_.profiles_rejected, counts[3])};
        return HttpResponse{*status, std::move(reply[2]), std::move(reply[3]),
                            take_pairs(std::span{reply}.subspan(kAnswerTexts))};
    }
    return std::nullopt;
}

HttpResponse PushProcess::answer(const HttpRequest& request) {
    std::shared_ptr<Run> run;
    FileDescriptor socket;
    {
        const std::scoped_lock lock{mutex_};
        socket = hand_over();
        if (!socket) {
            return retry_answer("the process that reads pushed profiles isn't there", pause_ns_);
        }
        run = run_;
        ++run->push_count;
    }
    auto answer = ask(socket.get(), request);
    const std::scoped_lock lock{mutex_};
    if (!answer) {
        end(*run);
        answer = run->was_one_too_large
                     ? HttpResponse{413, "text/plain; charset=utf-8",
                                    "reading it takes more than the memory for it (--http-push-memory): send less\n"}
                     : retry_answer("the process that read it has ended", pause_ns_);
    }
    --run->push_count;
    return *std::move(answer);
}

bool is_push_process(const char* const* arguments) {
    return arguments[0] != nullptr && std::string_view{arguments[0]} == kName;
}

void serve_pushes(std::size_t memory_size_bytes_max, const ReadPush& read, const std::function<PushCounts()>& counts) {
    ::prctl(PR_SET_NAME, kName);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes
    limit(RLIMIT_DATA, memory_size_bytes_max);
#endif
    std::set_new_handler([] { std::_Exit(kNoMemoryStatus); });
    const auto serve = [&] {
        while (true) {
            FileDescriptor socket;
            std::array<std::byte, 1> here{};
            if (!receive_message(kSocket, here, socket) || !socket) {
                std::_Exit(0);  // the other process has ended
            }
            serve_push(socket.get(), read, counts);
        }
    };
    std::vector<std::thread> others;
    while (others.size() + 1 < HttpServer::kUploadsMax) {
        others.emplace_back(serve);
    }
    serve();
    std::_Exit(0);
}

}  // namespace perfleet
