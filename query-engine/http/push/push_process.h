// Reads what clients push in a process of its own, so that a body that crashes or stalls its reader, or needs much
// memory, hurts no query. Clients whose pushes are read when it ends get 503 with Retry-After. If it lacked memory,
// pushes are read one by one for kAloneNs. A push that lacks memory alone, as the first one of a process, gets 413.
//
// The process is this program again. It begins with the first push, and ends with this one. If it ends earlier, the
// next push starts it again: at once, but after short runs with pauses that double.
//
//   PushProcess                                       serve_pushes()
//       (a socket for a push)             ──▶         by one of kUploadsMax threads
//       request                           ──▶
//       since when to read the store      ◀──         at most kLoadsMax times
//       parts that are stored, or error   ──▶
//       answer                            ◀──         all of it is acknowledged
//
// Threads: any. A thread that starts the process must not end before the last push: the process would end with it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/http/http_message.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/session/pushed_body.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// As of pushed_parts(): by hash, the time of the first sample.
using StoredParts = std::map<std::pair<std::uint64_t, std::uint64_t>, UtcNs>;
using LoadParts = std::function<Result<StoredParts>(UtcNs since)>;

class PushProcess : NonCopyable {
public:
    static constexpr std::uint64_t kAnswerNsMax = 120'000'000'000;  // then the process is killed
    static constexpr std::uint64_t kAloneNs = 60'000'000'000;
    static constexpr unsigned kLoadsMax = 4;  // of one push
    static constexpr std::uint64_t kRestartAfterNsMin = 100'000'000;
    static constexpr std::uint64_t kRestartAfterNsMax = 10'000'000'000;

    struct Options {
        std::vector<std::string> arguments;  // of this program, without its name
        LoadParts load;
        LogSink log;
    };
    explicit PushProcess(Options options) : options_{std::move(options)} {}
    ~PushProcess();

    [[nodiscard]] HttpResponse answer(const HttpRequest& request);

    // Those of the process; they begin at 0 again with another one.
    [[nodiscard]] PushCounts counts() const;
    [[nodiscard]] std::uint64_t restart_count() const;

private:
    struct Run;

    // With the mutex held.
    [[nodiscard]] Result<Done> start();
    [[nodiscard]] FileDescriptor hand_over();  // a push's socket; none: the process can't take it
    void end(Run& run);

    [[nodiscard]] std::optional<HttpResponse> ask(int socket, const HttpRequest& request);

    Options options_;
    std::mutex alone_;  // held by pushes that are read one by one; before mutex_
    std::atomic<std::uint64_t> alone_until_ns_ = 0;
    mutable std::mutex mutex_;
    std::shared_ptr<Run> run_;  // null: none
    PushCounts counts_;
    std::uint64_t start_count_ = 0;
    std::uint64_t pause_ns_ = 0;
    std::uint64_t next_start_ns_ = 0;
};

// Whether a PushProcess started this one. `arguments`: those of main().
[[nodiscard]] bool is_push_process(const char* const* arguments);

// In the process of a PushProcess: answers pushes by `read`, which several threads call at once, until the other
// process ends. `memory_size_bytes_max`: of all data; more ends it.
using ReadPush = std::function<HttpResponse(const HttpRequest&, const LoadParts&)>;
[[noreturn]] void serve_pushes(std::size_t memory_size_bytes_max, const ReadPush& read,
                               const std::function<PushCounts()>& counts);

}  // namespace perfleet
