#include "query-engine/http/push/push_process.h"

#include <malloc.h>
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
#include <type_traits>

#include "query-engine/http/http_server.h"
#include "schemas/host/file_io.h"
#include "schemas/host/helper_process.h"
#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr const char* kName = "perfleet-push";  // argv[0], at most as long as a thread's name
constexpr int kSocket = STDIN_FILENO;
constexpr int kNoMemoryStatus = 77;
constexpr int kMappedSizeBytesMin = 1 << 20;  // larger arrays leave no holes in the heap
constexpr std::uint64_t kNsPerS = 1'000'000'000;

constexpr std::size_t kTextsMax = 16'384;  // of a message; headers have HttpServer::kHeaderSizeBytesMax
constexpr std::size_t kRequestSizeBytesMax = HttpServer::kUploadSizeBytesMax + (1U << 20);
constexpr std::size_t kAnswerSizeBytesMax = 1U << 20;
constexpr std::size_t kPartsSizeBytesMax = 64U << 20;

// Texts that messages begin with. Numbers are texts of their bytes.
constexpr std::size_t kRequestTexts = 5;  // method, path, client, body, number of parameters; pairs: those, headers
constexpr std::size_t kLoadTexts = 1;     // since
constexpr std::size_t kPartsTexts = 1;    // array of StoredPart
constexpr std::size_t kErrorTexts = 2;    // code, message: in place of parts
constexpr std::size_t kAnswerTexts = 4;   // status, type, body, counts; pairs: headers

struct StoredPart {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    UtcNs time;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Texts = std::vector<std::string>;

template <class Value>
std::string_view bytes_of(std::span<const Value> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}
template <class Number>
std::string_view text_of(const Number& number) {
    return bytes_of(std::span{&number, 1});
}
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    static_assert(std::is_trivially_copyable_v<Number>);
    Number number{};
    return text.copy(reinterpret_cast<char*>(&number), sizeof number) == text.size() && text.size() == sizeof number
               ? std::optional{number}
               : std::nullopt;
}

// A message is the number of its texts, their sizes, and the texts. Both ends are the same program.
bool send_texts(int socket, std::span<const std::string_view> texts) {
    std::vector<std::uint64_t> sizes{texts.size()};
    for (const std::string_view text : texts) {
        sizes.push_back(text.size());
    }
    std::string_view bytes = bytes_of<std::uint64_t>(sizes);
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
    if (!parts.ok()) {
        return send_texts(socket, {text_of(parts.error().code), parts.error().message});
    }
    std::vector<StoredPart> array;
    for (const auto& [hash, time] : *parts) {
        if (array.size() == kPartsSizeBytesMax / sizeof(StoredPart)) {
            break;  // pushes are refused above a tenth of it
        }
        array.push_back({hash.first, hash.second, time});
    }
    return send_texts(socket, {bytes_of<StoredPart>(array)});
}

// The rest of this namespace runs in the push process.

Result<StoredParts> load_parts(int socket, UtcNs since) {
    const Texts reply = send_texts(socket, {text_of(since)}) ? receive_texts(socket, kPartsSizeBytesMax) : Texts{};
    if (reply.size() != kPartsTexts) {
        const auto code = reply.size() == kErrorTexts ? number_in<ErrorCode>(reply[0]) : std::nullopt;
        return Error{code.value_or(ErrorCode::kUnavailable), code ? reply[1] : "the store can't be read"};
    }
    StoredParts parts;
    std::string_view rest = reply[0];
    while (const auto part = number_in<StoredPart>(rest.substr(0, sizeof(StoredPart)))) {
        parts.emplace_hint(parts.end(), std::pair{part->high, part->low}, part->time);
        rest.remove_prefix(sizeof *part);
    }
    return parts;
}

void serve_push(int socket, const ReadPush& read, const std::function<PushCounts()>& counts) {
    Texts texts = receive_texts(socket, kRequestSizeBytesMax);
    if (texts.size() < kRequestTexts) {
        return;  // the other process has ended
    }
    const auto pairs = std::span{texts}.subspan(kRequestTexts);
    const std::size_t parameters = 2 * number_in<std::size_t>(texts[4]).value_or(0);
    const HttpRequest request{std::move(texts[0]),
                              std::move(texts[1]),
                              take_pairs(pairs.first(parameters)),
                              take_pairs(pairs.subspan(parameters)),
                              std::move(texts[3]),
                              std::move(texts[2])};
    const HttpResponse answer = read(request, [socket](UtcNs since) { return load_parts(socket, since); });
    const PushCounts now = counts();
    std::vector<std::string_view> reply{text_of(answer.status), answer.content_type, answer.body, text_of(now)};
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
    bool is_fresh = true;        // it has read none to the end
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
    std::vector<const char*> arguments{kName};
    for (const std::string& argument : options_.arguments) {
        arguments.push_back(argument.c_str());
    }
    arguments.push_back(nullptr);
    auto run = std::make_shared<Run>();
    if (const int error = start_helper("/proc/self/exe", arguments.data(), true, run->pid, run->control); error != 0) {
        return error_from_errno(error, "starting the process that reads pushed profiles");
    }
    run->started_ns = monotonic_now_ns();
    run_ = std::move(run);
    ++start_count_;
    counts_ = {};
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
    run.was_one_too_large = lacked_memory && run.push_count == 1 && run.is_fresh;
    const std::uint64_t now_ns = monotonic_now_ns();
    alone_until_ns_ = lacked_memory ? now_ns + kAloneNs : alone_until_ns_.load();
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
    const std::size_t parameters = request.parameters.size();
    std::vector<std::string_view> texts{request.method, request.path, request.client, request.body,
                                        text_of(parameters)};
    add_pairs(request.parameters, texts);
    add_pairs(request.headers, texts);
    bool is_sent = send_texts(socket, texts);
    for (unsigned loads = 0; is_sent && loads <= kLoadsMax; ++loads) {
        Texts reply = receive_texts(socket, kAnswerSizeBytesMax);
        const auto since = reply.size() == kLoadTexts ? number_in<UtcNs>(reply[0]) : std::nullopt;
        if (since) {
            is_sent = send_parts(socket, options_.load(*since));
            continue;
        }
        // What the process has read may control it.
        const auto status = reply.size() < kAnswerTexts ? std::nullopt : number_in<int>(reply[0]);
        if (!status || *status < 200 || *status > 599) {
            return std::nullopt;
        }
        const std::scoped_lock lock{mutex_};
        counts_ = number_in<PushCounts>(reply[3]).value_or(counts_);
        return HttpResponse{*status, std::move(reply[1]), std::move(reply[2]),
                            take_pairs(std::span{reply}.subspan(kAnswerTexts))};
    }
    return std::nullopt;
}

HttpResponse PushProcess::answer(const HttpRequest& request) {
    std::unique_lock alone{alone_, std::defer_lock};
    if (monotonic_now_ns() < alone_until_ns_) {
        alone.lock();
    }
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
    run->is_fresh = false;
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
    ::mallopt(M_MMAP_THRESHOLD, kMappedSizeBytesMin);
    std::set_new_handler([] { std::_Exit(kNoMemoryStatus); });
    const auto serve = [&] {
        while (true) {
            FileDescriptor socket;
            std::array<std::byte, 1> here{};
            if (!receive_message(kSocket, here, socket) || !socket) {
                std::_Exit(0);  // the other process has ended
            }
            serve_push(socket.get(), read, counts);
            ::malloc_trim(0);
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
