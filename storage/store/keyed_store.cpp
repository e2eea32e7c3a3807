#include "storage/store/keyed_store.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "schemas/vocabulary/limits.h"
#include "storage/key/key.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/known_seqs.h"
#include "storage/store/record.h"

namespace perfleet {
namespace {

// Changes that own the values that were made for them.
class OwnedChanges {
public:
    void put(std::string key, std::string value) {
        values_.push_back(std::move(value));
        changes.puts.push_back({std::move(key), values_.back()});
    }

    Changes changes;

private:
    std::deque<std::string> values_;
};

// What gives meaning to stored rows must never change.
bool has_same_meaning(const SessionRecord& a, const SessionRecord& b) {
    return a.events == b.events && a.clock_name == b.clock_name && a.ticks_per_second == b.ticks_per_second &&
           a.linux_clockid == b.linux_clockid;
}

void check_caller(const Partition& partition, const AdmittedBatch& batch) {
    PERFLEET_ASSERT(batch.record.seq == batch.key.seq);
    PERFLEET_ASSERT(batch.record.bucket == partition.bucket);
    PERFLEET_ASSERT(batch.record.rows.size() == batch.series.size());
    for (std::size_t i = 0; i < batch.series.size(); ++i) {
        PERFLEET_ASSERT(batch.record.rows[i].series == batch.series[i].series);
        PERFLEET_ASSERT(batch.record.rows[i].row_count == batch.series[i].row_count);
    }
}

PutOutcome outcome_of_repeat(std::uint32_t known_seal, std::uint32_t seal) {
    return known_seal == seal ? PutOutcome::kDuplicate : PutOutcome::kConflict;
}

// One call of put: judges batch after batch and gathers what is to be written. What it told KnownSeqs is taken back
// unless it is kept.
class PutCall {
public:
    PutCall(const KeyedReads& reads, KnownSeqs& known, const Partition& partition, bool is_dropped)
        : reads_{&reads}, known_{&known}, partition_{partition}, is_dropped_{is_dropped} {}
    PutCall(const PutCall&) = delete;
    PutCall& operator=(const PutCall&) = delete;
    ~PutCall() {
        for (const auto& [session, seq] : told_) {
            session->seals.erase(seq);
        }
    }

    [[nodiscard]] Result<PutOutcome> judge(const AdmittedBatch& batch) {
        auto session = known_->session(batch.key.target, batch.key.session);
        if (!session.ok()) {
            return session.error();
        }
        KnownSession& known = **session;
        if (batch.key.seq <= known.watermark) {
            return judge_resolved(batch, known);
        }
        if (const auto found = known.seals.find(batch.key.seq.value); found != known.seals.end()) {
            return outcome_of_repeat(found->second, batch.record.seal);
        }
        if (known.seals.size() >= limits::kStoreSeqsMax) {
            return Error{ErrorCode::kFull,
                         describe_key(session_key(Table::kSession, batch.key.target, batch.key.session)) + " has " +
                             std::to_string(known.seals.size()) + " batches above its watermark: advance it first"};
        }
        if (is_dropped_) {
            add_expired(batch);
        } else if (known.partitions.contains(partition_)) {
            add_stored(batch);
        } else {
            return Error{ErrorCode::kInvalid,
                         describe_key(partition_session_key(partition_, batch.key.target, batch.key.session)) +
                             " is missing: define the session before its rows"};
        }
        known.seals.emplace(batch.key.seq.value, batch.record.seal);
        told_.emplace_back(&known, batch.key.seq.value);
        return is_dropped_ ? PutOutcome::kExpired : PutOutcome::kStored;
    }

    [[nodiscard]] const Changes& changes() const { return changes_.changes; }

