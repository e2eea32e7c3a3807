#include "storage/store/keyed_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/compact/compaction_backlog.h"
#include "storage/compact/compaction_work.h"
#include "storage/compact/compactor.h"
#include "storage/engine/owned_changes.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/known_seqs.h"
#include "storage/store/partition_drop.h"
#include "storage/store/put_call.h"
#include "storage/store/session_removal.h"
#include "storage/store/unused_images.h"

namespace perfleet {
namespace {

// The last count blocks the writer, so that a partition that receives rows all the time can be dropped, too.
constexpr int kCountsOfADropMax = 3;

class KeyedStore final : public Store, public KeyedReads, private ShardLeases {
public:
    KeyedStore(std::unique_ptr<Engine> engine, ShardCount shards, const StoreOptions& options, Guard guard)
        : KeyedReads{std::move(engine), shards},
          guard_{guard},
          leases_{own_engine().leases()},
          known_{*this},
          backlog_{options.compact_batches},
          makers_{options.summaries, options.dictionaries} {}

    [[nodiscard]] ShardLeases* leases() override { return leases_ != nullptr ? this : nullptr; }

    [[nodiscard]] Result<Done> define(const Partition& partition, const SessionRecord& session) override {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(check_shard(partition, session.target));
        PERFLEET_TRY(be_ready());
        auto known = PERFLEET_TRY(known_.session(session.target, session.session));
        auto before = PERFLEET_TRY(this->session(session.target, session.session));
        if (before.has_value() && !has_same_meaning(*before, session)) {
            return Error{ErrorCode::kConflict,
                         describe_key(session_key(Table::kSession, session.target, session.session)) +
                             " has another clock or other events than before"};
        }
        auto dropped = PERFLEET_TRY(is_dropped(partition));
        const bool is_changed = !before.has_value() || *before != session;
        // Each writer puts the record again, so that table files it fills can be understood without older ones.
        const bool is_expired = dropped || known->is_removed;
        const bool is_new_here = !is_expired && !known->defined.contains(partition);
        if (!is_changed && !is_new_here) {
            return Done{};
        }
        // Lists the partition before it has keys: a listed partition without keys does no harm, but session removal
        // would miss an unlisted one.
        const std::string bytes = encode_record(session);
        const std::string nothing = encode_record(0);
        Changes listed;
        listed.puts.push_back({session_key(Table::kSession, session.target, session.session), bytes});
        Changes changes;
        if (!is_expired) {
            listed.puts.push_back({session_partition_key(session.target, session.session, partition), nothing});
            changes.puts.push_back({partition_session_key(partition, session.target, session.session), bytes});
        }
        disturb_count(partition);
        auto written = write(shard_domain(session.target, shards()), listed);
        if (written.ok()) {
            written = write(domain_of(partition), changes);
        }
        if (written.ok() && is_new_here) {
            known->partitions.insert(partition);
            known->defined.insert(partition);
        }
        return written;
    }

    [[nodiscard]] Result<std::vector<PutOutcome>> put(const Partition& partition,
                                                      std::span<const AdmittedBatch> batches) override {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(be_ready());
        auto dropped = PERFLEET_TRY(is_dropped(partition));
        PutCall call{*this, known_, partition, dropped};
        std::vector<PutOutcome> outcomes;
        outcomes.reserve(batches.size());
        for (const AdmittedBatch& batch : batches) {
            PERFLEET_TRY(check_shard(partition, batch.key.target));
            outcomes.push_back(PERFLEET_TRY(call.judge(batch)));
        }
        if (!call.stored().empty() && !backlog_.knows(partition)) {
            const auto compacted = PERFLEET_TRY(unless_damaged(compaction_mark(partition)));
            if (!compacted || compacted->has_value()) {
                call.changes().deletes.push_back(compacted_key(partition));
            }
        }
        if (!call.changes().empty()) {
            disturb_count(partition);
        }
        // Each batch is in one of the two; if a write fails, the caller puts all of them again.
        PERFLEET_TRY(write(shard_domain(partition.shard), call.expired()));
        PERFLEET_TRY(write(domain_of(partition), call.changes()));
        call.keep();
        for (const SessionName& session : call.stored()) {
            backlog_.add_stored(partition, session);
        }
        return outcomes;
    }

