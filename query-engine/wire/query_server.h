// Answers queries over ZeroMQ: several at once, each on its own thread, streamed in chunks, cancelled when the asker
// says so or is gone.
//
// Bounded: limits::kQueriesAtOnceMax queries (more are refused as kBusy), limits::kQueryChunksAheadMax chunks of
// limits::kQueryChunkSizeBytes for each: a handler waits until its asker has taken some. An asker that takes nothing
// for limits::kQueryIdleNs is given up.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "query-engine/option/option.h"
#include "query-engine/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "query-engine/wire/query_socket.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Where a handler's answer goes. Used by the handler's thread.
class QueryReply {
public:
    virtual ~QueryReply() = default;

    // The table; its ledger and warnings travel with the QueryEnd. Errors: kCancelled.
    [[nodiscard]] virtual Result<Done> send_table(const Answer& answer) = 0;
    // Part of a file. Errors: kCancelled.
    [[nodiscard]] virtual Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    // Set when nobody waits for the answer any more; long work looks at it.
    [[nodiscard]] virtual const std::atomic<bool>& cancelled() const = 0;
};

using QueryHandler = std::function<Result<QueryEnd>(const OptionValues&, QueryReply&)>;

class QueryServer {
public:
    // By command. Handlers run on several threads at once.
    using Handlers = std::map<std::string, QueryHandler, std::less<>>;

    // Binds; doesn't serve yet. With `keys` only those may ask whose public key is in the folder. Errors: kUsage (no
    // endpoint, or a remote one without keys), kBusy (address in use), kPermission, kIo, and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<QueryServer>> open(const std::string& endpoint, Handlers handlers,
                                                                   const QueryServerKeys* keys = nullptr);
    virtual ~QueryServer() = default;

    // The endpoint really bound, with the port.
    [[nodiscard]] virtual const std::string& endpoint() const = 0;

    // Is told, on the thread that serves, what became of connections: within QueryGuard::kLookEveryNs of a change.
    using CountsLogSink = std::function<void(const TransportCounts&)>;

    // Serves until `stop_fd` is readable; then cancels what runs and returns.
    [[nodiscard]] virtual Result<Done> serve(int stop_fd, const CountsLogSink& tell_counts = {}) = 0;
};

}  // namespace perfleet