    void keep() { told_.clear(); }

private:
    // At or below the watermark: stored, expired, refused or dropped by the collector, once and for all.
    [[nodiscard]] Result<PutOutcome> judge_resolved(const AdmittedBatch& batch, const KnownSession& known) {
        for (const Partition& partition : known.partitions) {
            auto record = reads_->batch(partition, batch.key);
            if (!record.ok() && is_damage(record.error())) {
                continue;  // resolved all the same
            }
            if (!record.ok()) {
                return record.error();
            }
            if (record->has_value()) {
                return outcome_of_repeat((*record)->seal, batch.record.seal);
            }
        }
        auto seal = reads_->expired_batch_seal(batch.key);
        if (!seal.ok()) {
            return seal.error();
        }
        return seal->has_value() ? outcome_of_repeat(**seal, batch.record.seal) : PutOutcome::kDuplicate;
    }

    void add_stored(const AdmittedBatch& batch) {
        changes_.put(partition_batch_key(partition_, batch.key), encode_record(batch.record));
        for (const BatchSeries& series : batch.series) {
            changes_.changes.puts.push_back(
                {block_key({partition_, batch.key.target, batch.key.session, series.series, batch.key.seq}),
                 series.block});
        }
    }

    void add_expired(const AdmittedBatch& batch) {
        ExpiredBatch expired;
        expired.seal = batch.record.seal;
        for (const BatchSeries& series : batch.series) {
            expired.rows.emplace_back(series.series, series.row_count);
        }
        changes_.put(expired_batch_key(batch.key), encode_record(expired));
    }

    const KeyedReads* reads_;
    KnownSeqs* known_;
    Partition partition_;
    bool is_dropped_;
    OwnedChanges changes_;
    std::vector<std::pair<KnownSession*, std::uint64_t>> told_;
};

class KeyedStore final : public ReaderOver<Store> {
public:
    explicit KeyedStore(std::unique_ptr<Engine> engine) : ReaderOver<Store>{std::move(engine)}, known_{reads()} {}

    [[nodiscard]] Result<Done> define(const Partition& partition, const SessionRecord& session) override {
        if (auto ready = be_ready(); !ready.ok()) {
            return ready;
        }
        auto known = known_.session(session.target, session.session);
        if (!known.ok()) {
            return known.error();
        }
        auto before = reads().session(session.target, session.session);
        if (!before.ok()) {
            return before.error();
        }
        if (before->has_value() && !has_same_meaning(**before, session)) {
            return Error{ErrorCode::kConflict,
                         describe_key(session_key(Table::kSession, session.target, session.session)) +
                             " has another clock or other events than before"};
        }
        auto dropped = reads().is_dropped(partition);
        if (!dropped.ok()) {
            return dropped.error();
        }
        const bool is_changed = !before->has_value() || **before != session;
        const bool is_new_here = !*dropped && !(*known)->partitions.contains(partition);
        if (!is_changed && !is_new_here) {
            return Done{};
        }
        const std::string bytes = encode_record(session);
        Changes changes;
        changes.puts.push_back({session_key(Table::kSession, session.target, session.session), bytes});
        const std::string nothing = encode_record(0);
        if (!*dropped) {
            changes.puts.push_back({partition_session_key(partition, session.target, session.session), bytes});
            changes.puts.push_back({session_partition_key(session.target, session.session, partition), nothing});
        }
        auto written = write(changes);
        if (written.ok() && is_new_here) {
            (*known)->partitions.insert(partition);
        }
        return written;
    }

    [[nodiscard]] Result<std::vector<PutOutcome>> put(const Partition& partition,
                                                      std::span<const AdmittedBatch> batches) override {
        if (auto ready = be_ready(); !ready.ok()) {
            return ready.error();
        }
        auto dropped = reads().is_dropped(partition);
        if (!dropped.ok()) {
            return dropped.error();
        }
        PutCall call{reads(), known_, partition, *dropped};
        std::vector<PutOutcome> outcomes;
        outcomes.reserve(batches.size());
        for (const AdmittedBatch& batch : batches) {
            check_caller(partition, batch);
            auto outcome = call.judge(batch);
            if (!outcome.ok()) {
                return outcome.error();
            }
            outcomes.push_back(*outcome);
        }
        if (!call.changes().empty()) {
            if (auto written = write(call.changes()); !written.ok()) {
                return written.error();
            }
        }
        call.keep();
        return outcomes;
    }

