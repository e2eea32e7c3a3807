#include "storage/copy/store_copy.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "schemas/columns/crc32c.h"
#include "storage/copy/session_part.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/owned_changes.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/keyed_store.h"
#include "storage/store/open_engine.h"

namespace perfleet {
namespace {

void add_note(std::vector<std::string>& notes, std::string note) {
    if (notes.size() < CopyReport::kNotesMax && std::find(notes.begin(), notes.end(), note) == notes.end()) {
        notes.push_back(std::move(note));
    }
}

std::string words(const SessionPart& part) {
    return describe_key(partition_session_key(part.partition, part.session.target, part.session.session));
}

std::uint32_t add_to_checksum(std::uint32_t checksum, std::uint32_t value) {
    return crc32c(checksum, std::as_bytes(std::span{&value, 1}));
}

class StoreCopy {
public:
    StoreCopy(const Engine& from, ShardCount from_shards, Engine& to, ShardCount to_shards,
              const ProgressReport& progress)
        : from_{from},
          to_{to},
          from_shards_{from_shards},
          to_shards_{to_shards},
          from_reads_{from},
          to_reads_{to},
          progress_{progress} {}

    [[nodiscard]] Result<CopyReport> run() {
        using Step = Result<Done> (StoreCopy::*)();
        for (const Step step :
             {&StoreCopy::copy_sessions, &StoreCopy::copy_images, &StoreCopy::copy_partitions, &StoreCopy::copy_dropped,
              &StoreCopy::copy_notes, &StoreCopy::copy_ends, &StoreCopy::compare}) {
            PERFLEET_TRY((this->*step)());
        }
        for (const KeyedReads* reads : {&from_reads_, &to_reads_}) {
            for (std::string& note : reads->skipped()) {
                add_note(report_.damage, std::move(note));
            }
        }
        return std::move(report_);
    }

private:
    [[nodiscard]] Result<Done> put_absent(const std::string& key, const std::string& value, bool* is_new = nullptr) {
        if (PERFLEET_TRY(to_.get(key)).has_value()) {
            return Done{};
        }
        if (is_new != nullptr) {
            *is_new = true;
        }
        OwnedChanges changes;
        changes.put(key, value);
        return to_.write(PERFLEET_TRY(domain_of_key(key, to_shards_)), 0, changes.changes);
    }

    // Calls put_absent() for every readable key of the range.
    [[nodiscard]] Result<Done> put_absent(const KeyRange& range, CopyCount* count = nullptr) {
        std::optional<Error> failure;
        auto visited = visit_readable(
            from_, range,
            [&](std::string_view key, std::string_view value) {
                bool is_new = false;
                if (auto put = put_absent(std::string{key}, std::string{value}, &is_new); !put.ok()) {
                    failure = put.error();
                    return Visit::kStop;
                }
                if (count != nullptr) {
                    ++count->in_source;
                    count->copied += is_new ? 1 : 0;
                }
                return Visit::kContinue;
            },
            [&](const DamagedRange& damaged) { add_note(report_.damage, damaged.error.message); });
        return failure ? Result<Done>{*failure} : std::move(visited);
    }

    void refuse(std::string why) {
        ++report_.refused_count;
        add_note(report_.refused, std::move(why));
    }

    [[nodiscard]] Result<Done> copy_sessions() {
        Result<Done> copied = Done{};
        auto visited = from_reads_.visit_sessions([&](SessionRecord&& session) {
            copied = copy_session(session);
            return copied.ok() ? Visit::kContinue : Visit::kStop;
        });
        return copied.ok() ? std::move(visited) : std::move(copied);
    }

    [[nodiscard]] Result<Done> copy_session(const SessionRecord& session) {
        ++report_.sessions.in_source;
        auto there = PERFLEET_TRY(to_reads_.session(session.target, session.session));
        const std::string key = session_key(Table::kSession, session.target, session.session);
        if (there.has_value() && !has_same_meaning(*there, session)) {
            refuse(describe_key(key) + " has another clock or other events there");
            return Done{};
        }
        sessions_.insert({session.target, session.session});
        bool is_new = false;
        PERFLEET_TRY(put_absent(key, encode_record(session), &is_new));
        report_.sessions.copied += is_new ? 1 : 0;
        return Done{};
    }

