// A reader that gives what another one gives: a test overrides what it tampers with, or counts. Not for programs.
//
// Borrows the store. Threads: as the store.
#pragma once

#include "storage/read/reader.h"

namespace perfleet {

class ForwardingReader : public StoreReader {
public:
    explicit ForwardingReader(const StoreReader& store) : store_{store} {}

    [[nodiscard]] ShardCount shards() const override { return store_.shards(); }
    [[nodiscard]] Result<Done> refresh() override { return Done{}; }  // the owner does that
    [[nodiscard]] std::vector<std::string> damage() const override { return store_.damage(); }
    [[nodiscard]] bool has_lost_logs() const override { return store_.has_lost_logs(); }
    [[nodiscard]] Result<std::vector<Partition>> partitions() const override { return store_.partitions(); }
    [[nodiscard]] Result<std::vector<SessionRecord>> sessions(const Partition& partition) const override {
        return store_.sessions(partition);
    }
    [[nodiscard]] Result<std::vector<SessionName>> session_names(const Partition& partition) const override {
        return store_.session_names(partition);
    }
    [[nodiscard]] Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const override {
        return store_.visit_sessions(visitor);
    }
    [[nodiscard]] Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const override {
        return store_.session(target, session);
    }
    [[nodiscard]] Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session) const override {
        return store_.session_partitions(target, session);
    }
    [[nodiscard]] Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const override {
        return store_.session_end(target, session);
    }
    [[nodiscard]] Result<std::map<SessionName, SessionNote>> session_notes() const override {
        return store_.session_notes();
    }
    [[nodiscard]] Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                             const std::function<Visit(const BatchRecord&)>& visitor) const override {
        return store_.visit_batches(partition, target, session, visitor);
    }
    [[nodiscard]] BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const override {
        return store_.blocks(partition, target, session, series);
    }
    [[nodiscard]] Result<std::uint64_t> session_size_bytes(const SessionName& session) const override {
        return store_.session_size_bytes(session);
    }
    [[nodiscard]] SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                          Series series) const override {
        return store_.summaries(partition, target, session, series);
    }
    [[nodiscard]] Result<std::optional<std::string>> dictionary(const Partition& partition) const override {
        return store_.dictionary(partition);
    }
    [[nodiscard]] Result<std::optional<std::string>> stack_map(const StackMapKey& key) const override {
        return store_.stack_map(key);
    }
    [[nodiscard]] Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target,
                                                                                SessionId session) const override {
        return store_.expired(target, session);
    }
    [[nodiscard]] Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target,
                                                                          SessionId session) const override {
        return store_.last_expired_bucket(target, session);
    }
    [[nodiscard]] Result<Seq> watermark(TargetId target, SessionId session) const override {
        return store_.watermark(target, session);
    }
    [[nodiscard]] Result<std::optional<ImageContent>> image(std::string_view build_id) const override {
        return store_.image(build_id);
    }
    [[nodiscard]] Result<bool> has_image(std::string_view build_id) const override {
        return store_.has_image(build_id);
    }

private:
    const StoreReader& store_;
};

}  // namespace perfleet
