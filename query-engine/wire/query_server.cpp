#include "query-engine/wire/query_server.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>

#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_queue.h"
#include "query-engine/wire/query_run.h"
#include "schemas/host/endpoint.h"
#include "schemas/host/host_clock.h"
#include "schemas/zmtp/server.h"

namespace perfleet {
namespace {

using namespace query_message;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kWorkingInterval{limits::kQueryWorkingIntervalNs};
constexpr std::chrono::nanoseconds kCountsInterval{QueryServer::kCountsEveryNs};
constexpr std::chrono::seconds kDecayInterval{1};
constexpr std::chrono::nanoseconds kStalled{limits::kQueryStalledNs};
constexpr std::chrono::milliseconds kEndStalledInterval{100};

// Far more than query clients in practice, and far below any limit of descriptors.
constexpr std::size_t kClientsMax = 256;
constexpr std::uint64_t kFirstWordNs = 60'000'000'000;
// Queries send chunks up to their credit, and progress every second.
constexpr std::size_t kChunksMax = std::size_t{limits::kQueriesAtOnceMax} * limits::kQueryChunksAheadMax;
constexpr std::size_t kBufferedSizeBytesMax = kChunksMax * limits::kQueryChunkSizeBytes + (8U << 20);

bool is_readable(int fd) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, 0) == 1;
}

class ZmtpQueryServer final : public QueryServer, private zmtp::Server::Sink {
public:
    explicit ZmtpQueryServer(QueryHandler handler) : handler_{std::move(handler)} {}

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
            start_waiting();
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
        const Error stopping{ErrorCode::kCancelled, "perfleet-query is stopping"};
        for (auto& [name, run] : runs_) {
            run.query->cancel();
            send(name, Error{stopping});
        }
        queue_.for_each_waiting(
            [&](const auto&, const QueryQueue::Query& query) { send(query.name, Error{stopping}); });
        runs_.clear();  // waits for their threads
        return Done{};
    }

