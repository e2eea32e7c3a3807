// Implements StoreReader on an engine of ordered bytes, for all engines.
//
// Threads: as the engine's reads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/session/image_content.h"
#include "schemas/session/session_record.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/engine.h"
#include "storage/key/key_bytes.h"
#include "storage/model/batch.h"
#include "storage/model/keys.h"
#include "storage/model/seq_cursor.h"
#include "storage/model/session_note.h"
#include "storage/model/visit.h"
#include "storage/read/reader.h"

namespace perfleet {

// Values of the mark of a partition without work for compaction. Stored: they must never change.
inline constexpr std::uint64_t kMarkCompacted = 0;
inline constexpr std::uint64_t kMarkDaySummed = 1;  // also compacted

class KeyedReads : public virtual StoreReader {
public:
    // Borrows the engine: refresh() is its owner's.
    explicit KeyedReads(const Engine& engine, ShardCount shards = {}) : engine_{&engine}, shards_{shards} {}
    KeyedReads(std::unique_ptr<Engine> engine, ShardCount shards)
        : owned_{std::move(engine)}, engine_{owned_.get()}, shards_{shards} {}

    [[nodiscard]] ShardCount shards() const override { return shards_; }
    Result<Done> refresh() override;
    [[nodiscard]] std::vector<std::string> damage() const override;
    [[nodiscard]] bool has_lost_logs() const override { return engine_->damage()->has_lost_logs; }
    Result<std::vector<Partition>> partitions() const override;
    Result<std::vector<SessionRecord>> sessions(const Partition& partition) const override;
    Result<std::vector<SessionName>> session_names(const Partition& partition) const override;
    Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const override;
    Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const override;
    Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session) const override {
        return session_partitions(target, session, BucketNumber{0}, BucketNumber{~0U});
    }
    Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const override;
    Result<std::map<SessionName, SessionNote>> session_notes() const override;
    Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                               const std::function<Visit(const BatchRecord&)>& visitor) const override {
        return visit_batches(partition, target, session, Seq{0}, visitor);
    }
    [[nodiscard]] BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const override;
    Result<std::uint64_t> session_size_bytes(const SessionName& session) const override;
    [[nodiscard]] SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                          Series series) const override;
    Result<std::optional<std::string>> dictionary(const Partition& partition) const override;
    Result<std::optional<std::string>> stack_map(const StackMapKey& key) const override;
    Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target, SessionId session) const override;
    Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target, SessionId session) const override;
    Result<Seq> watermark(TargetId target, SessionId session) const override;
    Result<std::optional<ImageContent>> image(std::string_view build_id) const override;
    Result<bool> has_image(std::string_view build_id) const override;

    // The following are for the writer only.
    [[nodiscard]] const Engine& engine() const { return *engine_; }
    // What reads have skipped because it is damaged.
    [[nodiscard]] std::vector<std::string> skipped() const { return notes_.read(); }
    // Batches from `first` on.
    Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session, Seq first,
                               const std::function<Visit(const BatchRecord&)>& visitor) const;
    // Partitions that were dropped but still have keys.
    Result<std::vector<Partition>> dropped_leftovers() const;
    Result<bool> is_dropped(const Partition& partition) const;
    // The mark of the partition; nothing if it has work for compaction.
    Result<std::optional<std::uint64_t>> compaction_mark(const Partition& partition) const;
    Result<SessionNote> session_note(const SessionName& session) const;  // empty if there is none
    // Partitions with a bucket from `first` to `last`, both included; ascending.
    Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session, BucketNumber first,
                                                      BucketNumber last) const;
    Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session, BucketNumber bucket) const;
    Result<std::optional<BatchRecord>> batch(const Partition& partition, const BatchKey& key) const;
    Result<std::optional<std::uint32_t>> expired_batch_seal(const BatchKey& key) const;
    // Expired rows in one partition; 0 if there are none.
    Result<std::uint64_t> expired_rows(TargetId target, SessionId session, Series series,
                                       const Partition& partition) const;
    // (seq, seal) of the expired batches, from `first` on.
    Result<std::vector<std::pair<Seq, std::uint32_t>>> expired_batch_seals(TargetId target, SessionId session,
                                                                           Seq first) const;
    // As visit_batches: visits everything readable, then returns an error that names the first damage.
    Result<Done> visit_partition_batches(const Partition& partition,
                                         const std::function<void(const BatchKey&, const BatchRecord&)>& visitor) const;

protected:
    [[nodiscard]] Engine& own_engine() { return *owned_; }  // if it isn't borrowed

private:
    Result<std::vector<Partition>> partitions_with_keys() const;
    Result<std::vector<Partition>> dropped_partitions() const;
    Result<bool> visit_session_records(const KeyRange& range,
                                       const std::function<Visit(SessionRecord&&)>& visitor) const;
    Result<std::vector<SessionName>> sessions_with_batches(const Partition& partition) const;
    // The next item, decoded from its key, or from key and value; nothing at the end. Damage is noted; `is_damaged`
    // says that there was a gap.
    template <class Decode>
    [[nodiscard]] auto next_noting(ReadableCursor& at, const Decode& decode, bool* is_damaged = nullptr) const;
    Result<std::optional<std::string>> get_noting(const std::string& key) const;
    Result<Done> visit_decodable(
        const KeyRange& range,
        const std::function<Result<Visit>(std::string_view key, std::string_view value)>& visitor) const;
    // Visits compacted records one by one.
    Result<Done> visit_records(const KeyRange& range, const Partition& partition,
                               const std::function<Visit(const BatchKey&, const BatchRecord&)>& visitor) const;

    std::unique_ptr<Engine> owned_;
    const Engine* engine_;
    ShardCount shards_;
    mutable DamageNotes notes_;
};

}  // namespace perfleet
