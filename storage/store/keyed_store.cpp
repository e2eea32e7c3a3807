#include "storage/store/keyed_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "schemas/vocabulary/limits.h"
#include "storage/key/key.h"
#include "storage/store/join_backlog.h"
#include "storage/store/joiner.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/known_seqs.h"
#include "storage/store/owned_changes.h"
#include "storage/store/put_call.h"
#include "storage/store/record.h"

namespace perfleet {
namespace {

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

class KeyedStore final : public ReaderOver<Store> {
public:
    KeyedStore(std::unique_ptr<Engine> engine, const StoreOptions& options)
        : ReaderOver<Store>{std::move(engine)}, known_{reads()}, backlog_{options.join_batches} {}

    [[nodiscard]] Result<Done> define(const Partition& partition, const SessionRecord& session) override {
        const std::lock_guard lock{writing_};
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
        const std::lock_guard lock{writing_};
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
        if (!call.stored().empty() && !backlog_.knows(partition)) {
            auto joined = reads().is_joined(partition);
            if (!joined.ok()) {
                return joined.error();
            }
            if (*joined) {
                call.changes().deletes.push_back(joined_key(partition));
            }
        }
        if (!call.changes().empty()) {
            if (auto written = write(call.changes()); !written.ok()) {
                return written.error();
            }
        }
        call.keep();
        for (const SessionName& session : call.stored()) {
            backlog_.add_stored(partition, session);
        }
        return outcomes;
    }

    [[nodiscard]] Result<Done> advance_watermark(TargetId target, SessionId session, Seq prefix) override {
        const std::lock_guard lock{writing_};
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
        const std::lock_guard lock{writing_};
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
        const std::lock_guard lock{writing_};
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
        const std::lock_guard lock{writing_};
        if (auto ready = be_ready(); !ready.ok()) {
            return ready;
        }
        const bool was_owing = is_owing_;
        auto dropped = drop_now(partition);
        is_owing_ = was_owing && !dropped.ok();
        return dropped;
    }

    [[nodiscard]] Result<Done> sync() override {
        const std::lock_guard lock{writing_};
        return sync_now();
    }

    [[nodiscard]] Result<Done> join(UtcNs now, const std::function<Visit(const JoinStep&)>& on_step) override {
        if (auto loaded = load_backlog(); !loaded.ok()) {
            return loaded;
        }
        while (const auto work = backlog_.take(now)) {
            const std::uint64_t generation = generation_;
            Joiner joiner{engine(), reads(), work->partition,
                          [&](const Changes& changes) { return join_now(generation, work->partition, changes); },
                          on_step};
            backlog_.put_off(*work, now);
            auto outcome = work->session ? joiner.join_session(*work->session) : joiner.join_partition();
            if (!outcome.ok()) {
                return outcome.error();
            }
            if (*outcome == Joiner::Outcome::kStopped) {
                backlog_.take_up(*work);
                return Done{};
            }
            if (*outcome == Joiner::Outcome::kDone && !work->session) {
                if (auto marked = mark_joined(generation, *work); !marked.ok()) {
                    return marked;
                }
            }
        }
        return Done{};
    }

    [[nodiscard]] std::size_t partitions_to_join() const override { return backlog_.partition_count(); }

private:
    [[nodiscard]] Result<Done> sync_now() {
        auto synced = engine().sync();
        is_owing_ = false;
        return synced;
    }

