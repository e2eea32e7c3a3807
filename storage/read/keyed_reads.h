// Implements StoreReader on an engine of ordered bytes, for all engines.
//
// Threads: as the engine's reads.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/engine/damaged_reads.h"
#include "storage/engine/engine.h"
#include "storage/key/key_bytes.h"
#include "storage/model/batch.h"
#include "storage/model/image.h"
#include "storage/model/keys.h"
#include "storage/model/seq_cursor.h"
#include "storage/model/session.h"
#include "storage/model/visit.h"

namespace perfleet {

// Values of the mark of a partition without work for compaction. Stored: they must never change.
inline constexpr std::uint64_t kMarkCompacted = 0;
inline constexpr std::uint64_t kMarkDaySummed = 1;  // also compacted

// The implementations of StoreReader's methods, see there.
class KeyedReads {
public:
    // What reads skip because it is damaged is added to the notes.
    KeyedReads(const Engine& engine, DamageNotes& notes) : engine_{&engine}, notes_{&notes} {}

    [[nodiscard]] Result<std::vector<Partition>> partitions() const;
    [[nodiscard]] Result<std::vector<SessionRecord>> sessions(const Partition& partition) const;
    [[nodiscard]] Result<std::vector<SessionName>> session_names(const Partition& partition) const;
    [[nodiscard]] Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const;
    [[nodiscard]] Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const;
    [[nodiscard]] Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const;
    [[nodiscard]] Result<std::map<SessionName, SessionNote>> session_notes() const;
    [[nodiscard]] Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session, Seq first,
                                             const std::function<Visit(const BatchRecord&)>& visitor) const;
    [[nodiscard]] BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const;
    [[nodiscard]] Result<std::uint64_t> session_size_bytes(const SessionName& session) const;
    [[nodiscard]] SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                          Series series) const;
    [[nodiscard]] Result<std::optional<std::string>> dictionary(const Partition& partition) const;
    [[nodiscard]] Result<std::optional<std::string>> stack_map(const StackMapKey& key) const;
    [[nodiscard]] Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target,
                                                                                SessionId session) const;
    [[nodiscard]] Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target, SessionId session) const;
    [[nodiscard]] Result<Seq> watermark(TargetId target, SessionId session) const;
    [[nodiscard]] Result<std::optional<ImageContent>> image(std::string_view build_id) const;

    // The following are for the writer only.
    // Partitions that were dropped but still have keys.
    [[nodiscard]] Result<std::vector<Partition>> dropped_leftovers() const;
    [[nodiscard]] Result<bool> is_dropped(const Partition& partition) const;
    // The mark of the partition; nothing if it has work for compaction.
    [[nodiscard]] Result<std::optional<std::uint64_t>> compaction_mark(const Partition& partition) const;
    [[nodiscard]] Result<SessionNote> session_note(const SessionName& session) const;  // empty if there is none
    // Partitions with a bucket from `first` to `last`, both included; ascending.
    [[nodiscard]] Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session,
                                                                    BucketNumber first = BucketNumber{0},
                                                                    BucketNumber last = BucketNumber{~0U}) const;
    [[nodiscard]] Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                                      BucketNumber bucket) const;
    [[nodiscard]] Result<std::optional<BatchRecord>> batch(const Partition& partition, const BatchKey& key) const;
    [[nodiscard]] Result<std::optional<std::uint32_t>> expired_batch_seal(const BatchKey& key) const;
    // Expired rows in one partition; 0 if there are none.
    [[nodiscard]] Result<std::uint64_t> expired_rows(TargetId target, SessionId session, Series series,
                                                     const Partition& partition) const;
    // (seq, seal) of the expired batches, from `first` on.
    [[nodiscard]] Result<std::vector<std::pair<Seq, std::uint32_t>>> expired_batch_seals(TargetId target,
                                                                                         SessionId session,
                                                                                         Seq first) const;
    // As visit_batches: visits everything readable, then returns an error that names the first damage.
    [[nodiscard]] Result<Done> visit_partition_batches(
        const Partition& partition, const std::function<void(const BatchKey&, const BatchRecord&)>& visitor) const;