    [[nodiscard]] Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                                      BucketNumber bucket) const override {
        return KeyedReads::retention_class(target, session, bucket);
    }

    [[nodiscard]] Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) override {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(be_ready());
        std::map<std::uint16_t, OwnedChanges> changes;  // by shard
        std::vector<std::pair<KnownSession*, Seq>> advanced;
        for (const auto& [target, session, prefix] : prefixes) {
            auto known = PERFLEET_TRY(known_.session(target, session));
            if (prefix > (known)->watermark) {
                changes[shard_of(target, shards())].put(session_key(Table::kWatermark, target, session),
                                                        encode_record(prefix.value));
                advanced.emplace_back(known, prefix);
            }
        }
        Result<Done> written = Done{};
        for (auto at = changes.begin(); at != changes.end() && written.ok(); ++at) {
            written = write(shard_domain(at->first), at->second.changes);
        }
        for (std::size_t i = 0; i < advanced.size() && written.ok(); ++i) {
            advanced[i].first->advance(advanced[i].second);
        }
        return written;
    }

    [[nodiscard]] Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) override {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(be_ready());
        if (PERFLEET_TRY(session_end(target, session)).has_value()) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(session_key(Table::kSessionEnd, target, session), encode_record(end));
        return write(shard_domain(target, shards()), changes.changes);
    }

    [[nodiscard]] Result<Done> name_session(const SessionName& session, std::string_view given_name) override {
        PERFLEET_TRY(given_name.empty() ? Done{} : check_given_name(given_name));
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(recover(GoOn::kToStore));
        auto note = PERFLEET_TRY(note_of(session));
        note.given_name = given_name;
        OwnedChanges changes;
        changes.put(session_key(Table::kSessionNote, session.target, session.session), encode_record(note));
        auto written = own_engine().write(shard_domain(session.target, shards()), guard_, changes.changes);
        return written.ok() ? sync_beside() : std::move(written);
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
        PERFLEET_TRY(be_ready());
        if (PERFLEET_TRY(image(build_id)).has_value()) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(image_key(build_id), encode_record(content));
        return write(Domain{Domain::Type::kImage}, changes.changes);
    }

    [[nodiscard]] Result<std::uint64_t> drop(std::span<const Partition> partitions,
                                             std::atomic<bool>* is_stopping) override {
        std::vector<std::uint64_t> row_counts(partitions.size());
        auto dropped = try_drop(partitions, is_stopping, row_counts);
        if (!dropped.ok() && dropped.error().code == ErrorCode::kFull) {
            dropped = try_drop(partitions, is_stopping, row_counts);  // uses the space reserved for drops
        }
        if (!dropped.ok()) {
            return dropped.error();
        }
        return std::accumulate(row_counts.begin(), row_counts.end(), std::uint64_t{0});
    }

    [[nodiscard]] Result<std::uint64_t> remove_sessions(std::span<const SessionName> sessions,
                                                        std::atomic<bool>* is_stopping) override {
        std::uint64_t row_count = 0;
        std::set<Partition> partitions;
        auto removed = try_remove(sessions, row_count, partitions);
        if (!removed.ok() && removed.error().code == ErrorCode::kFull) {
            removed = try_remove(sessions, row_count, partitions);  // uses the space reserved for drops
        }
        if (!removed.ok()) {
            return removed.error();
        }
        for (const Partition& partition : partitions) {
            PERFLEET_TRY(own_engine().reclaim(partition_range(partition), is_stopping));
        }
        return row_count;
    }

    [[nodiscard]] Result<std::uint64_t> remove_unused_images() override {
        UnusedImages unused = PERFLEET_TRY(unused_images(*this));
        if (unused.keys.empty()) {
            return std::uint64_t{0};
        }
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(be_ready());
        for (std::string& key : unused.keys) {
            Changes changes;
            changes.deletes.push_back(std::move(key));
            PERFLEET_TRY(write(Domain{Domain::Type::kImage}, changes));
        }
        PERFLEET_TRY(own_engine().reclaim(all_images_range(), nullptr));
        return unused.size_bytes;
    }

    [[nodiscard]] Result<std::uint64_t> size_bytes(std::span<const Partition> partitions) const override {
        std::uint64_t sum = 0;
        for (const KeyRange& range : ranges_of(partitions)) {
            sum += PERFLEET_TRY(engine().size_bytes(range));
        }
        return sum;
    }

    [[nodiscard]] Result<Done> sync() override {
        const std::lock_guard lock{writing_};
        return sync_now();
    }

    [[nodiscard]] Result<Done> write_out_log() override {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(sync_now());
        return own_engine().flush_unlogged();
    }

    [[nodiscard]] Result<Done> compact(UtcNs now, const std::function<Visit(const CompactionStep&)>& on_step) override {
        if (!own_engine().damage()->lost.empty()) {
            return Done{};  // lost files may be put back, and compaction could have replaced their contents
        }
        while (!backlog_.is_loaded()) {  // repeats only if meanwhile a session was removed or the engine recovered
            PERFLEET_TRY(load_backlog());
        }
        while (const auto work = backlog_.take(now)) {
            const std::uint64_t generation = generation_;
            backlog_.defer(*work, now);
            const auto commit = [&](const Changes& changes) {
                return compact_now(generation, work->partition, changes);
            };
            auto outcome = PERFLEET_TRY(do_compact_work(*this, *work, makers_, commit, on_step));
            if (outcome == Compactor::Outcome::kStopped) {
                backlog_.take_up(*work);
                return flush_compacted();
            }
            if (work->session) {
                continue;
            }
            has_compacted_partition_ = true;
            if (outcome == Compactor::Outcome::kDone) {
                if (auto marked = work->is_day ? mark_day(generation, *work) : mark_compacted(generation, *work);
                    !marked.ok()) {
                    return marked;
                }
            }
            if (makers_.summaries && !work->is_day && outcome != Compactor::Outcome::kOvertaken) {
                backlog_.await_day(work->partition);
            }
        }
        // One flush for all partitions of an hour, which are due together, so that readers find no small blocks in
        // them. Compaction in open buckets is flushed later.
        return has_compacted_partition_ ? flush_compacted() : Done{};
    }

    [[nodiscard]] std::size_t partitions_to_compact() const override { return backlog_.partition_count(); }