    [[nodiscard]] Result<Done> copy_images() { return put_absent(all_images_range(), &report_.images); }

    [[nodiscard]] Result<Done> copy_partitions() {
        auto partitions = PERFLEET_TRY(from_reads_.partitions());
        PERFLEET_TRY(count_parts(partitions));
        for (const Partition& partition : partitions) {
            const auto sessions = PERFLEET_TRY(from_reads_.sessions(partition));
            for (const SessionRecord& session : sessions) {
                count_done();
                const SessionPart part{partition, {session.target, session.session}};
                if (!sessions_.contains(part.session)) {
                    continue;
                }
                auto note = PERFLEET_TRY(to_reads_.session_note(part.session));
                const auto dropped = PERFLEET_TRY(to_reads_.is_dropped(part.in(to_shards_).partition));
                const bool is_expired = dropped || note.is_removed;
                PERFLEET_TRY(is_expired ? count_expired(part) : copy(part, session));
            }
            PERFLEET_TRY(to_.sync());
        }
        return Done{};
    }

    [[nodiscard]] Result<Done> count_parts(const std::vector<Partition>& partitions) {
        if (!progress_) {
            return Done{};
        }
        for (const Partition& partition : partitions) {
            part_count_ += PERFLEET_TRY(from_reads_.sessions(partition)).size();
        }
        return Done{};
    }

    void count_done() {
        if (progress_) {
            progress_(parts_done_++, 2 * part_count_);
        }
    }

    [[nodiscard]] Result<PartBatches> read_source(const SessionPart& part) {
        PartBatches batches = PERFLEET_TRY(read_part(from_reads_, part));
        if (!batches.damage.empty()) {
            add_note(report_.damage, batches.damage);
        }
        return batches;
    }

    [[nodiscard]] Result<Done> copy(const SessionPart& part, const SessionRecord& session) {
        const SessionPart part_there = part.in(to_shards_);
        const PartBatches from = PERFLEET_TRY(read_source(part));
        const PartBatches to = PERFLEET_TRY(read_part(to_reads_, part_there));
        ++report_.parts.in_source;
        report_.batches.in_source += from.seals.size();
        report_.rows.in_source += from.row_count();
        const PartVerdict verdict = judge_part(from, to);
        if (verdict == PartVerdict::kConflict) {
            refuse(words(part) + " has other batches there; copy it into a store of its own");
            return Done{};
        }
        compared_.push_back(part);
        if (verdict == PartVerdict::kPresent) {
            return Done{};
        }
        OwnedChanges listed;
        listed.put(session_partition_key(session.target, session.session, part_there.partition), encode_record(0));
        PERFLEET_TRY(to_.write(shard_domain(session.target, to_shards_), 0, listed.changes));
        OwnedChanges changes;
        changes.put(partition_session_key(part_there.partition, session.target, session.session),
                    encode_record(session));
        PERFLEET_TRY(to_.write(domain_of(part_there.partition), 0, changes.changes));
        const bool is_alone = verdict == PartVerdict::kReplaces || to.seals.empty();
        auto copied = verdict == PartVerdict::kInterleaves ? merge_part(from_, to_, part, part_there)
                                                           : copy_part(from_, to_, part, part_there, is_alone);
        if (verdict == PartVerdict::kInterleaves && !copied.ok() && is_damage(copied.error())) {
            compared_.pop_back();
            refuse(words(part) + " lies between batches there that can't be read: " + copied.error().message);
            return Done{};
        }
        const PartCopy done = PERFLEET_TRY(std::move(copied));
        report_.row_count_left_out += done.row_count_left_out;
        if (!done.damage.empty()) {
            add_note(report_.damage, done.damage);
        }
        auto now = PERFLEET_TRY(read_part(to_reads_, part_there));
        ++report_.parts.copied;
        report_.batches.copied += now.seals.size() - std::min(now.seals.size(), to.seals.size());
        report_.rows.copied += now.row_count() - std::min(now.row_count(), to.row_count());
        report_.size_bytes += done.size_bytes;
        return Done{};
    }

