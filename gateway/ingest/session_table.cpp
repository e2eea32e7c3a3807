#include "gateway/ingest/session_table.h"

#include "gateway/admission/receipt.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Loads the session's batches above its watermark, which a crash left there. Batches are in the order of their buckets,
// so none is in a partition older than that of the watermark.
Result<Done> load_above_watermark(Session& session, const StoreReader& store) {
    const TargetId target = session.record.target;
    const auto partitions = PERFLEET_TRY(store.session_partitions(target, session.record.session));
    for (auto partition = partitions.rbegin(); partition != partitions.rend(); ++partition) {
        bool reached = false;
        auto visited = store.visit_batches(*partition, target, session.record.session, [&](const BatchRecord& record) {
            reached = reached || record.seq <= session.progress.prefix();
            if (!session.progress.is_beyond(record.seq)) {
                session.progress.resolve(record.seq, record.seal);
            }
            session.losses.know(record.counts);
            session.monotonicity.take_batch(record.rows);
            return Visit::kContinue;
        });
        // A batch with a damaged record is sent and stored again if it wasn't acknowledged.
        if (!visited && visited.error().code != ErrorCode::kCorrupt) {
            return visited;
        }
        if (reached) {
            break;
        }
    }
    return Done{};
}

}  // namespace

Result<SessionTable::Known> SessionTable::identity_of(const SessionRecord& record, const StoreReader& store,
                                                      Labels labels) const {
    const auto compared = [&](const SessionRecord& known) {
        if (known.target != record.target) {
            return Identity::kOtherTarget;
        }
        const bool has_same_labels = labels == Labels::kEnrolled || known.labels == record.labels;
        return has_same_labels && are_of_one_session(known, record) ? Identity::kSame : Identity::kOtherRecord;
    };
    if (const auto found = sessions_.find(record.session); found != sessions_.end()) {
        return Known{compared(found->second->record), std::nullopt};
    }
    auto stored = store.session(record.target, record.session);
    if (!stored.ok() && stored.error().code != ErrorCode::kCorrupt) {
        return stored.error();
    }
    if (stored.ok() && stored->has_value()) {
        const Identity identity = compared(**stored);
        return Known{identity, std::move(*stored)};
    }
    const std::uint64_t target = targets_.find(key_of(record.session));
    return Known{target != 0 && target != record.target.value ? Identity::kOtherTarget : Identity::kFree, std::nullopt};
}

SessionPtr SessionTable::find(SessionId id) const {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second;
}

SessionPtr SessionTable::find_peer(std::string_view routing_id) const {
    const auto found = peers_.find(routing_id);
    return found == peers_.end() ? nullptr : found->second;
}

Result<SessionPtr> SessionTable::load(SessionRecord record, bool is_stored, const StoreReader& store) {
    auto session = std::make_shared<Session>();
    session->record = std::move(record);
    const SessionName name{session->record.target, session->record.session};
    auto watermark = PERFLEET_TRY(store.watermark(name.target, name.session));
    session->progress = SeqProgress{watermark};
    session->defined = is_stored;
    if (session->defined || watermark.value > 0) {
        auto end = PERFLEET_TRY(store.session_end(name.target, name.session));
        session->finished = end.has_value();
        if (session->finished) {
            session->monotonicity.take_clock(end->end_point.ticks);
        }
        PERFLEET_TRY(load_above_watermark(*session, store));
    }
    return session;
}

void SessionTable::forget(const SessionPtr& session) {
    size_bytes_ -= session->size_bytes;
    list_of(*session).erase(session->age);
    sessions_.erase(session->record.session);
}

void SessionTable::move_to(End end, const SessionPtr& session) {
    std::list<SessionPtr>& from = list_of(*session);
    session->is_new = !session->defined;
    std::list<SessionPtr>& to = list_of(*session);
    to.splice(end == End::kFirst ? to.begin() : to.end(), from, session->age);
}

// The next session to remove from memory, of which nothing is being stored. Null if there is none.
SessionPtr SessionTable::next_to_forget() {
    for (const bool has_peer : {false, true}) {
        for (std::list<SessionPtr>* const list : {&new_, &by_age_}) {
            for (auto at = list->begin(); at != list->end() && (has_peer || (*at)->routing_id.empty());) {
                const SessionPtr session = *at++;
                if (session->is_new && session->defined) {
                    move_to(has_peer ? End::kLast : End::kFirst, session);
                } else if (!session->is_touched) {
                    return session;
                }
            }
        }
    }
    return nullptr;
}

bool SessionTable::insert(const SessionPtr& session) {
    PERFLEET_ASSERT(!sessions_.contains(session->record.session));
    while (!sessions_.empty() &&
           (sessions_.size() >= limits_.sessions_max || size_bytes_ + session->size_bytes > limits_.size_bytes_max)) {
        const SessionPtr forgotten = next_to_forget();
        if (forgotten == nullptr) {
            return false;
        }
        stop_speaking(forgotten);
        forget(forgotten);
    }
    sessions_.emplace(session->record.session, session);
    session->is_new = !session->defined;
    session->age = list_of(*session).insert(list_of(*session).end(), session);
    size_bytes_ += session->size_bytes;
    return true;
}

void SessionTable::attach(const SessionPtr& session, std::string_view routing_id) {
    if (session->routing_id == routing_id) {
        return;
    }
    detach(routing_id);
    stop_speaking(session);
    session->routing_id = routing_id;
    peers_.emplace(session->routing_id, session);
}

void SessionTable::stop_speaking(const SessionPtr& session) {
    if (!session->routing_id.empty()) {
        peers_.erase(session->routing_id);
        session->routing_id.clear();
        credit_.close(session->credit, session->send_limit);
        move_to(End::kFirst, session);
    }
}

void SessionTable::detach(std::string_view routing_id) {
    const auto found = peers_.find(routing_id);
    if (found == peers_.end()) {
        return;
    }
    const SessionPtr session = found->second;
    stop_speaking(session);
    if (session->finished && !session->is_touched) {
        forget(session);
    }
}

std::vector<std::string> SessionTable::leave_shard(std::uint16_t shard, ShardCount shards) {
    std::vector<std::string> peers;
    for (auto at = sessions_.begin(); at != sessions_.end();) {
        const SessionPtr session = (at++)->second;
        if (shard_of(session->record.target, shards) != shard) {
            continue;
        }
        PERFLEET_ASSERT(!session->is_touched);
        if (!session->routing_id.empty()) {
            peers.push_back(session->routing_id);
            stop_speaking(session);
        }
        forget(session);
    }
    return peers;
}

void SessionTable::touch(const SessionPtr& session) {
    if (find(session->record.session) == session) {
        move_to(End::kLast, session);
    }
}

void SessionTable::for_each_peer(const std::function<void(const SessionPtr&)>& visitor) const {
    for (const auto& [routing_id, session] : peers_) {
        visitor(session);
    }
}

}  // namespace perfleet
