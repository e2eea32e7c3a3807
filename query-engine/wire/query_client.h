// Asks a gateway's query endpoint. One thread; one query at a time.
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

    // Doesn't wait for the server, which is shown the own key where there are `keys`. Errors: kUsage (not an endpoint).
    // A query fails as kUnavailable when nothing was heard for `timeout_ns`; a server at work says so once a second.
    [[nodiscard]] static Result<std::unique_ptr<QueryClient>> connect(
        const std::string& endpoint, const ConnectKeys* keys = nullptr,
        std::uint64_t timeout_ns = limits::kQueryTimeoutNs);
    virtual ~QueryClient() = default;

    // How far the server has come, as often as it tells: on the thread that asks.
    void report_to(ProgressReport report) { report_ = std::move(report); }

    // The whole table. Errors: the server's own; kUnavailable; kInvalid (not a query endpoint); kTooLarge (it takes
    // more memory than --memory of `options`, or limits::kQueryMemorySizeBytes).
    [[nodiscard]] virtual Result<Answer> ask_table(const std::string& command, const OptionValues& options) = 0;

    // A file, part by part. An error of the sink cancels the query.
    [[nodiscard]] virtual Result<QueryEnd> ask_file(const std::string& command, const OptionValues& options,
                                                    const BytesSink& sink) = 0;

protected:
    ProgressReport report_;
};

}  // namespace perfleet
