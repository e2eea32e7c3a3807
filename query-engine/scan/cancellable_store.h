// A store whose reads end as kCancelled once a flag is set: so that a long scan can be given up in the middle.
//
// Borrows both. Threads: as the store.
#pragma once

#include <atomic>

#include "storage/read/reader.h"

namespace perfleet {

class CancellableStore : public StoreReader {
public:
    CancellableStore(const StoreReader& store, const std::atomic<bool>& cancelled)
        : store_{store}, cancelled_{cancelled} {}

    [[nodiscard]] ShardCount shards() const override { return store_.shards(); }
    [[nodiscard]] Result<Done> refresh() override;
    [[nodiscard]] std::vector<std::string> damage() const override { return store_.damage(); }
    [[nodiscard]] bool has_lost_logs() const override { return store_.has_lost_logs(); }
    [[nodiscard]] Result<std::vector<Partition>> partitions() const override;
    [[nodiscard]] Result<std::vector<SessionRecord>> sessions(const Partition& partition) const override;
    [[nodiscard]] Result<std::vector<SessionName>> session_names(const Partition& partition) const override;
    [[nodiscard]] Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const override;
    [[nodiscard]] Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const override;
    [[nodiscard]] Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session) const override;
    [[nodiscard]] Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const override;
    [[nodiscard]] Result<std::map<SessionName, SessionNote>> session_notes() const override;
    [[nodiscard]] Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                             const std::function<Visit(const BatchRecord&)>& visitor) const override;
    [[nodiscard]] BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const override;
    [[nodiscard]] Result<std::uint64_t> session_size_bytes(const SessionName& session) const override;
    [[nodiscard]] SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                          Series series) const override;
    [[nodiscard]] Result<std::optional<std::string>> dictionary(const Partition& partition) const override;
    [[nodiscard]] Result<std::optional<std::string>> stack_map(const StackMapKey& key) const override;
    [[nodiscard]] Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target,
                                                                                SessionId session) const override;
    [[nodiscard]] Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target,
                                                                          SessionId session) const override;
    [[nodiscard]] Result<Seq> watermark(TargetId target, SessionId session) const override;
    [[nodiscard]] Result<std::optional<ImageContent>> image(std::string_view build_id) const override;

private:
    const StoreReader& store_;
    const std::atomic<bool>& cancelled_;
};

}  // namespace perfleet
