#include "gateway/ingest/session_table.h"

#include <algorithm>

#include "gateway/admission/admit_hello.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Seqs of the session's batches that are stored above its watermark: a crash came between the two. Batches follow their
// buckets, so nothing older than the partition that the watermark lies in can hold one.
Result<Done> load_above_watermark(Session& session, const StoreReader& store) {
    auto partitions = PERFLEET_TRY(store.partitions());
    const TargetId target = session.record.target;
    for (auto partition = partitions.rbegin(); partition != partitions.rend(); ++partition) {
        if (partition->shard != shard_of(target, store.shards())) {
            continue;
        }
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

void SessionTable::remember(const SessionRecord& record) {
    if (known_.size() < intake_limits::kSessionsKnownMax) {
        known_.emplace(record.session, Known{record.target, fingerprint_of(record), fingerprint_of_labels(record)});
    }
}

SessionTable::Identity SessionTable::identity_of(const SessionRecord& record, Labels labels) const {
    const auto verdict = [&](TargetId known_target, bool is_same) {
        return known_target != record.target ? Identity::kOtherTarget
               : is_same                     ? Identity::kSame
                                             : Identity::kOtherRecord;
    };
    if (const auto found = sessions_.find(record.session); found != sessions_.end()) {
        const SessionRecord& known = found->second->record;
        if (labels == Labels::kCompared || known.labels == record.labels) {
            return verdict(known.target, known == record);
        }
        SessionRecord with_known_labels = record;
        with_known_labels.labels = known.labels;
        return verdict(known.target, known == with_known_labels);
    }
    if (const auto found = known_.find(record.session); found != known_.end()) {
        const Known& known = found->second;
        const bool has_same_labels =
            labels == Labels::kEnrolled || known.labels_fingerprint == fingerprint_of_labels(record);
        return verdict(known.target, known.fingerprint == fingerprint_of(record) && has_same_labels);
    }
    return Identity::kFree;
}

SessionPtr SessionTable::find(SessionId id) const {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second;
}

SessionPtr SessionTable::find_peer(std::string_view routing_id) const {
    const auto found = peers_.find(routing_id);
    return found == peers_.end() ? nullptr : found->second;
}

Result<SessionPtr> SessionTable::load(const SessionRecord& record, const StoreReader& store) {
    auto session = std::make_shared<Session>();
    session->record = record;
    auto watermark = PERFLEET_TRY(store.watermark(record.target, record.session));
    session->progress = SeqProgress{watermark};
    session->defined = known_.contains(record.session);
    if (session->defined || watermark.value > 0) {
        auto end = PERFLEET_TRY(store.session_end(record.target, record.session));
        session->finished = end.has_value();
        if (session->finished) {
            session->monotonicity.take_clock(end->end_point.ticks);
        }
        PERFLEET_TRY(load_above_watermark(*session, store));
    }
    return session;
}

bool SessionTable::forget_oldest() {
    const auto idle =
        std::find_if(by_age_.begin(), by_age_.end(), [](const SessionPtr& session) { return !session->is_touched; });
    if (idle == by_age_.end()) {
        return false;
    }
    const SessionPtr session = *idle;
    if (!session->routing_id.empty()) {
        detach(session->routing_id);
    }
    size_bytes_ -= session->size_bytes;
    sessions_.erase(session->record.session);
    by_age_.erase(idle);
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
    if (!session->routing_id.empty()) {
        detach(session->routing_id);
    }
    session->routing_id = routing_id;
    peers_.emplace(session->routing_id, session);
}

void SessionTable::detach(std::string_view routing_id) {
    const auto found = peers_.find(routing_id);
    if (found != peers_.end()) {
        const SessionPtr session = found->second;
        peers_.erase(found);
        session->routing_id.clear();
        credit_.close(session->credit, session->send_limit);
    }
}

std::vector<std::string> SessionTable::leave_shard(std::uint16_t shard, ShardCount shards) {
    std::vector<std::string> peers;
    for (auto at = by_age_.begin(); at != by_age_.end();) {
        const SessionPtr session = *at;
        if (shard_of(session->record.target, shards) != shard) {
            ++at;
            continue;
        }
        PERFLEET_ASSERT(!session->is_touched);
        if (!session->routing_id.empty()) {
            peers.push_back(session->routing_id);
            detach(peers.back());
        }
        size_bytes_ -= session->size_bytes;
        sessions_.erase(session->record.session);
        at = by_age_.erase(at);
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
