#include "storage/read/keyed_reads.h"
#include "storage/engine/file_name.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "storage/model/record.h"
#include "storage/read/repeated_rows.h"

namespace perfleet {
namespace {

// Decodes the bytes found under a key.
template <class Value, class Decode>
Result<std::optional<Value>> decoded(const std::string& key, const Result<std::optional<std::string>>& bytes,
                                     Decode decode) {
    if (!bytes.ok()) {
        return bytes.error();
    }
    if (!bytes->has_value()) {
        return std::optional<Value>{};
    }
    auto value = decode(**bytes);
    if (!value.ok()) {
        return at_key(key, value.error());
    }
    return std::optional<Value>{std::move(*value)};
}

template <class Value, class Decode>
Result<std::optional<Value>> get_decoded(const Engine& engine, const std::string& key, Decode decode) {
    return decoded<Value>(key, engine.get(key), decode);
}

enum class LostFiles : std::uint8_t { kGaps, kPassedOver };

// `passed` sorts before the first key. `is_repeated` is called for each key in order; true skips the key.
template <class Key, class IsRepeated>
SeqCursor<Key> cursor_of(const Engine& engine, const KeyRange& range, LostFiles lost, Key passed,
                         std::string (*bytes_of)(const Key&), Result<Key> (*decode)(std::string_view),
                         IsRepeated is_repeated) {
    const auto at = std::make_shared<ReadableCursor>(engine, range);
    return SeqCursor<Key>{[=](Seq first) mutable -> Result<SeqStep<Key>> {
        if (first > passed.first_seq) {
            passed.first_seq = first;
            at->seek(bytes_of(passed));
        }
        for (;;) {
            const auto step = PERFLEET_TRY(at->next());
            if (step == CursorStep::kGap && at->gap().is_file_lost && lost == LostFiles::kPassedOver) {
                continue;
            }
            if (step != CursorStep::kItem) {
                return SeqStep<Key>{step, {}, {}, step == CursorStep::kGap ? at->gap().error : Error{}};
            }
            const auto key = decode(at->key());
            const auto is_again = key.ok() ? is_repeated(*key, at->value()) : Result<bool>{key.error()};
            if (!is_again.ok()) {
                return SeqStep<Key>{CursorStep::kGap, {}, {}, at_key(at->key(), is_again.error())};
            }
            passed = *key;
            if (!*is_again) {
                return SeqStep<Key>{CursorStep::kItem, *key, at->value(), {}};
            }
        }
    }};
}

}  // namespace

// Skips an item that can't be decoded, and notes it.
template <class Decode>
auto KeyedReads::next_noting(ReadableCursor& at, const Decode& decode, bool* is_damaged) const {
    const auto decode_item = [&] {
        if constexpr (std::is_invocable_v<Decode, std::string_view, std::string_view>) {
            return decode(at.key(), at.value());
        } else {
            return decode(at.key());
        }
    };
    using Value = std::remove_cvref_t<decltype(*decode_item())>;
    return [&]() -> Result<std::optional<Value>> {
        for (;;) {
            const auto step = PERFLEET_TRY(at.next());
            if (step == CursorStep::kEnd) {
                return std::optional<Value>{};
            }
            auto value = step == CursorStep::kItem ? decode_item() : Result<Value>{at.gap().error};
            if (value.ok()) {
                return std::optional{std::move(*value)};
            }
            notes_.add(step == CursorStep::kItem ? at_key(at.key(), value.error()).message : damage_in(value.error()));
            if (is_damaged != nullptr && step == CursorStep::kGap) {
                *is_damaged = true;
            }
        }
    }();
}

// Partitions of an unfinished drop are hidden: their rows count as expired already.
Result<Done> KeyedReads::refresh() {
    notes_.clear();
    return owned_ != nullptr ? owned_->refresh() : Done{};
}

std::vector<std::string> KeyedReads::damage() const {
    std::vector<std::string> damage = notes_.read();
    const auto known = engine_->damage();
    for (const std::string& at_open : known->at_open) {
        if (std::find(damage.begin(), damage.end(), at_open) == damage.end()) {
            damage.push_back(at_open);
        }
    }
    return damage;
}

Result<std::vector<Partition>> KeyedReads::partitions() const {
    auto found = PERFLEET_TRY(partitions_with_keys());
    auto dropped = PERFLEET_TRY(dropped_partitions());
    std::erase_if(found, [&](const Partition& partition) {
        return std::binary_search(dropped.begin(), dropped.end(), partition);
    });
    return found;
}

Result<std::vector<Partition>> KeyedReads::dropped_leftovers() const {
    auto found = PERFLEET_TRY(partitions_with_keys());
    auto dropped = PERFLEET_TRY(dropped_partitions());
    std::erase_if(found, [&](const Partition& partition) {
        return !std::binary_search(dropped.begin(), dropped.end(), partition);
    });
    return found;
}

Result<std::vector<Partition>> KeyedReads::dropped_partitions() const {
    std::vector<Partition> dropped;
    ReadableCursor at{*engine_, dropped_range()};
    while (const auto partition = PERFLEET_TRY(next_noting(at, decode_partition))) {
        dropped.push_back(*partition);
    }
    return dropped;
}

// A partition whose keys are all unreadable is found through its sessions.
Result<std::vector<Partition>> KeyedReads::partitions_with_keys() const {
    if (auto listed = engine_->listed_partitions()) {
        return std::move(*listed);
    }
    std::set<Partition> found;
    bool is_damaged = false;
    ReadableCursor at{*engine_, all_partitions_range()};
    while (const auto partition = PERFLEET_TRY(next_noting(at, decode_partition, &is_damaged))) {
        found.insert(*partition);
        at.seek(partition_range(*partition).end);
    }
    if (is_damaged) {
        ReadableCursor session{*engine_, all_session_partitions_range()};
        while (const auto name = PERFLEET_TRY(next_noting(session, decode_session_partition_key))) {
            found.insert(name->partition);
        }
    }
    return std::vector<Partition>{found.begin(), found.end()};
}

Result<std::optional<SessionEnd>> KeyedReads::session_end(TargetId target, SessionId session) const {
    const std::string key = session_key(Table::kSessionEnd, target, session);
    return decoded<SessionEnd>(key, get_noting(key), decode_session_end_untrusted);
}

Result<std::map<SessionName, SessionNote>> KeyedReads::session_notes() const {
    using Noted = std::pair<SessionName, SessionNote>;
    const auto decode = [](std::string_view key, std::string_view value) -> Result<Noted> {
        auto name = PERFLEET_TRY(decode_session_key(key));
        auto note = PERFLEET_TRY(decode_session_note_untrusted(value));
        return Noted{name, std::move(note)};
    };
    std::map<SessionName, SessionNote> notes;
    ReadableCursor at{*engine_, all_session_notes_range()};
    while (auto noted = PERFLEET_TRY(next_noting(at, decode))) {
        notes.insert(std::move(*noted));
    }
    return notes;
}

Result<SessionNote> KeyedReads::session_note(const SessionName& session) const {
    const std::string key = session_key(Table::kSessionNote, session.target, session.session);
    auto note = PERFLEET_TRY(decoded<SessionNote>(key, get_noting(key), decode_session_note_untrusted));
    return note.value_or(SessionNote{});
}

Result<std::uint64_t> KeyedReads::session_size_bytes(const SessionName& session) const {
    auto partitions = PERFLEET_TRY(session_partitions(session.target, session.session));
    std::uint64_t sum = 0;
    for (const Partition& partition : partitions) {
        for (const KeyRange& range : session_ranges(partition, session)) {
            PERFLEET_TRY(visit_readable(*engine_, range, [&](std::string_view key, std::string_view value) {
                sum += key.size() + value.size();
                return Visit::kContinue;
            }));
        }
    }
    return sum;
}

// A batch that is stored twice, by itself and in a list, is visited once.
Result<Done> KeyedReads::visit_records(const KeyRange& range, const Partition& partition,
                                       const std::function<Visit(const BatchKey&, const BatchRecord&)>& visitor) const {
    RepeatedRecords repeated;
    return visit_decodable(range, [&](std::string_view key, std::string_view value) -> Result<Visit> {
        auto name = PERFLEET_TRY(decode_partition_batch_key(key));
        auto records = PERFLEET_TRY(decode_batches_untrusted(value, name.key.seq, partition.bucket));
        const bool is_list = is_batch_list_untrusted(value);
        for (const BatchRecord& record : records) {
            const BatchKey batch{name.key.target, name.key.session, record.seq};
            if (!repeated.take(partition, batch, is_list) && visitor(batch, record) == Visit::kStop) {
                return Visit::kStop;
            }
        }
        return Visit::kContinue;
    });
}

Result<Done> KeyedReads::visit_batches(const Partition& partition, TargetId target, SessionId session, Seq first,
                                       const std::function<Visit(const BatchRecord&)>& visitor) const {
    return visit_records(session_batches_range(partition, target, session, first), partition,
                         [&](const BatchKey& key, const BatchRecord& record) {
                             return key.seq >= first ? visitor(record) : Visit::kContinue;
                         });
}

BlockCursor KeyedReads::blocks(const Partition& partition, TargetId target, SessionId session, Series series) const {
    return cursor_of(*engine_, series_blocks_range(partition, target, session, series), LostFiles::kGaps,
                     BlockKey{partition, target, session, series, Seq{0}}, block_key, decode_block_key,
                     [repeated = RepeatedBlocks{*engine_}](const BlockKey& key, std::string_view block) mutable {
                         return repeated.take(key, block);
                     });
}

// Unreadable summaries are skipped: either the rows they sum are lost too, or queries read these rows instead.
SummaryCursor KeyedReads::summaries(const Partition& partition, TargetId target, SessionId session,
                                    Series series) const {
    return cursor_of(*engine_, series_summaries_range(partition, target, session, series), LostFiles::kPassedOver,
                     SummaryKey{partition, target, session, series, Seq{0}}, summary_key, decode_summary_key,
                     [](const SummaryKey&, std::string_view) { return Result<bool>{false}; });
}

// Visits everything readable, then returns the first error.
Result<Done> KeyedReads::visit_decodable(
    const KeyRange& range,
    const std::function<Result<Visit>(std::string_view key, std::string_view value)>& visitor) const {
    std::optional<Error> first_error;
    bool is_stopped = false;
    auto visited = visit_readable(
        *engine_, range,
        [&](std::string_view key, std::string_view value) {
            auto visit = visitor(key, value);
            if (!visit.ok()) {
                first_error = first_error ? first_error : at_key(key, visit.error());
                return Visit::kContinue;
            }
            is_stopped = *visit == Visit::kStop;
            return *visit;
        },
        [&](const DamagedRange& damaged) { first_error = first_error ? first_error : damaged.error; });
    if (visited.ok() && first_error && !is_stopped) {
        return *first_error;
    }
    return visited;
}

Result<std::optional<std::string>> KeyedReads::get_noting(const std::string& key) const {
    return get_readable(*engine_, key, [&](const DamagedRange& damaged) { notes_.add(damage_in(damaged.error)); });
}

Result<std::vector<std::pair<Series, std::uint64_t>>> KeyedReads::expired(TargetId target, SessionId session) const {
    std::map<Series, std::uint64_t> rows;
    const auto dropped = engine_->cursor(session_expired_range(target, session), {});
    while (PERFLEET_TRY(dropped->next())) {
        const auto name = decode_expired_key(dropped->key());
        const auto row_count = decode_number_untrusted(dropped->value());
        if (!name.ok() || !row_count.ok()) {
            return at_key(dropped->key(), name.ok() ? row_count.error() : name.error());
        }
        rows[name->series] += *row_count;
    }
    const auto late = engine_->cursor(session_expired_batches_range(target, session), {});
    while (PERFLEET_TRY(late->next())) {
        const auto batch = decode_expired_batch_untrusted(late->value());
        if (!batch.ok()) {
            return at_key(late->key(), batch.error());
        }
        for (const auto& [series, row_count] : batch->rows) {
            rows[series] += row_count;
        }
    }
    return std::vector<std::pair<Series, std::uint64_t>>(rows.begin(), rows.end());
}

Result<std::optional<BucketNumber>> KeyedReads::last_expired_bucket(TargetId target, SessionId session) const {
    std::optional<BucketNumber> last;
    const auto at = engine_->cursor(session_expired_range(target, session), {});
    while (PERFLEET_TRY(at->next())) {
        const auto name = decode_expired_key(at->key());
        if (!name.ok()) {
            return at_key(at->key(), name.error());
        }
        last = std::max(last, std::optional{name->partition.bucket});
    }
    return last;
}

Result<Seq> KeyedReads::watermark(TargetId target, SessionId session) const {
    const std::string key = session_key(Table::kWatermark, target, session);
    auto number = PERFLEET_TRY(decoded<std::uint64_t>(key, get_noting(key), decode_number_untrusted));
    return Seq{number.value_or(0)};
}

Result<std::optional<ImageContent>> KeyedReads::image(std::string_view build_id) const {
    const std::string key = image_key(build_id);
    return decoded<ImageContent>(key, get_noting(key), decode_image_untrusted);
}

Result<bool> KeyedReads::has_image(std::string_view build_id) const {
    const std::string key = image_key(build_id);
    ReadableCursor at{*engine_, {key, key + '\0'}};
    for (;;) {
        const auto step = PERFLEET_TRY(at.next());
        if (step != CursorStep::kGap) {
            return step == CursorStep::kItem;
        }
        notes_.add(damage_in(at.gap().error));
    }
}

Result<std::optional<std::string>> KeyedReads::dictionary(const Partition& partition) const {
    return get_noting(dictionary_key(partition));
}

Result<std::optional<std::string>> KeyedReads::stack_map(const StackMapKey& key) const {
    return get_noting(stack_map_key(key));
}

Result<bool> KeyedReads::is_dropped(const Partition& partition) const {
    auto found = PERFLEET_TRY(get_noting(dropped_key(partition)));
    return found.has_value();
}

Result<std::optional<SessionRecord>> KeyedReads::session(TargetId target, SessionId session) const {
    const std::string key = session_key(Table::kSession, target, session);
    return decoded<SessionRecord>(key, get_noting(key), decode_session_untrusted);
}

Result<std::vector<Partition>> KeyedReads::session_partitions(TargetId target, SessionId session, BucketNumber first,
                                                              BucketNumber last) const {
    std::vector<Partition> partitions;
    ReadableCursor at{*engine_, session_buckets_range(target, session, first, last)};
    while (const auto name = PERFLEET_TRY(next_noting(at, decode_session_partition_key))) {
        partitions.push_back(name->partition);
    }
    return partitions;
}

// For a dropped partition the class is in the expired rows of the session. They become many over time, so they are
// searched only if something of this bucket was dropped.
Result<std::optional<std::uint8_t>> KeyedReads::retention_class(TargetId target, SessionId session,
                                                                BucketNumber bucket) const {
    using Found = std::optional<std::uint8_t>;
    ReadableCursor at{*engine_, session_bucket_range(target, session, bucket)};
    if (const auto name = PERFLEET_TRY(next_noting(at, decode_session_partition_key))) {
        return Found{name->partition.retention_class};
    }
    ReadableCursor dropped{*engine_, dropped_bucket_range(bucket)};
    if (!PERFLEET_TRY(next_noting(dropped, decode_partition))) {
        return Found{};
    }
    ReadableCursor expired{*engine_, session_expired_range(target, session)};
    while (const auto name = PERFLEET_TRY(next_noting(expired, decode_expired_key))) {
        if (name->partition.bucket == bucket) {
            return Found{name->partition.retention_class};
        }
    }
    return Found{};
}

// Single records have their own seq as key, lists that of their last batch: the first key from `seq` on is it.
Result<std::optional<BatchRecord>> KeyedReads::batch(const Partition& partition, const BatchKey& key) const {
    using Found = std::optional<BatchRecord>;
    const KeyRange range = session_batches_range(partition, key.target, key.session, key.seq);
    const auto at = engine_->cursor(range, {});
    const auto is_any = PERFLEET_TRY(at->next());
    if (!is_any || (at->key() != range.begin && !is_batch_list_untrusted(at->value()))) {
        return Found{};
    }
    const auto name = decode_partition_batch_key(at->key());
    auto records = name.ok() ? decode_batches_untrusted(at->value(), name->key.seq, partition.bucket)
                             : Result<std::vector<BatchRecord>>{name.error()};
    if (!records.ok()) {
        return at_key(at->key(), records.error());
    }
    const auto place = std::lower_bound(records->begin(), records->end(), key.seq,
                                        [](const BatchRecord& record, Seq seq) { return record.seq < seq; });
    return place != records->end() && place->seq == key.seq ? Found{std::move(*place)} : Found{};
}

Result<std::optional<std::uint64_t>> KeyedReads::compaction_mark(const Partition& partition) const {
    return get_decoded<std::uint64_t>(*engine_, compacted_key(partition), decode_number_untrusted);
}

Result<std::optional<std::uint32_t>> KeyedReads::expired_batch_seal(const BatchKey& key) const {
    const std::string at = expired_batch_key(key);
    auto batch = PERFLEET_TRY(decoded<ExpiredBatch>(at, get_noting(at), decode_expired_batch_untrusted));
    return batch.has_value() ? std::optional{batch->seal} : std::nullopt;
}

Result<std::uint64_t> KeyedReads::expired_rows(TargetId target, SessionId session, Series series,
                                               const Partition& partition) const {
    const std::string key = expired_key(target, session, series, partition);
    auto rows = PERFLEET_TRY(decoded<std::uint64_t>(key, get_noting(key), decode_number_untrusted));
    return rows.value_or(0);
}

Result<std::vector<std::pair<Seq, std::uint32_t>>> KeyedReads::expired_batch_seals(TargetId target, SessionId session,
                                                                                   Seq first) const {
    using Sealed = std::pair<Seq, std::uint32_t>;
    const auto decode = [](std::string_view key, std::string_view value) -> Result<Sealed> {
        const auto name = PERFLEET_TRY(decode_expired_batch_key(key));
        const auto batch = PERFLEET_TRY(decode_expired_batch_untrusted(value));
        return Sealed{name.seq, batch.seal};
    };
    std::vector<Sealed> seals;
    ReadableCursor at{*engine_, session_expired_batches_range(target, session, first)};
    while (const auto sealed = PERFLEET_TRY(next_noting(at, decode))) {
        seals.push_back(*sealed);
    }
    return seals;
}

Result<Done> KeyedReads::visit_partition_batches(
    const Partition& partition, const std::function<void(const BatchKey&, const BatchRecord&)>& visitor) const {
    return visit_records(partition_batches_range(partition), partition,
                         [&](const BatchKey& key, const BatchRecord& record) {
                             visitor(key, record);
                             return Visit::kContinue;
                         });
}

}  // namespace perfleet
