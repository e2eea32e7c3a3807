// Answers queries over ZeroMQ: several at once, each on its own thread, streamed in chunks, cancelled when the client
// says so or is gone.
//
// Bounded: limits::kQueriesAtOnceMax queries run, each client has a share of them, and some more of each client wait
// (query_queue.h); those beyond are refused as kBusy. A client is the owner of a key, or a connection where there are
// no keys. limits::kQueryChunksAheadMax chunks of limits::kQueryChunkSizeBytes for each query: a handler waits until
// its client has taken some. A query whose client takes nothing for limits::kQueryIdleNs is given up, for
// limits::kQueryStalledNs if others wait for its place. Messages that start nothing and belong to no query (not
// understood, refused, of a query that isn't there) are counted, and a client that sends too many of them is cut off.
// Connections are bounded by schemas/zmtp/server.h; above the limit one without a query makes way for a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/option/option.h"
#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "schemas/host/progress.h"
#include "schemas/peers/abuse_limiter.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Runs queries, several at once, each on a thread of its own.
using QueryHandler = std::function<Result<QueryEnd>(Query, QueryReply&)>;

// Of an endpoint that asks for keys: its own secret key, and the folder of the public keys of those who may ask.
struct QueryServerKeys {
    std::string key_file;
    std::string clients_folder;
    std::function<void(std::string_view)> log;  // what an operator should know of the folder; may be empty
};

class QueryServer {
public:
    static constexpr std::uint64_t kCountsEveryNs = 250'000'000;
    // Of one client; half is forgiven every second. Who asks in another release's way sends one and reads the answer.
    static constexpr AbuseLimiter::Limits kGarbageLimits{16, 256U << 10, 1'024};

    // Binds; doesn't serve yet. With `keys` only those may ask whose public key is in the folder. Errors: kUsage (no
    // endpoint, or a remote one without keys), kBusy (address in use), kPermission, kIo, and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<QueryServer>> open(const std::string& endpoint, QueryHandler handler,
                                                                   const QueryServerKeys* keys = nullptr);
    virtual ~QueryServer() = default;

    // The endpoint really bound, with the port.
    [[nodiscard]] virtual const std::string& endpoint() const = 0;

    // Is told, on the thread that serves, what became of connections: within kCountsEveryNs of a change.
    using CountsLogSink = std::function<void(const TransportCounts&)>;

    // Serves until `stop_fd` is readable; then cancels what runs and returns.
    [[nodiscard]] virtual Result<Done> serve(int stop_fd, const CountsLogSink& log_counts = {}) = 0;
};

}  // namespace perfleet
