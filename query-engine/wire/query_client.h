// Sends queries to a gateway's query endpoint. One thread; one query at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/limits/query_limits.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/wire/query_message.h"
#include "schemas/host/progress.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class QueryClient {
public:
    using BytesSink = std::function<Result<Done>(std::uint64_t offset, std::span<const std::byte>)>;

    // Doesn't wait for the server. With `keys` it authenticates by the client's key. Errors: kUsage (not an endpoint).
    // A query fails as kUnavailable after `timeout_ns` without a message; a working server sends one every second.
    [[nodiscard]] static Result<std::unique_ptr<QueryClient>> connect(
        const std::string& endpoint, const ConnectKeys* keys = nullptr,
        std::uint64_t timeout_ns = limits::kQueryTimeoutNs);
    virtual ~QueryClient() = default;

    // Receives the server's progress, on the thread that queries.
    void report_to(ProgressReport report) { report_ = std::move(report); }

    // Returns the whole table. Errors: the server's own; kUnavailable; kInvalid (not a query endpoint); kTooLarge (it
    // takes more memory than --memory of `options`, or limits::kQueryMemorySizeBytes).
    [[nodiscard]] virtual Result<Answer> ask_table(const std::string& command, const OptionValues& options) = 0;

    // Writes a file to the sink, part by part. An error of the sink cancels the query.
    [[nodiscard]] virtual Result<QueryEnd> ask_file(const std::string& command, const OptionValues& options,
                                                    const BytesSink& sink) = 0;

protected:
    ProgressReport report_;
};

}  // namespace perfleet
