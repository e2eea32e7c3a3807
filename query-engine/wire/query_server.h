// Answers queries over ZeroMQ: several at once, each on its own thread, streamed in chunks, cancelled on the client's
// request or when its connection ends.
//
// Limits: limits::kQueriesAtOnceMax queries run, each client has a share of them, and some more queries of each client
// wait (query_queue.h); others are refused as kBusy. A client is the owner of a key, or a connection if there are no
// keys. At most limits::kQueryChunksAheadMax chunks of limits::kQueryChunkSizeBytes are sent ahead: the handler then
// waits until its client has taken some. A query whose client takes nothing for limits::kQueryIdleNs ends; if others
// wait for its place, after limits::kQueryStalledNs. Messages that start nothing and belong to no query (malformed,
// refused, of an unknown query) count as strikes, and a client with too many is disconnected. Connections are limited
// by schemas/zmtp/server.h; at the limit one without a query is closed for a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/option/option.h"
#include "query-engine/wire/query_message.h"
#include "schemas/peers/abuse_limiter.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Keys of an endpoint that requires them: its own secret key, and the folder with public keys of query clients.
struct QueryServerKeys {
    std::string key_file;
    std::string clients_folder;
    std::function<void(std::string_view)> log;  // for messages about the folder to the operator; may be empty
};

class QueryServer {
public:
    static constexpr std::uint64_t kCountsEveryNs = 250'000'000;
    // Strikes of one client; half of them decay every second. A client of another release sends one such message and
    // reads the error.
    static constexpr AbuseLimiter::Limits kStrikeLimits{16, 256U << 10, 1'024};

    // Binds; serve() answers. With `keys` only clients whose public key is in the folder may query. Errors: kUsage (no
    // endpoint, or a remote one without keys), kBusy (address in use), kPermission, kIo, and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<QueryServer>> open(const std::string& endpoint, QueryHandler handler,
                                                                   const QueryServerKeys* keys = nullptr);
    virtual ~QueryServer() = default;

    // The bound endpoint, with the port.
    [[nodiscard]] virtual const std::string& endpoint() const = 0;

    // Receives connection counts on the serving thread, within kCountsEveryNs of a change.
    using CountsLogSink = std::function<void(const TransportCounts&)>;

    // Serves until `stop_fd` is readable; then cancels running queries and returns.
    [[nodiscard]] virtual Result<Done> serve(int stop_fd, const CountsLogSink& log_counts = {}) = 0;
};

}  // namespace perfleet
