// Shared by HTTP's interfaces: the query service, and its answers as HTTP replies.
//
// Threads: any; a handler's thread runs its queries.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>

#include "query-engine/http/http_message.h"
#include "query-engine/service/export_format.h"
#include "query-engine/service/query.h"

namespace perfleet {

// Takes a build's debug file.
using DebugFileSink = std::function<Result<Done>(std::string file)>;

// Functions that the program passes.
struct HttpBackend {
    QueryHandler query;
    std::function<std::string(const Answer&)> json_report;  // an answer as `--format json` prints it
    std::span<const ExportFormat> formats;
    // QueryService::debug_file(). Empty: no symbols are served.
    std::function<Result<Done>(std::string_view build_id, const DebugFileSink&)> debug_file{};
};

[[nodiscard]] int http_status_of(ErrorCode code);

// {"error":"…"}
[[nodiscard]] HttpResponse error_answer(const Error& error);

// A JSON or text answer, compressed if the request accepts it and it is large enough to be worth it.
void send(const HttpRequest& request, HttpReply& reply, HttpResponse answer);

// The type of answers with progress.
inline constexpr const char* kJsonLines = "application/x-ndjson";

// Limit of a table's rows and texts while they are converted to an HTTP answer.
inline constexpr std::size_t kTableSizeBytesMax = 64U << 20;

// Answers a client that accepts kJsonLines: lines {"progress":[rows read, of all]} while the query runs, from
// kProgressFirstNs on, then the answer as without them. Errors after the first line are one, {"error":"…","status":n}.
//
// The handler's thread; report() is called by any.
class ProgressLines {
public:
    static constexpr std::uint64_t kProgressFirstNs = 300'000'000;
    static constexpr std::uint64_t kProgressEveryNs = 100'000'000;

    ProgressLines(const HttpRequest& request, HttpReply& reply);

    // Empty: the client wants none.
    [[nodiscard]] ProgressReport report();
    // Whether a line was sent, so that the answer must follow by write().
    [[nodiscard]] bool has_begun() const;
    // Ends a begun answer.
    void send(const HttpResponse& answer);

private:
    void say(std::uint64_t done, std::uint64_t total);

    HttpReply& reply_;
    bool is_wanted_;
    mutable std::mutex mutex_;
    std::uint64_t next_ns_;
    bool has_begun_ = false;
};

// Runs a table command. Errors: those of the service; kTooLarge, beyond kTableSizeBytesMax.
[[nodiscard]] Result<Answer> ask_table(const HttpBackend& backend, const std::string& command, OptionValues values,
                                       const std::atomic<bool>& cancelled, ProgressReport progress = {});

// Runs an export into memory. Errors: also kTooLarge, beyond `size_bytes_max`.
[[nodiscard]] Result<std::string> ask_bytes(const HttpBackend& backend, Query query, std::size_t size_bytes_max,
                                            const std::atomic<bool>& cancelled);

// Streams an export as the reply's body. An error before the first byte is an error answer; later the body is aborted.
void stream_export(const HttpBackend& backend, const ExportFormat& format, OptionValues values,
                   const HttpRequest& request, HttpReply& reply);

// Values of options by the request's parameters: `name=value`, a flag also without a value. Errors: kUsage, naming the
// option; `ignored` are names that the caller reads itself.
[[nodiscard]] Result<OptionValues> option_values(const HttpRequest& request, std::span<const OptionSpec> options,
                                                 std::span<const std::string_view> ignored = {});

}  // namespace perfleet