private:
    [[nodiscard]] Result<std::vector<Partition>> partitions_with_keys() const;
    [[nodiscard]] Result<std::vector<Partition>> dropped_partitions() const;
    [[nodiscard]] Result<bool> visit_session_records(const KeyRange& range,
                                                     const std::function<Visit(SessionRecord&&)>& visitor) const;
    [[nodiscard]] Result<std::vector<SessionName>> sessions_with_batches(const Partition& partition) const;
    // The next item, decoded from its key, or from key and value; nothing at the end. Damage is noted; `is_damaged`
    // says that there was a gap.
    template <class Decode>
    [[nodiscard]] auto next_noting(ReadableCursor& at, const Decode& decode, bool* is_damaged = nullptr) const;
    [[nodiscard]] Result<std::optional<std::string>> get_noting(const std::string& key) const;
    [[nodiscard]] Result<Done> visit_decodable(
        const KeyRange& range,
        const std::function<Result<Visit>(std::string_view key, std::string_view value)>& visitor) const;
    // Visits compacted records one by one.
    [[nodiscard]] Result<Done> visit_records(
        const KeyRange& range, const Partition& partition,
        const std::function<Visit(const BatchKey&, const BatchRecord&)>& visitor) const;

    const Engine* engine_;
    DamageNotes* notes_;
};

// A base class with StoreReader's methods implemented on keys: ReaderOver<StoreReader>, ReaderOver<Store>.
template <class Base>
class ReaderOver : public Base {
public:
    ReaderOver(std::unique_ptr<Engine> engine, ShardCount shards)
        : engine_{std::move(engine)}, shards_{shards}, reads_{*engine_, notes_} {}

    [[nodiscard]] ShardCount shards() const override { return shards_; }

    [[nodiscard]] Result<Done> refresh() override {
        notes_.clear();
        return engine_->refresh();
    }
    [[nodiscard]] std::vector<std::string> damage() const override {
        std::vector<std::string> damage = notes_.read();
        const auto known = engine_->damage();
        for (const std::string& at_open : known->at_open) {
            if (std::find(damage.begin(), damage.end(), at_open) == damage.end()) {
                damage.push_back(at_open);
            }
        }
        return damage;
    }
    [[nodiscard]] bool has_lost_logs() const override { return engine_->damage()->has_lost_logs; }
    [[nodiscard]] Result<std::vector<Partition>> partitions() const override { return reads_.partitions(); }
    [[nodiscard]] Result<std::vector<SessionRecord>> sessions(const Partition& partition) const override {
        return reads_.sessions(partition);
    }
    [[nodiscard]] Result<std::vector<SessionName>> session_names(const Partition& partition) const override {
        return reads_.session_names(partition);
    }
    [[nodiscard]] Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const override {
        return reads_.visit_sessions(visitor);
    }
    [[nodiscard]] Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const override {
        return reads_.session(target, session);
    }
    [[nodiscard]] Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session) const override {
        return reads_.session_partitions(target, session);
    }
    [[nodiscard]] Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const override {
        return reads_.session_end(target, session);
    }
    [[nodiscard]] Result<std::map<SessionName, SessionNote>> session_notes() const override {
        return reads_.session_notes();
    }
    [[nodiscard]] Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                                             const std::function<Visit(const BatchRecord&)>& visitor) const override {
        return reads_.visit_batches(partition, target, session, Seq{0}, visitor);
    }
    [[nodiscard]] BlockCursor blocks(const Partition& partition, TargetId target, SessionId session,
                                     Series series) const override {
        return reads_.blocks(partition, target, session, series);
    }
    [[nodiscard]] Result<std::uint64_t> session_size_bytes(const SessionName& session) const override {
        return reads_.session_size_bytes(session);
    }
    [[nodiscard]] SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                                          Series series) const override {
        return reads_.summaries(partition, target, session, series);
    }
    [[nodiscard]] Result<std::optional<std::string>> dictionary(const Partition& partition) const override {
        return reads_.dictionary(partition);
    }
    [[nodiscard]] Result<std::optional<std::string>> stack_map(const StackMapKey& key) const override {
        return reads_.stack_map(key);
    }
    [[nodiscard]] Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target,
                                                                                SessionId session) const override {
        return reads_.expired(target, session);
    }
    [[nodiscard]] Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target,
                                                                          SessionId session) const override {
        return reads_.last_expired_bucket(target, session);
    }
    [[nodiscard]] Result<Seq> watermark(TargetId target, SessionId session) const override {
        return reads_.watermark(target, session);
    }
    [[nodiscard]] Result<std::optional<ImageContent>> image(std::string_view build_id) const override {
        return reads_.image(build_id);
    }

protected:
    [[nodiscard]] Engine& engine() { return *engine_; }
    [[nodiscard]] const Engine& engine() const { return *engine_; }
    [[nodiscard]] const KeyedReads& reads() const { return reads_; }

private:
    std::unique_ptr<Engine> engine_;
    ShardCount shards_;
    mutable DamageNotes notes_;
    KeyedReads reads_;
};

}  // namespace perfleet