    [[nodiscard]] Result<Done> advance_watermark(TargetId target, SessionId session, Seq prefix) override {
        if (auto ready = be_ready(); !ready.ok()) {
            return ready;
        }
        auto known = known_.session(target, session);
        if (!known.ok()) {
            return known.error();
        }
        if (prefix <= (*known)->watermark) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(session_key(Table::kWatermark, target, session), encode_record(prefix.value));
        if (auto written = write(changes.changes); !written.ok()) {
            return written;
        }
        (*known)->watermark = prefix;
        std::erase_if((*known)->seals, [&](const auto& seal) { return seal.first <= prefix.value; });
        return Done{};
    }

    [[nodiscard]] Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) override {
        if (auto ready = be_ready(); !ready.ok()) {
            return ready;
        }
        auto before = session_end(target, session);
        if (!before.ok()) {
            return before.error();
        }
        if (before->has_value()) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(session_key(Table::kSessionEnd, target, session), encode_record(end));
        return write(changes.changes);
    }

    [[nodiscard]] Result<Done> put_image(std::string_view build_id, const ImageContent& content) override {
        if (build_id.empty() || build_id.size() > limits::kBuildIdSizeBytesMax) {
            return Error{ErrorCode::kInvalid, "a build-id of " + std::to_string(build_id.size()) + " bytes"};
        }
        if (content.bytes.size() > limits::kImageSizeBytesMax) {
            return Error{ErrorCode::kTooLarge, describe_key(image_key(build_id)) + " has " +
                                                   std::to_string(content.bytes.size()) + " bytes of at most " +
                                                   std::to_string(limits::kImageSizeBytesMax)};
        }
        if (auto ready = be_ready(); !ready.ok()) {
            return ready;
        }
        auto before = image(build_id);
        if (!before.ok()) {
            return before.error();
        }
        if (before->has_value()) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(image_key(build_id), encode_record(content));
        return write(changes.changes);
    }

    [[nodiscard]] Result<Done> drop(const Partition& partition) override {
        if (auto ready = be_ready(); !ready.ok()) {
            return ready;
        }
        const bool was_owing = is_owing_;
        auto dropped = drop_now(partition);
        is_owing_ = was_owing && !dropped.ok();
        return dropped;
    }

    [[nodiscard]] Result<Done> sync() override {
        auto synced = engine().sync();
        is_owing_ = false;
        return synced;
    }

private:
    // Before every change. What this remembers of changes that weren't synced is worth nothing once the engine had to
    // go on from what is on disk, and a caller who doesn't know that yet must not go on to a sync.
    [[nodiscard]] Result<Done> be_ready() {
        auto recovered = engine().recover();
        if (!recovered.ok()) {
            return recovered.error();
        }
        if (*recovered) {
            known_.forget_everything();
            if (std::exchange(is_owing_, false)) {
                return Error{ErrorCode::kUnavailable,
                             "the store was opened anew after a failure: what was not synced is to be stored again"};
            }
        }
        known_.make_room();
        return Done{};
    }

    [[nodiscard]] Result<Done> write(const Changes& changes) {
        auto written = engine().write(changes);
        is_owing_ = written.ok();  // after an error the caller knows
        return written;
    }

    // First the mark and the counts, durably: from then on the partition is hidden and its rows count as expired, once.
    // Then its content; what an interruption leaves of it goes when the store is opened again.
    [[nodiscard]] Result<Done> drop_now(const Partition& partition) {
        auto dropped = reads().is_dropped(partition);
        if (!dropped.ok()) {
            return dropped.error();
        }
        if (!*dropped) {
            OwnedChanges changes;
            if (auto counted = count_expired(partition, changes); !counted.ok()) {
                return counted;
            }
            changes.put(dropped_key(partition), encode_record(0));
            if (auto written = write(changes.changes); !written.ok()) {
                return written;
            }
            known_.forget_partition(partition);
        }
        if (auto synced = sync(); !synced.ok()) {
            return synced;
        }
        return engine().erase(partition_range(partition));
    }

