#include "query-engine/wire/query_server.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>

#include "query-engine/query_limits.h"
#include "query-engine/wire/query_run.h"
#include "schemas/vocabulary/endpoint.h"
#include "schemas/zmtp/server.h"

namespace perfleet {
namespace {

using namespace query_message;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kWorkingInterval{limits::kQueryWorkingIntervalNs};
constexpr std::chrono::nanoseconds kCountsInterval{QueryServer::kCountsEveryNs};
constexpr std::chrono::seconds kDecayInterval{1};

// Far more than people who ask, and far below any limit of descriptors.
constexpr std::size_t kClientsMax = 256;
constexpr std::uint64_t kFirstWordNs = 60'000'000'000;
// What queries send is bounded by their credit and by what is said each second.
constexpr std::size_t kChunksMax = std::size_t{limits::kQueriesAtOnceMax} * limits::kQueryChunksAheadMax;
constexpr std::size_t kBufferedSizeBytesMax = kChunksMax * limits::kQueryChunkSizeBytes + (8U << 20);

bool is_readable(int fd) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, 0) == 1;
}

class ZmtpQueryServer final : public QueryServer, private zmtp::Server::Sink {
public:
    explicit ZmtpQueryServer(Handlers handlers) : handlers_{std::move(handlers)} {}

    Result<Done> open(const std::string& endpoint, const QueryServerKeys* keys) {
        zmtp::ServerLimits server_limits;
        server_limits.connections_max = kClientsMax;
        server_limits.unheard_max = kClientsMax / 2;
        server_limits.message_size_bytes_max = kQueryRequestSizeBytesMax;
        server_limits.buffered_size_bytes_max = kBufferedSizeBytesMax;
        server_limits.replies_waiting_max = kChunksMax + 4 * limits::kQueriesAtOnceMax;
        server_limits.replies_waiting_size_bytes_max = kBufferedSizeBytesMax;
        server_limits.first_message_ns = kFirstWordNs;
        std::optional<zmtp::KeyPlaces> places;
        if (keys != nullptr) {
            places = {keys->key_file, "--query-clients", keys->clients_folder};
        }
        auto server =
            PERFLEET_TRY(zmtp::Server::open(server_limits, places, *this, keys != nullptr ? keys->log : LogText{}));
        server_ = std::move(server);
        auto listener = PERFLEET_TRY(zmtp::Listener::open("--listen", endpoint));
        endpoint_ = listener.endpoint();
        server_->listen_at(std::move(listener), false);
        server_->wake_on(outbox_.wake_fd());
        return Done{};
    }

    const std::string& endpoint() const override { return endpoint_; }

    Result<Done> serve(int stop_fd, const CountsLogSink& log_counts) override {
        server_->wake_on(stop_fd);
        Clock::time_point next_working = Clock::now() + kWorkingInterval;
        Clock::time_point next_decay = Clock::now() + kDecayInterval;
        Clock::time_point next_counts = Clock::now();
        TransportCounts logged;
        while (true) {
            const auto rest = std::max<std::chrono::nanoseconds>(next_working - Clock::now(), {});
            server_->run_once(static_cast<std::uint64_t>(rest.count()));
            if (is_readable(stop_fd)) {
                break;
            }
            send_posted();
            const Clock::time_point now = Clock::now();
            if (now >= next_working) {
                say_working();
                next_working = now + kWorkingInterval;
            }
            if (now >= next_decay) {
                abuse_limiter_.decay();
                next_decay = now + kDecayInterval;
            }
            if (log_counts && now >= next_counts) {
                TransportCounts counts = server_->counts();
                counts.messages_malformed = garbage_count_;
                if (counts != logged) {
                    log_counts(counts);
                    logged = counts;
                }
                next_counts = now + kCountsInterval;
            }
        }
        for (auto& [name, run] : runs_) {
            run->cancel();
            send(name, Error{ErrorCode::kCancelled, "perfleet-query is stopping"});
        }
        runs_.clear();  // waits for their threads
        return Done{};
    }

private:
    bool take(const zmtp::Server::Message& received) override {
        Result<QueryMessage> message = decode_query_message_untrusted(received.frame);
        if (!message.ok()) {
            refuse({received.from, 0}, received.frame.size(), std::move(message).error());
        } else if (!take({received.from, message->query}, std::move(message->body), received.frame.size())) {
            count_garbage(received.from, received.frame.size());
        }
        return true;
    }

