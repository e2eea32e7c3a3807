#include "gateway/ingest/session_table.h"

#include <algorithm>

#include "gateway/admission/receipt.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Seqs of the session's batches that are stored above its watermark: a crash came between the two. Batches follow their
// buckets, so nothing older than the partition that the watermark lies in can hold one.
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
        // A batch whose record is damaged comes again if it wasn't acknowledged; then it is stored again.
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
    by_age_.erase(session->age);
    sessions_.erase(session->record.session);
}

bool SessionTable::forget_oldest() {
    const auto idle =
        std::find_if(by_age_.begin(), by_age_.end(), [](const SessionPtr& session) { return !session->is_touched; });
    if (idle == by_age_.end()) {
        return false;
    }
    const SessionPtr session = *idle;
    stop_speaking(session);
    forget(session);
    return true;
}

bool SessionTable::insert(const SessionPtr& session) {
    PERFLEET_ASSERT(!sessions_.contains(session->record.session));
    while (!sessions_.empty() &&
           (sessions_.size() >= limits_.sessions_max || size_bytes_ + session->size_bytes > limits_.size_bytes_max)) {
        if (!forget_oldest()) {
            return false;
        }
    }
    sessions_.emplace(session->record.session, session);
    session->age = by_age_.insert(by_age_.end(), session);
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
        by_age_.splice(by_age_.begin(), by_age_, session->age);
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
    for (auto at = by_age_.begin(); at != by_age_.end();) {
        const SessionPtr session = *at++;
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
        by_age_.splice(by_age_.end(), by_age_, session->age);
    }
}

void SessionTable::for_each_peer(const std::function<void(const SessionPtr&)>& visitor) const {
    for (const auto& [routing_id, session] : peers_) {
        visitor(session);
    }
}

}  // namespace perfleet