    [[nodiscard]] Result<Done> count_expired(const Partition& partition, OwnedChanges& changes) {
        std::map<std::tuple<TargetId, SessionId, Series>, std::uint64_t> rows;
        std::map<std::pair<TargetId, SessionId>, Seq> watermarks;
        std::optional<Error> error;
        auto visited = reads().visit_partition_batches(partition, [&](const BatchKey& key, const BatchRecord& batch) {
            for (const BatchRecord::Rows& series : batch.rows) {
                rows[{key.target, key.session, series.series}] += series.row_count;
            }
            auto [at, is_new] = watermarks.try_emplace({key.target, key.session});
            if (is_new) {
                auto watermark = reads().watermark(key.target, key.session);
                if (!watermark.ok() && !is_damage(watermark.error())) {
                    error = watermark.error();
                    return;
                }
                at->second = watermark.ok() ? *watermark : Seq{0};
            }
            if (key.seq > at->second) {  // may be sent again: remembered, so that it isn't counted again
                changes.put(expired_batch_key(key), encode_record(ExpiredBatch{batch.seal, {}}));
            }
        });
        if (error) {
            return *error;
        }
        if (!visited.ok() && !is_damage(visited.error())) {
            return visited;
        }
        for (const auto& [name, row_count] : rows) {
            const auto& [target, session, series] = name;
            changes.put(expired_key(target, session, series, partition), encode_record(row_count));
        }
        auto sessions = reads().sessions(partition);
        if (!sessions.ok()) {
            return sessions.error();
        }
        for (const SessionRecord& session : *sessions) {
            changes.changes.deletes.push_back(session_partition_key(session.target, session.session, partition));
        }
        return Done{};
    }

    KnownSeqs known_;
    bool is_owing_ = false;  // something was written and neither synced nor said to have failed
};

// The format's version is the first thing that is written, so a database with other content but without it is foreign.
Result<Done> start_store(Engine& engine, const std::string& where) {
    bool is_empty = true;
    auto visited = engine.visit(everything(), [&](std::string_view, std::string_view) {
        is_empty = false;
        return Visit::kStop;
    });
    if (!visited.ok()) {
        return visited;
    }
    if (!is_empty) {
        return Error{ErrorCode::kInvalid,
                     where + ": holds a database that is not a perfleet store; give another folder (--data)"};
    }
    const std::string version = encode_record(kStoreFormatVersion);
    Changes changes;
    changes.puts.push_back({format_key(), version});
    if (auto written = engine.write(changes); !written.ok()) {
        return written;
    }
    return engine.sync();
}

class KeyedReader final : public ReaderOver<StoreReader> {
public:
    using ReaderOver<StoreReader>::ReaderOver;
};

}  // namespace

Partition partition_of(TargetId target, BucketNumber bucket, std::uint8_t retention_class) {
    return {bucket, retention_class, static_cast<std::uint16_t>(target.value % limits::kPartitionShards)};
}

Result<Done> finish_drops(Engine& engine) {
    DamageNotes notes;
    const KeyedReads reads{engine, notes};
    auto leftovers = reads.dropped_leftovers();
    if (!leftovers.ok()) {
        return leftovers.error();
    }
    for (const Partition& partition : *leftovers) {
        if (auto erased = engine.erase(partition_range(partition)); !erased.ok()) {
            return erased;
        }
    }
    return Done{};
}

Result<std::unique_ptr<Store>> open_keyed_store(std::unique_ptr<Engine> engine, const std::string& where) {
    auto checked = check_format(*engine, where);
    if (!checked.ok() && checked.error().code == ErrorCode::kNotFound) {
        checked = start_store(*engine, where);
    }
    if (checked.ok()) {
        checked = finish_drops(*engine);
    }
    if (!checked.ok()) {
        return checked.error();
    }
    return make_keyed_store(std::move(engine));
}

std::unique_ptr<Store> make_keyed_store(std::unique_ptr<Engine> engine) {
    return std::make_unique<KeyedStore>(std::move(engine));
}

std::unique_ptr<StoreReader> make_keyed_reader(std::unique_ptr<Engine> engine) {
    return std::make_unique<KeyedReader>(std::move(engine));
}

}  // namespace perfleet
