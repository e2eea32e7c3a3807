// Batches gathered over a few milliseconds, stored and synced together. What a group promises is said only after its
// sync.
//
// One thread. Bounded by its user, who stops adding at a size.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/ingest/session_table.h"
#include "schemas/vocabulary/error.h"
#include "storage/store/store.h"

namespace perfleet {

class CommitGroup {
public:
    // What came of a group, once it is durable.
    struct Outcome {
        std::uint64_t stored = 0;
        std::uint64_t duplicate = 0;
        std::uint64_t expired = 0;
        std::uint64_t skipped = 0;  // of which the collectors said that they don't have them any more
        std::uint64_t rows_stored = 0;
        LossCounts rows_lost{};           // told by the batches and ends of this group
        std::vector<std::string> images;  // build-ids
        std::vector<std::pair<SessionPtr, Seq>> conflicts;
        std::vector<SessionPtr> sessions;  // whose progress or end was written
    };

    // `partition` is the one that was chosen for the batch's bucket.
    void add(const SessionPtr& session, const Partition& partition, AdmittedBatch batch, std::size_t size_bytes);

    // A second batch with a seq that stands in this group with another seal.
    void add_conflict(const SessionPtr& session, Seq seq);

    // What is below `oldest` will never come.
    void add_oldest_retained(const SessionPtr& session, Seq oldest);

    // A session that never sent a batch is made known in this partition.
    void add_end(const SessionPtr& session, const Partition& partition, SessionEnd end);

    void add_image(std::string build_id, ImageContent content);

    // Nothing of its targets is this gateway's to store any more: it stays with the collectors.
    void leave_shard(std::uint16_t shard, ShardCount shards);

    [[nodiscard]] bool is_empty() const { return sessions_.empty() && images_.empty(); }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::size_t batch_count() const { return batch_count_; }

    // When watermarks are written. Those that wait can be made again from the batches that are stored, by whoever reads
    // the session next: a store that others take over needs none to acknowledge.
    enum class Watermarks : std::uint8_t {
        kWithBatches,
        kLater,  // they wait for the next commit that writes them, or a session that ends
    };
    [[nodiscard]] bool has_late_watermarks() const { return !late_.empty(); }

    // Writes everything and syncs; then moves the sessions' progress on and is empty. After an error everything is
    // still here and can be tried again: what is stored already counts as the same batch.
    [[nodiscard]] Result<Outcome> commit(Store& store, SessionTable& table,
                                         Watermarks watermarks = Watermarks::kWithBatches);

private:
    static constexpr std::size_t kEntrySizeBytes = 64;

    struct Part {
        std::vector<AdmittedBatch> batches;
        std::vector<SessionPtr> sessions;  // of each batch
        std::vector<PutOutcome> outcomes;  // of the first put that went through
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
    // It is in no group any more.
    static void release(Session& session);
    [[nodiscard]] SeqProgress progress_after(const Session& session, std::uint64_t& skipped) const;

    static constexpr std::size_t kLateWatermarksMax = 16'384;  // then they are written

    std::map<Partition, Part> parts_;
    std::vector<SessionPtr> sessions_;  // touched, each once
    std::vector<std::pair<SessionPtr, Seq>> conflicts_;
    std::vector<End> ends_;
    std::vector<std::pair<std::string, ImageContent>> images_;
    std::map<SessionName, Seq> late_;  // watermarks of earlier commits
    std::size_t size_bytes_ = 0;       // of batches as they came, and kEntrySizeBytes for everything else
    std::size_t batch_count_ = 0;
};

}  // namespace perfleet
