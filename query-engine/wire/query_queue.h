// Schedules queries: clients take turns, each within its share; further queries wait.
//
//   kQueriesAtOnceMax run:  │ any client's, up to kQueriesOfClientMax each │ the last quarter: clients that have none │
//
// A query whose client has granted no credit (a chunk count of 0) doesn't run. Limits: at most
// kQueriesWaitingOfClientMax queries of a client wait; of these, all but the first take at most
// kQueriesWaitingOfClientBytes in their encoded size. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "schemas/zmtp/server.h"

namespace perfleet {

// A query's name: the client's connection and its number of the query.
using QueryName = std::pair<zmtp::ConnectionId, std::uint64_t>;

class QueryQueue {
public:
    struct Query {
        QueryName name;
        query_message::Ask ask;
        std::size_t size_bytes = 0;    // of the message
        std::uint64_t waiting_ns = 0;  // time at which it began to wait
    };

    // False if too many queries of this client wait.
    [[nodiscard]] bool add(const std::string& client, Query query);

    // Adds credit to a waiting query; false if none has this name.
    bool add_credit(const std::string& client, const QueryName& name, std::uint32_t chunk_count);
    bool remove(const std::string& client, const QueryName& name);

    struct Start {
        std::string client;
        Query query;
    };
    // The next query that may run; it runs until end().
    [[nodiscard]] std::optional<Start> next();
    void end(const std::string& client);

    // Clients with a query that could run if another one ended. `of_client`: if one of the client's own ended.
    struct Blocked {
        std::string client;
        bool of_client = false;
    };
    [[nodiscard]] std::vector<Blocked> blocked() const;

    template <class Visit>
    void for_each_waiting(const Visit& visit) const {
        for (const auto& [client, state] : clients_) {
            for (const Query& query : state.waiting) {
                visit(client, query);
            }
        }
    }

private:
    struct Client {
        std::deque<Query> waiting;
        std::size_t waiting_size_bytes = 0;
        std::uint32_t running = 0;
        std::uint64_t turn = 0;  // the lowest is next; set when the client came, or a query of it started or ended
    };
    enum class Bound : std::uint8_t { kNone, kOfClient, kOfAll };

    [[nodiscard]] Bound bound_of(const Client& client) const;
    // The index of the waiting query to start next.
    [[nodiscard]] static std::optional<std::size_t> startable(const Client& client);
    void forget_if_idle(const std::string& client);

    std::map<std::string, Client> clients_;
    std::uint32_t running_ = 0;
    std::uint64_t turn_count_ = 0;
};

}  // namespace perfleet