    // Counts the part's rows as expired: the target has dropped the hour, or removed the session.
    [[nodiscard]] Result<Done> count_expired(const SessionPart& part) {
        auto from = PERFLEET_TRY(read_source(part));
        report_.row_count_expired += from.row_count();
        for (const auto& [series, row_count] : from.rows) {
            const std::string key =
                expired_key(part.session.target, part.session.session, series, part.in(to_shards_).partition);
            PERFLEET_TRY(put_absent(key, encode_record(row_count)));
        }
        return Done{};
    }

    // Copies the counts of rows that the source has dropped, except those that the target still has.
    [[nodiscard]] Result<Done> copy_dropped() {
        std::map<std::string, std::string> counts;
        for (const SessionName& session : sessions_) {
            std::set<Partition> there;
            auto partitions = PERFLEET_TRY(to_reads_.session_partitions(session.target, session.session));
            there.insert(partitions.begin(), partitions.end());
            PERFLEET_TRY(from_.visit(
                session_expired_range(session.target, session.session),
                [&](std::string_view key, std::string_view value) {
                    const auto name = decode_expired_key(key);
                    if (!name.ok()) {
                        return Visit::kContinue;
                    }
                    const Partition its = SessionPart{name->partition, session}.in(to_shards_).partition;
                    if (!there.contains(its)) {
                        const auto row_count = decode_number_untrusted(value);
                        report_.row_count_dropped +=
                            row_count.ok() && !is_definition(name->series.kind) ? *row_count : 0;
                        counts.emplace(expired_key(session.target, session.session, name->series, its), value);
                    }
                    return Visit::kContinue;
                }));
            PERFLEET_TRY(put_absent(session_expired_batches_range(session.target, session.session)));
        }
        for (const auto& [key, value] : counts) {
            PERFLEET_TRY(put_absent(key, value));
        }
        return copy_marks();
    }

    // Copies a drop mark only if the target has no keys in the partition: the mark would hide them.
    [[nodiscard]] Result<Done> copy_marks() {
        const auto there = PERFLEET_TRY(to_reads_.partitions());
        std::set<Partition> marked;
        PERFLEET_TRY(from_.visit(dropped_range(), [&](std::string_view key, std::string_view) {
            if (const auto partition = decode_partition(key); partition.ok()) {
                marked.insert(*partition);
            }
            return Visit::kContinue;
        }));
        std::set<Partition> marks;
        for (Partition partition : marked) {
            for (std::uint32_t shard = partition.shard % shared_shards(); shard < to_shards_.value;
                 shard += shared_shards()) {
                Partition its = partition;
                its.shard = static_cast<std::uint16_t>(shard);
                if (!std::binary_search(there.begin(), there.end(), its) && is_all_marked(marked, partition)) {
                    marks.insert(its);
                }
            }
        }
        for (const Partition& partition : marks) {
            PERFLEET_TRY(put_absent(dropped_key(partition), encode_record(0)));
        }
        return Done{};
    }

    // Shards of one target in source and target store are equal modulo this; nothing else relates them.
    [[nodiscard]] std::uint32_t shared_shards() const {
        return std::gcd(std::uint32_t{from_shards_.value}, std::uint32_t{to_shards_.value});
    }

    // Whether all shards of the source are marked whose targets can be in the same shard of the target store.
    [[nodiscard]] bool is_all_marked(const std::set<Partition>& marked, Partition partition) const {
        for (std::uint32_t shard = partition.shard % shared_shards(); shard < from_shards_.value;
             shard += shared_shards()) {
            partition.shard = static_cast<std::uint16_t>(shard);
            if (!marked.contains(partition)) {
                return false;
            }
        }
        return true;
    }

    // A note that the session was removed isn't copied if the target has rows of it: the note would hide them.
    [[nodiscard]] Result<Done> copy_notes() {
        auto notes = PERFLEET_TRY(from_reads_.session_notes());
        for (const auto& [session, note] : notes) {
            auto there = PERFLEET_TRY(to_reads_.session_partitions(session.target, session.session));
            if (!sessions_.contains(session) || (note.is_removed && !there.empty())) {
                continue;
            }
            const std::string key = session_key(Table::kSessionNote, session.target, session.session);
            PERFLEET_TRY(put_absent(key, encode_record(note)));
        }
        return Done{};
    }