private:
    // -- shards: gaining or losing one clears all caches --------------------------------------------------------------
    [[nodiscard]] Result<Done> join(const GatewayAddress& own) override { return leases_->join(own); }
    [[nodiscard]] News take_news() override {
        const std::lock_guard lock{writing_};
        News news = leases_->take_news();
        if (!news.taken.empty() || !news.lost.empty()) {
            forget_all();
        }
        // Leftovers of an interrupted drop are hidden; if they can't be erased now, the next drop erases them.
        (void)(news.taken.empty() ? Done{} : finish_drops(own_engine()));
        return news;
    }
    void give_up(std::uint16_t shard) override {
        const std::lock_guard lock{writing_};
        leases_->give_up(shard);
        forget_all();
    }
    [[nodiscard]] bool is_held(std::uint16_t shard) const override { return leases_->is_held(shard); }
    [[nodiscard]] std::uint16_t held_count() const override { return leases_->held_count(); }
    [[nodiscard]] std::optional<GatewayAddress> holder_of(std::uint16_t shard) const override {
        return leases_->holder_of(shard);
    }
    [[nodiscard]] std::vector<Message> take_requests() override { return leases_->take_requests(); }
    void answer(Message answer) override { leases_->answer(std::move(answer)); }
    [[nodiscard]] std::uint64_t change_count() const override { return leases_->change_count(); }
    void publish_sizes(const ClassSizes& held, std::uint64_t as_of) override { leases_->publish_sizes(held, as_of); }
    [[nodiscard]] std::optional<ClassSizes> sizes_of_others() const override { return leases_->sizes_of_others(); }

    void forget_all() {
        known_.forget_everything();
        backlog_.forget_everything();
        ++generation_;
    }

    [[nodiscard]] Result<Done> sync_now() {
        PERFLEET_TRY(report_loss());
        auto synced = own_engine().sync();
        is_owing_ = false;
        return synced;
    }

    // Runs before every change. If the engine had to restart from what is on disk, cached state of unsynced changes is
    // invalid, and a writer that doesn't know of the loss must not proceed to a sync.
    [[nodiscard]] Result<Done> recover(GoOn purpose) {
        if (PERFLEET_TRY(own_engine().recover(purpose))) {
            forget_all();
            has_unreported_loss_ = std::exchange(is_owing_, false) || has_unreported_loss_;
        }
        return Done{};
    }

    [[nodiscard]] Result<Done> report_loss() {
        if (std::exchange(has_unreported_loss_, false)) {
            return Error{
                ErrorCode::kUnavailable,
                "the store was opened again after a failure: changes that weren't synced must be stored again"};
        }
        return Done{};
    }

    // Runs before each change by the writer.
    [[nodiscard]] Result<Done> be_ready() {
        PERFLEET_TRY(recover(GoOn::kToStore));
        PERFLEET_TRY(report_loss());
        known_.make_room();
        return Done{};
    }

    [[nodiscard]] Result<Done> write(const Domain& domain, const Changes& changes) {
        if (changes.empty()) {
            return Done{};
        }
        auto written = own_engine().write(domain, guard_, changes);
        is_owing_ = written.ok();  // an error goes to the caller at once
        return written;
    }

    // Errors: kNotFound.
    [[nodiscard]] Result<SessionNote> note_of(const SessionName& session) const {
        auto defined = PERFLEET_TRY(this->session(session.target, session.session));
        if (!defined.has_value()) {
            return Error{
                ErrorCode::kNotFound,
                describe_key(session_key(Table::kSession, session.target, session.session)) + " is not in the store"};
        }
        return session_note(session);
    }

    // -- dropping: on any thread --------------------------------------------------------------------------------------
    // is_owing_ doesn't change: the writer's next change meets the same failure.

    // Sets the row count of each partition that it hides.
    [[nodiscard]] Result<Done> try_drop(std::span<const Partition> partitions, std::atomic<bool>* is_stopping,
                                        std::span<std::uint64_t> row_counts) {
        for (std::size_t i = 0; i < partitions.size(); ++i) {
            row_counts[i] = std::max(row_counts[i], PERFLEET_TRY(hide(partitions[i])));
        }
        PERFLEET_TRY(sync_drop(partitions));
        for (const KeyRange& range : ranges_of(partitions)) {
            PERFLEET_TRY(own_engine().erase(range, is_stopping));
        }
        return Done{};
    }

    // Writes mark and counts: from then on the partition is hidden, and its rows count as expired, once. Counts while
    // the writer goes on, and again if it has put a batch there meanwhile.
    [[nodiscard]] Result<std::uint64_t> hide(const Partition& partition) {
        std::unique_lock lock{writing_};
        PERFLEET_TRY(recover(GoOn::kToDrop));
        if (PERFLEET_TRY(is_dropped(partition))) {
            return std::uint64_t{0};
        }
        for (int count = 1;; ++count) {
            const bool is_alone = count == kCountsOfADropMax;
            const std::uint64_t generation = generation_;
            counted_ = {partition};
            if (!is_alone) {
                lock.unlock();
            }
            auto drop = make_partition_drop(*this, partition);
            if (!is_alone) {
                lock.lock();
            }
            const bool is_valid = counted_.has_value() && generation == generation_;
            counted_.reset();
            PartitionDrop counted = PERFLEET_TRY(std::move(drop));
            if (is_valid) {
                PERFLEET_TRY(write_drop(shard_domain(partition.shard), counted.changes.changes));
                known_.forget_partition(partition);
                backlog_.forget_partition(partition);
                return counted.row_count;
            }
        }
    }

    // Refuses to erase if a failure has undone a mark meanwhile.
    [[nodiscard]] Result<Done> sync_drop(std::span<const Partition> partitions) {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(recover(GoOn::kToDrop));
        for (const Partition& partition : partitions) {
            if (!PERFLEET_TRY(is_dropped(partition))) {
                return Error{ErrorCode::kUnavailable,
                             "the store was opened again after a failure: the partitions must be dropped again"};
            }
        }
        return sync_beside();
    }

    // First writes the note and counts of each session together: from then on its rows count as expired, and queries
    // ignore them. Then deletes its keys; each partition's deletions get a table file of their own, because a file for
    // several would overlap everything between them, which compaction would rewrite. Leftovers of an error or a crash
    // cost only space, and are found by the session's list of partitions, which is deleted last.
    [[nodiscard]] Result<Done> try_remove(std::span<const SessionName> sessions, std::uint64_t& row_count,
                                          std::set<Partition>& partitions) {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(recover(GoOn::kToDrop));
        std::map<Partition, std::vector<SessionName>> parts;
        std::map<SessionName, std::vector<Partition>> lists;
        for (const SessionName& session : sessions) {
            PERFLEET_TRY(note_of(session));
            auto theirs = PERFLEET_TRY(session_partitions(session.target, session.session));
            for (const Partition& partition : theirs) {
                parts[partition].push_back(session);
            }
            lists[session] = std::move(theirs);
        }
        std::uint64_t counted = 0;
        for (const auto& [session, theirs] : lists) {
            OwnedChanges counts;
            counts.put(session_key(Table::kSessionNote, session.target, session.session),
                       encode_record(SessionNote{.given_name = {}, .is_removed = true}));
            auto rows = PERFLEET_TRY(count_removed(*this, session, theirs, counts));
            known_.forget_session(session);
            for (const Partition& partition : theirs) {
                disturb_count(partition);
            }
            PERFLEET_TRY(write_drop(shard_domain(session.target, shards()), counts.changes));
            counted += rows;
            row_count = std::max(row_count, counted);
        }
        for (const auto& [partition, theirs] : parts) {
            partitions.insert(partition);
            for (const SessionName& session : theirs) {
                auto removal = PERFLEET_TRY(make_session_removal(*this, partition, session));
                PERFLEET_TRY(write_drop(domain_of(partition), removal.changes));
                ++generation_;  // compaction must not write what it has read of the session
                if (removal.is_partition_empty) {
                    backlog_.forget_partition(partition);
                }
            }
            PERFLEET_TRY(parts.size() > 1 ? own_engine().flush_unlogged() : Done{});
        }
        for (const auto& [session, theirs] : lists) {
            Changes list;
            for (const Partition& partition : theirs) {
                list.deletes.push_back(session_partition_key(session.target, session.session, partition));
            }
            PERFLEET_TRY(list.empty() ? Done{} : write_drop(shard_domain(session.target, shards()), list));
        }
        return sync_beside();
    }

    [[nodiscard]] Result<Done> write_drop(const Domain& domain, Changes& changes) {
        changes.is_for_drop = true;
        return own_engine().write(domain, guard_, changes);
    }

    [[nodiscard]] Result<Done> sync_beside() {
        auto synced = own_engine().sync();
        is_owing_ = is_owing_ && !synced.ok();
        return synced;
    }

    // Queries look for a target only in its own shard.
    [[nodiscard]] Result<Done> check_shard(const Partition& partition, TargetId target) const {
        return partition.shard == shard_of(target, shards())
                   ? Result<Done>{Done{}}
                   : Error{ErrorCode::kInvalid, "target " + std::to_string(target.value) + " isn't of shard " +
                                                    std::to_string(partition.shard) + " in a store of " +
                                                    std::to_string(shards().value)};
    }

    // Makes a running count of the partition's rows invalid.
    void disturb_count(const Partition& partition) {
        if (counted_ == partition) {
            counted_.reset();
        }
    }

    // -- compaction: on a thread of its own ---------------------------------------------------------------------------
    [[nodiscard]] Result<Done> load_backlog() {
        const std::uint64_t generation = generation_;
        const auto all = PERFLEET_TRY(partitions());
        std::vector<Partition> unmarked;
        std::vector<Partition> compacted;  // day summaries are still to be made
        for (const Partition& partition : all) {
            const auto mark = PERFLEET_TRY(unless_damaged(compaction_mark(partition)));
            if (!mark || !mark->has_value()) {
                unmarked.push_back(partition);
            } else if (makers_.summaries && **mark < kMarkDaySummed) {
                compacted.push_back(partition);
            }
        }
        const std::lock_guard lock{writing_};
        if (generation == generation_) {
            backlog_.load(unmarked, compacted);
        }
        return Done{};
    }

    // Whether what was read of the partition is still valid. Call with writing_ locked.
    [[nodiscard]] Result<bool> is_as_it_was(std::uint64_t generation, const Partition& partition) const {
        if (generation != generation_) {
            return false;
        }
        return !PERFLEET_TRY(is_dropped(partition));
    }

    // is_owing_ doesn't change: the writer's next change meets the same failure.
    [[nodiscard]] Result<bool> compact_now(std::uint64_t generation, const Partition& partition,
                                           const Changes& changes) {
        const std::lock_guard lock{writing_};
        if (!PERFLEET_TRY(is_as_it_was(generation, partition))) {
            return false;
        }
        has_compacted_ = true;
        PERFLEET_TRY(own_engine().write_unlogged(domain_of(partition), guard_, changes));
        return true;
    }

    [[nodiscard]] Result<Done> flush_compacted() {
        has_compacted_partition_ = false;
        return std::exchange(has_compacted_, false) ? own_engine().flush_unlogged() : Done{};
    }

    [[nodiscard]] Result<Done> mark_compacted(std::uint64_t generation, const CompactionBacklog::Work& work) {
        const std::lock_guard lock{writing_};
        if (!PERFLEET_TRY(is_as_it_was(generation, work.partition)) || !backlog_.is_unchanged(work)) {
            return Done{};
        }
        OwnedChanges changes;
        changes.put(compacted_key(work.partition), encode_record(kMarkCompacted));
        auto written = own_engine().write_unlogged(domain_of(work.partition), guard_, changes.changes);
        if (written.ok()) {
            backlog_.forget_partition(work.partition);
        }
        return written;
    }

    // Marks the day, unless new batches have removed the partition's mark meanwhile.
    [[nodiscard]] Result<Done> mark_day(std::uint64_t generation, const CompactionBacklog::Work& work) {
        const std::lock_guard lock{writing_};
        const bool is_valid = PERFLEET_TRY(is_as_it_was(generation, work.partition));
        const auto mark = PERFLEET_TRY(unless_damaged(compaction_mark(work.partition)));
        Result<Done> written = Done{};
        if (is_valid && mark && *mark == kMarkCompacted) {
            OwnedChanges changes;
            changes.put(compacted_key(work.partition), encode_record(kMarkDaySummed));
            written = own_engine().write_unlogged(domain_of(work.partition), guard_, changes.changes);
        }
        if (written.ok()) {
            backlog_.forget_day(work.partition);
        }
        return written;
    }

    Guard guard_;
    ShardLeases* leases_;  // the engine's
    std::mutex writing_;   // guards writes of the writer and of the threads that compact and drop
    KnownSeqs known_;
    bool is_owing_ = false;             // a change was written, and neither synced nor reported as failed
    bool has_unreported_loss_ = false;  // unsynced changes may be lost, and the writer doesn't know of it
    std::optional<Partition> counted_;  // being counted; reset when a batch is put there
    CompactionBacklog backlog_;
    CompactionMakers makers_;
    bool has_compacted_ = false;                // since the last flush; compaction thread only
    bool has_compacted_partition_ = false;      // a whole partition
    std::atomic<std::uint64_t> generation_{0};  // grows after a failure and with each removed part
};

}  // namespace

Result<Done> StoreMaintenance::drop(const Partition& partition) {
    PERFLEET_TRY(drop({&partition, 1}, nullptr));
    return Done{};
}

Result<Done> StoreWriter::advance_watermark(TargetId target, SessionId session, Seq prefix) {
    const SessionPrefix one{target, session, prefix};
    return advance_watermarks({&one, 1});
}

std::unique_ptr<Store> make_keyed_store(std::unique_ptr<Engine> engine, const StoreOptions& options, Guard guard) {
    const auto shards = shards_of(*engine, options.shards);
    return std::make_unique<KeyedStore>(std::move(engine), shards.ok() ? *shards : ShardCount{}, options, guard);
}

std::unique_ptr<StoreReader> make_keyed_reader(std::unique_ptr<Engine> engine) {
    const auto shards = shards_of(*engine);
    return std::make_unique<KeyedReads>(std::move(engine), shards.ok() ? *shards : ShardCount{});
}

}  // namespace perfleet
