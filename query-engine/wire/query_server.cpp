#include "query-engine/wire/query_server.h"

#include <array>
#include <chrono>
#include <optional>
#include <system_error>

#include "query-engine/query_limits.h"
#include "query-engine/wire/query_run.h"
#include "query-engine/wire/query_socket.h"
#include "schemas/vocabulary/endpoint.h"

namespace perfleet {
namespace {

using namespace query_message;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kWorkingInterval{limits::kQueryWorkingIntervalNs};
constexpr std::chrono::nanoseconds kCountsInterval{QueryGuard::kLookEveryNs};

class SocketQueryServer : public QueryServer {
public:
    SocketQueryServer(std::unique_ptr<QuerySocket> socket, Handlers handlers)
        : socket_{std::move(socket)}, handlers_{std::move(handlers)} {}

    const std::string& endpoint() const override { return socket_->endpoint(); }

    Result<Done> serve(int stop_fd, const CountsLogSink& tell_counts) override {
        Clock::time_point next_working = Clock::now() + kWorkingInterval;
        Clock::time_point next_counts = Clock::now();
        TransportCounts told;
        while (true) {
            const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(next_working - Clock::now());
            const QuerySocket::Ready ready = socket_->wait(std::array{outbox_.wake_fd(), stop_fd},
                                                           static_cast<long>(std::max<std::int64_t>(rest.count(), 0)));
            if (ready.descriptors[1]) {
                break;
            }
            send_posted();
            receive();
            if (Clock::now() >= next_working) {
                say_working();
                next_working = Clock::now() + kWorkingInterval;
            }
            if (tell_counts && Clock::now() >= next_counts) {
                if (const TransportCounts counts = socket_->counts(); counts != told) {
                    tell_counts(counts);
                    told = counts;
                }
                next_counts = Clock::now() + kCountsInterval;
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
    void receive() {
        // As many as can be there at once, then the others get their turn.
        for (std::uint32_t i = 0; i < limits::kQueriesAtOnceMax; ++i) {
            std::optional<QuerySocket::Received> received = socket_->receive();
            if (!received) {
                return;
            }
            Result<QueryMessage> message = decode_query_message_untrusted(received->frame());
            if (message.ok()) {
                take({std::move(received->peer), message->query}, std::move(message->body));
            } else if (!socket_->is_cut_for_garbage(*received)) {
                send({std::move(received->peer), 0}, message.error());
            }
        }
    }

    void take(QueryName name, Body body) {
        const auto run = runs_.find(name);
        if (auto* ask = std::get_if<Ask>(&body)) {
            if (run == runs_.end()) {
                start(std::move(name), std::move(*ask));
            }
        } else if (run != runs_.end() && std::holds_alternative<More>(body)) {
            run->second->add_credit(std::get<More>(body).chunk_count);
        } else if (run != runs_.end() && std::holds_alternative<Cancel>(body)) {
            run->second->cancel();
        }
    }

    void start(QueryName name, Ask ask) {
        const auto handler = handlers_.find(ask.command);
        if (handler == handlers_.end()) {
            send(name, Error{ErrorCode::kUsage, "this gateway has no command \"" + ask.command.substr(0, 64) + "\""});
            return;
        }
        if (runs_.size() >= limits::kQueriesAtOnceMax) {
            send(name, Error{ErrorCode::kBusy, std::to_string(limits::kQueriesAtOnceMax) +
                                                   " queries are running already; ask again later"});
            return;
        }
        try {
            runs_.emplace(name, std::make_unique<QueryRun>(name, std::move(ask), handler->second, outbox_));
        } catch (const std::system_error&) {
            send(name, Error{ErrorCode::kBusy,
                             "no thread can be started for this query: a limit is reached where it is asked (ulimit "
                             "-u, pids.max of the control group, ulimit -v); raise it, or ask again later"});
            return;
        }
        send(name, Working{});
    }

    void send_posted() {
        for (const Outbox::Item& item : outbox_.take_all()) {
            const auto run = runs_.find(item.name);
            if (!socket_->send(item.name.first, item.message) && run != runs_.end()) {
                run->second->cancel();
            }
            if (item.is_last && run != runs_.end()) {
                runs_.erase(run);
            }
        }
    }

    void say_working() {
        for (auto& [name, run] : runs_) {
            if (!send(name, Working{})) {
                run->cancel();
            }
        }
    }

    bool send(const QueryName& name, Body body) {
        return socket_->send(name.first, encode_query_message({name.second, std::move(body)}));
    }

    std::unique_ptr<QuerySocket> socket_;
    Handlers handlers_;
    Outbox outbox_;
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
    Result<std::unique_ptr<QuerySocket>> socket = QuerySocket::bind(endpoint, keys);
    if (!socket.ok()) {
        return std::move(socket).error();
    }
    return std::unique_ptr<QueryServer>{
        std::make_unique<SocketQueryServer>(std::move(socket).value(), std::move(handlers))};
}

}  // namespace perfleet
