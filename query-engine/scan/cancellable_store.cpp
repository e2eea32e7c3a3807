#include "query-engine/scan/cancellable_store.h"

namespace perfleet {
namespace {

Error cancelled_error() { return Error{ErrorCode::kCancelled, "the query was cancelled"}; }

template <class Cursor>
Cursor cancellable(Cursor cursor, const std::atomic<bool>& cancelled) {
    return Cursor{[&cancelled, cursor = std::move(cursor)](Seq first) mutable -> Result<typename Cursor::Step> {
        cursor.seek(first);
        return cancelled ? cancelled_error() : cursor.next();
    }};
}

}  // namespace

// The store that stands behind is brought up to date by whoever owns it.
Result<Done> CancellableStore::refresh() { return Done{}; }

Result<std::vector<Partition>> CancellableStore::partitions() const {
    return cancelled_ ? cancelled_error() : store_.partitions();
}

Result<std::vector<SessionRecord>> CancellableStore::sessions(const Partition& partition) const {
    return cancelled_ ? cancelled_error() : store_.sessions(partition);
}

Result<std::vector<SessionName>> CancellableStore::session_names(const Partition& partition) const {
    return cancelled_ ? cancelled_error() : store_.session_names(partition);
}

Result<Done> CancellableStore::visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const {
    Result<Done> visited = store_.visit_sessions(
        [&](SessionRecord&& record) { return cancelled_ ? Visit::kStop : visitor(std::move(record)); });
    return cancelled_ ? cancelled_error() : std::move(visited);
}

Result<std::optional<SessionRecord>> CancellableStore::session(TargetId target, SessionId session) const {
    return cancelled_ ? cancelled_error() : store_.session(target, session);
}

Result<std::vector<Partition>> CancellableStore::session_partitions(TargetId target, SessionId session) const {
    return cancelled_ ? cancelled_error() : store_.session_partitions(target, session);
}

Result<std::optional<SessionEnd>> CancellableStore::session_end(TargetId target, SessionId session) const {
    return cancelled_ ? cancelled_error() : store_.session_end(target, session);
}

Result<std::map<SessionName, SessionNote>> CancellableStore::session_notes() const {
    return cancelled_ ? cancelled_error() : store_.session_notes();
}

Result<std::uint64_t> CancellableStore::session_size_bytes(const SessionName& session) const {
    if (cancelled_) {
        return cancelled_error();
    }
    return store_.session_size_bytes(session);
}

Result<Done> CancellableStore::visit_batches(const Partition& partition, TargetId target, SessionId session,
                                             const std::function<Visit(const BatchRecord&)>& visitor) const {
    Result<Done> visited = store_.visit_batches(partition, target, session, [&](const BatchRecord& batch) {
        return cancelled_ ? Visit::kStop : visitor(batch);
    });
    return cancelled_ ? cancelled_error() : std::move(visited);
}

BlockCursor CancellableStore::blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const {
    return cancellable(store_.blocks(partition, target, session, series), cancelled_);
}

SummaryCursor CancellableStore::summaries(const Partition& partition, TargetId target, SessionId session,
                                          Series series) const {
    return cancellable(store_.summaries(partition, target, session, series), cancelled_);
}

Result<std::optional<std::string>> CancellableStore::dictionary(const Partition& partition) const {
    return cancelled_ ? cancelled_error() : store_.dictionary(partition);
}

Result<std::optional<std::string>> CancellableStore::stack_map(const StackMapKey& key) const {
    return cancelled_ ? cancelled_error() : store_.stack_map(key);
}

Result<std::vector<std::pair<Series, std::uint64_t>>> CancellableStore::expired(TargetId target,
                                                                                SessionId session) const {
    return cancelled_ ? cancelled_error() : store_.expired(target, session);
}

Result<std::optional<BucketNumber>> CancellableStore::last_expired_bucket(TargetId target, SessionId session) const {
    return cancelled_ ? cancelled_error() : store_.last_expired_bucket(target, session);
}

Result<Seq> CancellableStore::watermark(TargetId target, SessionId session) const {
    return store_.watermark(target, session);
}

Result<std::optional<ImageContent>> CancellableStore::image(std::string_view build_id) const {
    return store_.image(build_id);
}

}  // namespace perfleet
