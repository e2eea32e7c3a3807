#include "query-engine/wire/query_queue.h"

#include <algorithm>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

bool QueryQueue::add(const std::string& client, Query query) {
    Client& state = clients_[client];
    const bool is_too_large =
        state.waiting_size_bytes + query.size_bytes > limits::kQueriesWaitingOfClientBytes && !state.waiting.empty();
    if (state.waiting.size() >= limits::kQueriesWaitingOfClientMax || is_too_large) {
        return false;
    }
    if (state.waiting.empty()) {
        state.turn = ++turn_count_;
    }
    state.waiting_size_bytes += query.size_bytes;
    state.waiting.push_back(std::move(query));
    return true;
}

bool QueryQueue::add_credit(const std::string& client, const QueryName& name, std::uint32_t chunk_count) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) {
        return false;
    }
    for (Query& query : found->second.waiting) {
        if (query.name == name) {
            query.ask.chunk_count =
                std::max(query.ask.chunk_count, std::min(chunk_count, limits::kQueryChunksAheadMax));
            return true;
        }
    }
    return false;
}

bool QueryQueue::remove(const std::string& client, const QueryName& name) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) {
        return false;
    }
    Client& state = found->second;
    const auto at = std::ranges::find_if(state.waiting, [&](const Query& query) { return query.name == name; });
    if (at == state.waiting.end()) {
        return false;
    }
    state.waiting_size_bytes -= at->size_bytes;
    state.waiting.erase(at);
    forget_if_idle(client);
    return true;
}

QueryQueue::Bound QueryQueue::bound_of(const Client& client) const {
    constexpr std::uint32_t kShared = limits::kQueriesAtOnceMax / 4 * 3;
    if (client.running >= limits::kQueriesOfClientMax) {
        return Bound::kOfClient;
    }
    return running_ < (client.running == 0 ? limits::kQueriesAtOnceMax : kShared) ? Bound::kNone : Bound::kOfAll;
}

std::optional<std::size_t> QueryQueue::startable(const Client& client) {
    const auto at = std::ranges::find_if(client.waiting, [](const Query& query) { return query.ask.chunk_count > 0; });
    return at == client.waiting.end() ? std::nullopt
                                      : std::optional{static_cast<std::size_t>(at - client.waiting.begin())};
}

std::optional<QueryQueue::Start> QueryQueue::next() {
    auto first = clients_.end();
    for (auto at = clients_.begin(); at != clients_.end(); ++at) {
        const bool may_run = startable(at->second).has_value() && bound_of(at->second) == Bound::kNone;
        if (may_run && (first == clients_.end() || at->second.turn < first->second.turn)) {
            first = at;
        }
    }
    if (first == clients_.end()) {
        return std::nullopt;
    }
    Client& client = first->second;
    const auto at = client.waiting.begin() + static_cast<std::ptrdiff_t>(*startable(client));
    Start start{first->first, std::move(*at)};
    client.waiting.erase(at);
    client.waiting_size_bytes -= start.query.size_bytes;
    ++client.running;
    ++running_;
    client.turn = ++turn_count_;
    return start;
}

void QueryQueue::end(const std::string& client) {
    const auto found = clients_.find(client);
    PERFLEET_ASSERT(found != clients_.end() && found->second.running > 0);
    --found->second.running;
    --running_;
    found->second.turn = ++turn_count_;
    forget_if_idle(client);
}

std::vector<QueryQueue::Blocked> QueryQueue::blocked() const {
    std::vector<Blocked> blocked;
    for (const auto& [name, client] : clients_) {
        const Bound bound = bound_of(client);
        if (bound != Bound::kNone && startable(client).has_value()) {
            blocked.push_back({name, bound == Bound::kOfClient});
        }
    }
    return blocked;
}

void QueryQueue::forget_if_idle(const std::string& client) {
    const auto found = clients_.find(client);
    if (found != clients_.end() && found->second.waiting.empty() && found->second.running == 0) {
        clients_.erase(found);
    }
}

}  // namespace perfleet