    // False: it belongs to no query, for example to one that has just ended.
    [[nodiscard]] bool take(const QueryName& name, Body body, std::size_t size_bytes) {
        const auto run = runs_.find(name);
        if (auto* ask = std::get_if<Ask>(&body)) {
            if (run != runs_.end()) {
                return false;
            }
            start(name, std::move(*ask), size_bytes);
            return true;
        }
        if (run == runs_.end()) {
            return false;
        }
        if (const auto* more = std::get_if<More>(&body)) {
            run->second->add_credit(more->chunk_count);
        } else if (std::holds_alternative<Cancel>(body)) {
            run->second->cancel();
        } else {
            return false;
        }
        return true;
    }

    void start(const QueryName& name, Ask ask, std::size_t size_bytes) {
        const auto handler = handlers_.find(ask.command);
        if (handler == handlers_.end()) {
            refuse(name, size_bytes,
                   {ErrorCode::kUsage, "this gateway has no command \"" + ask.command.substr(0, 64) + "\""});
            return;
        }
        if (runs_.size() >= limits::kQueriesAtOnceMax) {
            refuse(name, size_bytes,
                   {ErrorCode::kBusy,
                    std::to_string(limits::kQueriesAtOnceMax) + " queries are running already; ask again later"});
            return;
        }
        try {
            runs_.emplace(name, std::make_unique<QueryRun>(name, std::move(ask), handler->second, outbox_));
        } catch (const std::system_error&) {
            refuse(name, size_bytes,
                   {ErrorCode::kBusy,
                    "no thread can be started for this query: a limit is reached where it is asked (ulimit "
                    "-u, pids.max of the control group, ulimit -v); raise it, or ask again later"});
            return;
        }
        send(name, Working{});
    }

    // Of a message that started nothing.
    void refuse(const QueryName& name, std::size_t size_bytes, Error error) {
        if (!count_garbage(name.first, size_bytes)) {
            send(name, std::move(error));
        }
    }

    // True: its client has sent too much of that lately, and is cut off.
    bool count_garbage(zmtp::ConnectionId from, std::size_t size_bytes) {
        ++garbage_count_;
        if (!abuse_limiter_.is_enough(std::to_string(from), 0, size_bytes)) {
            return false;
        }
        server_->cut(from);
        return true;
    }

    void send_posted() {
        for (const Outbox::Item& item : outbox_.take_all()) {
            const auto run = runs_.find(item.name);
            if (!send_bytes(item.name.first, item.message) && run != runs_.end()) {
                run->second->cancel();
            }
            if (item.is_last && run != runs_.end()) {
                runs_.erase(run);
            }
        }
    }

    void say_working() {
        for (auto& [name, run] : runs_) {
            if (!send(name, run->working())) {
                run->cancel();
            }
        }
    }

    // False: the client is gone or doesn't read.
    bool send(const QueryName& name, Body body) {
        return send_bytes(name.first, encode_query_message({name.second, std::move(body)}));
    }
    bool send_bytes(zmtp::ConnectionId to, const std::string& message) {
        return server_->send(to, std::as_bytes(std::span{message})) == zmtp::Server::Sent::kDone;
    }

    Handlers handlers_;
    Outbox outbox_;
    std::string endpoint_;
    std::unique_ptr<zmtp::Server> server_;
    AbuseLimiter abuse_limiter_{kGarbageLimits};
    std::uint64_t garbage_count_ = 0;
    std::map<QueryName, std::unique_ptr<QueryRun>> runs_;
};

}  // namespace

Result<std::unique_ptr<QueryServer>> QueryServer::open(const std::string& endpoint, Handlers handlers,
                                                       const QueryServerKeys* keys) {
    if (Result<Done> checked = check_endpoint("--listen", endpoint,
                                              keys != nullptr ? EndpointReach::kAnywhere : EndpointReach::kThisMachine);
        !checked.ok()) {
        return std::move(checked).error();
    }
    auto server = std::make_unique<ZmtpQueryServer>(std::move(handlers));
    PERFLEET_TRY(server->open(endpoint, keys));
    return std::unique_ptr<QueryServer>{std::move(server)};
}

}  // namespace perfleet
