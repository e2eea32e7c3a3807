// Batches gathered over a few milliseconds, stored and synced together. They are acknowledged only after the sync.
//
// One thread. The caller bounds it: it stops adding at a size.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "gateway/ingest/session_table.h"
#include "schemas/vocabulary/error.h"
#include "storage/store/store.h"

namespace perfleet {

class CommitGroup {
public:
    // The result of a group that is durable.
    struct Outcome {
        std::uint64_t stored = 0;
        std::uint64_t duplicate = 0;
        std::uint64_t expired = 0;
        std::uint64_t skipped = 0;  // seqs that the collectors report as dropped
        std::uint64_t rows_stored = 0;
        LossCounts rows_lost{};           // reported by batches and ends of this group
        std::vector<std::string> images;  // build-ids
        std::vector<std::pair<SessionPtr, Seq>> conflicts;
        std::vector<SessionPtr> sessions;  // whose progress or end was written
    };

    // `partition` is the one chosen for the batch's bucket.
    void add(const SessionPtr& session, const Partition& partition, AdmittedBatch batch, std::size_t size_bytes);

    // Adds a second batch whose seq is already in this group with another seal.
    void add_conflict(const SessionPtr& session, Seq seq);

    // Batches below `oldest` will never come.
    void add_oldest_retained(const SessionPtr& session, Seq oldest);

    // The partition is where a session that never sent a batch is defined.
    void add_end(const SessionPtr& session, const Partition& partition, SessionEnd end);

    void add_image(std::string build_id, ImageContent content);

    // Drops what the group holds of this shard, which another gateway writes now: the collectors still have it.
    void leave_shard(std::uint16_t shard, ShardCount shards);

    [[nodiscard]] bool is_empty() const { return sessions_.empty() && images_.empty(); }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::size_t batch_count() const { return batch_count_; }

    // When watermarks are written. A watermark that isn't written yet can be recomputed from the stored batches by the
    // next reader of the session, so a shared store can acknowledge without it.
    enum class Watermarks : std::uint8_t {
        kWithBatches,
        kLater,  // with the next commit that writes watermarks, or when a session ends
    };
    [[nodiscard]] bool has_late_watermarks() const { return !late_.empty(); }

    // Writes everything and syncs; then advances the sessions' progress and is empty. After an error everything is
    // still here and can be retried: batches that were stored already count as stored, not as duplicates.
    [[nodiscard]] Result<Outcome> commit(Store& store, SessionTable& table,
                                         Watermarks watermarks = Watermarks::kWithBatches);

private:
    static constexpr std::size_t kEntrySizeBytes = 64;

    struct Part {
        std::vector<AdmittedBatch> batches;
        std::vector<SessionPtr> sessions;  // of each batch
        std::vector<PutOutcome> outcomes;  // of the first put that succeeded
        std::size_t size_bytes = 0;
    };
    struct End {
        SessionPtr session;
        Partition partition;
        SessionEnd end;
    };

    [[nodiscard]] Result<Outcome> try_commit(Store& store, SessionTable& table, Watermarks watermarks);
    [[nodiscard]] Result<Done> write_watermarks(Store& store, Watermarks watermarks);
    void touch(const SessionPtr& session);
    [[nodiscard]] Result<Done> define(Store& store, SessionTable& table, const Partition& partition, Session& session);
    [[nodiscard]] Result<Done> put(Store& store, SessionTable& table);
    [[nodiscard]] Result<Done> put_ends(Store& store, SessionTable& table);
    // Marks the session as in no group.
    static void release(Session& session);
    [[nodiscard]] SeqProgress progress_after(const Session& session, std::uint64_t& skipped) const;

    static constexpr std::size_t kLateWatermarksMax = 16'384;  // above it they are written

    std::map<Partition, Part> parts_;
    std::vector<SessionPtr> sessions_;  // touched, each once
    std::vector<std::pair<SessionPtr, Seq>> conflicts_;
    std::vector<End> ends_;
    std::vector<std::pair<std::string, ImageContent>> images_;
    std::map<SessionName, Seq> late_;  // watermarks of earlier commits that wait
    std::size_t size_bytes_ = 0;       // of batches as received, and kEntrySizeBytes for everything else
    std::size_t batch_count_ = 0;
};

}  // namespace perfleet