    // Before every change. What this remembers of changes that weren't synced is worth nothing once the engine had to
    // go on from what is on disk, and a caller who doesn't know that yet must not go on to a sync.
    [[nodiscard]] Result<Done> be_ready() {
        auto recovered = engine().recover();
        if (!recovered.ok()) {
            return recovered.error();
        }
        if (*recovered) {
            known_.forget_everything();
            backlog_.forget_everything();
            ++generation_;
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
            backlog_.forget_partition(partition);
        }
        if (auto synced = sync_now(); !synced.ok()) {
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

    // -- joining: on a thread of its own ------------------------------------------------------------------------------
    [[nodiscard]] Result<Done> load_backlog() {
        if (backlog_.is_loaded()) {
            return Done{};
        }
        auto partitions = reads().partitions();
        if (!partitions.ok()) {
            return partitions.error();
        }
        std::vector<Partition> unmarked;
        for (const Partition& partition : *partitions) {
            auto joined = reads().is_joined(partition);
            if (!joined.ok() && !is_damage(joined.error())) {
                return joined.error();
            }
            if (!joined.ok() || !*joined) {
                unmarked.push_back(partition);
            }
        }
        backlog_.load(unmarked);
        return Done{};
    }

    // Whether nothing has happened since that makes what was read there worthless. The writer is held up.
    [[nodiscard]] Result<bool> is_as_it_was(std::uint64_t generation, const Partition& partition) const {
        if (generation != generation_) {
            return false;
        }
        auto dropped = reads().is_dropped(partition);
        if (!dropped.ok()) {
            return dropped.error();
        }
        return !*dropped;
    }

    // What the writer owes its caller stays as it is: a failure here is met again with the writer's next change.
    [[nodiscard]] Result<bool> join_now(std::uint64_t generation, const Partition& partition, const Changes& changes) {
        const std::lock_guard lock{writing_};
        auto valid = is_as_it_was(generation, partition);
        if (!valid.ok() || !*valid) {
            return valid;
        }
        if (auto raised = raise_format(); !raised.ok()) {
            return raised.error();
        }
        auto written = engine().write(changes);
        return written.ok() ? Result<bool>{true} : written.error();
    }

    [[nodiscard]] Result<Done> mark_joined(std::uint64_t generation, const JoinBacklog::Work& work) {
        const std::lock_guard lock{writing_};
        auto valid = is_as_it_was(generation, work.partition);
        if (!valid.ok()) {
            return valid.error();
        }
        if (!*valid || !backlog_.is_unchanged(work)) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(joined_key(work.partition), encode_record(0));
        auto written = engine().write(changes.changes);
        if (written.ok()) {
            backlog_.forget_partition(work.partition);
        }
        return written;
    }

    // An older build must refuse the whole store before it meets anything joined.
    [[nodiscard]] Result<Done> raise_format() {
        if (is_format_raised_) {
            return Done{};
        }
        auto version = format_version(engine(), "the store");
        if (!version.ok() && version.error().code != ErrorCode::kNotFound) {  // one in memory has none
            return version.error();
        }
        if (version.ok() && *version < kJoinedStoreFormatVersion) {
            OwnedChanges changes;
            changes.put(format_key(), encode_record(kJoinedStoreFormatVersion));
            if (auto written = engine().write(changes.changes); !written.ok()) {
                return written;
            }
            if (auto synced = engine().sync(); !synced.ok()) {
                return synced;
            }
        }
        is_format_raised_ = true;
        return Done{};
    }

    std::mutex writing_;  // between the writer and the thread that joins
    KnownSeqs known_;
    bool is_owing_ = false;          // something was written and neither synced nor said to have failed
    bool is_format_raised_ = false;  // as far as is known
    JoinBacklog backlog_;
    std::atomic<std::uint64_t> generation_{0};  // of what was written: begins anew after a failure
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

Result<std::unique_ptr<Store>> open_keyed_store(std::unique_ptr<Engine> engine, const std::string& where,
                                                const StoreOptions& options) {
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
    return make_keyed_store(std::move(engine), options);
}

std::unique_ptr<Store> make_keyed_store(std::unique_ptr<Engine> engine, const StoreOptions& options) {
    return std::make_unique<KeyedStore>(std::move(engine), options);
}

std::unique_ptr<StoreReader> make_keyed_reader(std::unique_ptr<Engine> engine) {
    return std::make_unique<KeyedReader>(std::move(engine));
}

}  // namespace perfleet