private:
    struct Run {
        std::string client;
        std::unique_ptr<QueryRun> query;
    };
    struct Connection {
        Clock::time_point heard;
        std::size_t query_count = 0;  // running or waiting
    };

    bool take(const zmtp::Server::Message& received) override {
        connections_[received.from].heard = Clock::now();
        Result<QueryMessage> message = decode_query_message_untrusted(received.frame);
        const std::string client = received.peer != nullptr ? "key " + received.peer->name : connection(received.from);
        if (!message.ok()) {
            refuse({received.from, 0}, received.frame.size(), std::move(message).error());
        } else if (!take(client, {received.from, message->query}, std::move(message->body), received.frame.size())) {
            count_garbage(received.from, received.frame.size());
        }
        return true;
    }

    static std::string connection(zmtp::ConnectionId id) { return "connection " + std::to_string(id); }

    // False: the message belongs to no query, for example to one that has just ended.
    [[nodiscard]] bool take(const std::string& client, const QueryName& name, Body body, std::size_t size_bytes) {
        const auto run = runs_.find(name);
        const bool is_waiting = waiting_.contains(name);
        if (auto* ask = std::get_if<Ask>(&body)) {
            if (run != runs_.end() || is_waiting) {
                return false;
            }
            enqueue(client, name, std::move(*ask), size_bytes);
            return true;
        }
        if (run == runs_.end() && !is_waiting) {
            return false;
        }
        if (const auto* more = std::get_if<More>(&body)) {
            if (is_waiting) {
                (void)queue_.add_credit(client, name, more->chunk_count);
            } else {
                run->second.query->add_credit(more->chunk_count);
            }
        } else if (std::holds_alternative<Cancel>(body)) {
            if (is_waiting) {
                drop(client, name);
                send(name, Error{ErrorCode::kCancelled, "the query was cancelled before it ran"});
            } else {
                run->second.query->cancel();
            }
        } else {
            return false;
        }
        return true;
    }

    void enqueue(const std::string& client, const QueryName& name, Ask ask, std::size_t size_bytes) {
        if (!queue_.add(client, {name, std::move(ask), size_bytes, monotonic_now_ns()})) {
            refuse(name, size_bytes,
                   {ErrorCode::kBusy, "this client has " + std::to_string(limits::kQueriesWaitingOfClientMax) +
                                          " queries that wait (or " +
                                          std::to_string(limits::kQueriesWaitingOfClientBytes >> 10U) +
                                          " KiB of them); " + std::to_string(limits::kQueriesOfClientMax) +
                                          " of a client run at once: repeat the query when one has ended"});
            return;
        }
        waiting_.emplace(name, client);
        ++connections_[name.first].query_count;
        send(name, Working{});
        start_waiting();
    }

    void start_waiting() {
        while (auto start = queue_.next()) {
            const QueryName name = start->query.name;
            waiting_.erase(name);
            try {
                runs_.emplace(name, Run{start->client, std::make_unique<QueryRun>(name, std::move(start->query.ask),
                                                                                  handler_, outbox_)});
            } catch (const std::system_error&) {
                queue_.end(start->client);
                count_query_out(name);
                send(name,
                     Error{ErrorCode::kBusy,
                           "no thread can be started for this query: a limit is reached where it is asked "
                           "(ulimit -u, pids.max of the control group, ulimit -v); raise it, or ask again later"});
            }
        }
        end_stalled();
    }

    // Ends a query whose place others wait for: the one that its client has stalled for longest.
    void end_stalled() {
        const Clock::time_point now = Clock::now();
        if (now < next_end_stalled_) {
            return;  // the query ended before may still hold its place
        }
        for (const QueryQueue::Blocked& blocked : queue_.blocked()) {
            Run* longest = nullptr;
            std::chrono::nanoseconds longest_time = kStalled;
            for (auto& [name, run] : runs_) {
                const bool is_in_the_way = !blocked.of_client || run.client == blocked.client;
                if (const auto stalled = run.query->stalled();
                    is_in_the_way && !run.query->cancelled() && stalled > longest_time) {
                    longest = &run;
                    longest_time = stalled;
                }
            }
            if (longest != nullptr) {
                next_end_stalled_ = now + kEndStalledInterval;
                longest->query->cancel(
                    {ErrorCode::kBusy,
                     "the answer was taken too slowly while other queries waited (" +
                         std::to_string(limits::kQueryStalledNs / 1'000'000'000) +
                         " s without taking any of it): repeat the query, and read the answer as it comes"});
            }
        }
    }

    // Removes a waiting query.
    void drop(const std::string& client, const QueryName& name) {
        queue_.remove(client, name);
        waiting_.erase(name);
        count_query_out(name);
    }

    void count_query_out(const QueryName& name) {
        if (const auto found = connections_.find(name.first); found != connections_.end()) {
            --found->second.query_count;
        }
    }

    void ended(zmtp::ConnectionId id) override {
        const auto is_of_it = [&](const auto& at, const auto& end) { return at != end && at->first.first == id; };
        for (auto run = runs_.lower_bound({id, 0}); is_of_it(run, runs_.end()); ++run) {
            run->second.query->cancel();
        }
        for (auto at = waiting_.lower_bound({id, 0}); is_of_it(at, waiting_.end());) {
            const auto [name, client] = *at++;
            drop(client, name);
        }
        connections_.erase(id);
    }

    // The connection silent for longest, of those whose queries, if any, all wait for the client.
    zmtp::ConnectionId expendable() override {
        std::map<zmtp::ConnectionId, std::size_t> stuck;
        for (const auto& [name, run] : runs_) {
            stuck[name.first] += run.query->stalled() > kStalled ? 1 : 0;
        }
        queue_.for_each_waiting([&](const auto&, const QueryQueue::Query& query) {
            stuck[query.name.first] += query.ask.chunk_count == 0 ? 1 : 0;
        });
        auto longest = connections_.end();
        for (auto at = connections_.begin(); at != connections_.end(); ++at) {
            const bool is_idle = at->second.query_count == stuck[at->first];
            if (is_idle && (longest == connections_.end() || at->second.heard < longest->second.heard)) {
                longest = at;
            }
        }
        return longest == connections_.end() ? 0 : longest->first;
    }

    // Refuses a message that started no query.
    void refuse(const QueryName& name, std::size_t size_bytes, Error error) {
        if (!count_garbage(name.first, size_bytes)) {
            send(name, std::move(error));
        }
    }

    // True: the client has sent too much garbage lately and is disconnected.
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
                run->second.query->cancel();
            }
            if (item.is_last && run != runs_.end()) {
                queue_.end(run->second.client);
                runs_.erase(run);
                count_query_out(item.name);
            }
        }
    }

    void say_working() {
        for (auto& [name, run] : runs_) {
            if (!send(name, run.query->working())) {
                run.query->cancel();
            }
        }
        std::vector<std::pair<QueryName, std::string>> given_up;
        const std::uint64_t now_ns = monotonic_now_ns();
        queue_.for_each_waiting([&](const std::string& client, const QueryQueue::Query& query) {
            const bool is_idle = query.ask.chunk_count == 0 && now_ns - query.waiting_ns > limits::kQueryIdleNs;
            if (!send(query.name, Working{}) || is_idle) {
                given_up.emplace_back(query.name, client);
            }
        });
        for (const auto& [name, client] : given_up) {
            drop(client, name);
            send(name, Error{ErrorCode::kCancelled, "its client takes none of the answer: give a chunk count above 0"});
        }
    }

    // False: the client is gone or reads nothing.
    bool send(const QueryName& name, Body body) {
        return send_bytes(name.first, encode_query_message({name.second, std::move(body)}));
    }
    bool send_bytes(zmtp::ConnectionId to, const std::string& message) {
        return server_->send(to, std::as_bytes(std::span{message})) == zmtp::Server::Sent::kDone;
    }

    QueryHandler handler_;
    Outbox outbox_;
    std::string endpoint_;
    std::unique_ptr<zmtp::Server> server_;
    AbuseLimiter abuse_limiter_{kStrikeLimits};
    std::uint64_t garbage_count_ = 0;
    QueryQueue queue_;
    Clock::time_point next_end_stalled_;
    std::map<QueryName, Run> runs_;
    std::map<QueryName, std::string> waiting_;              // clients of waiting queries, which are in queue_
    std::map<zmtp::ConnectionId, Connection> connections_;  // that have sent a message
};

}  // namespace

Result<std::unique_ptr<QueryServer>> QueryServer::open(const std::string& endpoint, QueryHandler handler,
                                                       const QueryServerKeys* keys) {
    if (Result<Done> checked = check_endpoint("--listen", endpoint,
                                              keys != nullptr ? EndpointReach::kAnywhere : EndpointReach::kThisMachine);
        !checked.ok()) {
        return std::move(checked).error();
    }
    auto server = std::make_unique<ZmtpQueryServer>(std::move(handler));
    PERFLEET_TRY(server->open(endpoint, keys));
    return std::unique_ptr<QueryServer>{std::move(server)};
}

}  // namespace perfleet