    // Runs after the rows are copied that the ends and watermarks count.
    [[nodiscard]] Result<Done> copy_ends() {
        for (const SessionName& session : sessions_) {
            const std::string end_key = session_key(Table::kSessionEnd, session.target, session.session);
            auto end = from_.get(end_key);
            if (end.ok() && end->has_value()) {
                PERFLEET_TRY(put_absent(end_key, **end));
            }
            auto from = from_reads_.watermark(session.target, session.session);
            auto to = PERFLEET_TRY(to_reads_.watermark(session.target, session.session));
            if (!end.ok() || !from.ok()) {
                add_note(report_.damage, end.ok() ? from.error().message : end.error().message);
                continue;
            }
            if (*from > to) {
                OwnedChanges changes;
                changes.put(session_key(Table::kWatermark, session.target, session.session),
                            encode_record(from->value));
                PERFLEET_TRY(to_.write(shard_domain(session.target, to_shards_), 0, changes.changes));
            }
        }
        return to_.sync();
    }

    // Compares the checksums of each part; where they differ, because one side is compacted or the target has more
    // batches, the seals of the batches.
    [[nodiscard]] Result<Done> compare() {
        // An order that doesn't depend on the number of shards.
        std::sort(compared_.begin(), compared_.end(),
                  [](const SessionPart& a, const SessionPart& b) { return a.in(ShardCount{1}) < b.in(ShardCount{1}); });
        for (const SessionPart& part : compared_) {
            count_done();
            const auto from = PERFLEET_TRY(unless_damaged(checksum_of_part(from_, part)));
            const auto to = PERFLEET_TRY(unless_damaged(checksum_of_part(to_, part.in(to_shards_))));
            const std::uint32_t in_source = from.value_or(0);
            std::uint32_t in_target = to.value_or(~in_source);
            if (in_source != in_target) {
                const auto batches = PERFLEET_TRY(read_part(from_reads_, part));
                const auto there = PERFLEET_TRY(read_part(to_reads_, part.in(to_shards_)));
                const bool holds_all = from && to && judge_part(batches, there) == PartVerdict::kPresent;
                in_target = holds_all ? in_source : in_target;
            }
            report_.checksum_in_source = add_to_checksum(report_.checksum_in_source, in_source);
            report_.checksum_in_target = add_to_checksum(report_.checksum_in_target, in_target);
        }
        return Done{};
    }

    const Engine& from_;
    Engine& to_;
    ShardCount from_shards_;
    ShardCount to_shards_;
    KeyedReads from_reads_;
    KeyedReads to_reads_;
    std::set<SessionName> sessions_;  // without those that contradict the target's
    std::vector<SessionPart> compared_;
    CopyReport report_;
    const ProgressReport& progress_;
    std::uint64_t part_count_ = 0;  // all pairs of session and partition
    std::uint64_t parts_done_ = 0;  // each part counts twice: copied, and compared
};

}  // namespace

Result<CopyReport> copy_store(const std::string& from, const std::string& to, const ProgressReport& progress,
                              std::optional<ShardCount> shards) {
    std::error_code error;
    if (from == to || (is_folder(from) && is_folder(to) && std::filesystem::equivalent(from, to, error))) {
        return Error{ErrorCode::kUsage, to + ": is the store that is to be copied; name another one with --to"};
    }
    auto source = PERFLEET_TRY(open_reader_engine(from));
    PERFLEET_TRY(check_format(*source, from));
    const auto from_shards = PERFLEET_TRY(shards_of(*source));
    EngineOptions options;
    options.shards = shards;
    auto target = PERFLEET_TRY(open_writer_engine(to, options));
    PERFLEET_TRY(prepare_keyed_store(*target, to, shards));
    const auto to_shards = PERFLEET_TRY(shards_of(*target));
    return StoreCopy{*source, from_shards, *target, to_shards, progress}.run();
}

}  // namespace perfleet
