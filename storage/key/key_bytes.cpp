#include "storage/key/key_bytes.h"

#include <array>
#include <cstdio>

#include "schemas/text/hex.h"

namespace perfleet {
namespace {

constexpr std::string_view kFormatName = "perfleet store";
constexpr std::string_view kShardsName = "shards";

class KeyWriter {
public:
    explicit KeyWriter(Table table) { integer(static_cast<std::uint8_t>(table)); }

    template <class Integer>
    KeyWriter& integer(Integer value) {
        static_assert(std::is_unsigned_v<Integer>);
        for (std::size_t i = sizeof(Integer); i-- > 0;) {
            bytes_.push_back(
                static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * i))));
        }
        return *this;
    }
    KeyWriter& partition(const Partition& partition) {
        return integer(partition.bucket.value).integer(partition.retention_class).integer(partition.shard);
    }
    KeyWriter& table(PartitionTable table) { return integer(static_cast<std::uint8_t>(table)); }
    KeyWriter& session(TargetId target, SessionId session) {
        return integer(target.value).integer(session.high).integer(session.low);
    }
    KeyWriter& series(Series series) {
        return integer(static_cast<std::uint8_t>(series.kind)).integer(series.event.value);
    }
    KeyWriter& raw(std::string_view bytes) {
        bytes_.append(bytes);
        return *this;
    }

    std::string take() { return std::move(bytes_); }

    // The range of all keys that start with the bytes so far.
    KeyRange range() {
        KeyRange range{bytes_, bytes_};
        while (!range.end.empty() && static_cast<unsigned char>(range.end.back()) == 0xff) {
            range.end.pop_back();
        }
        range.end.back() = static_cast<char>(static_cast<unsigned char>(range.end.back()) + 1);
        return range;
    }

    // The same range, from `first` on.
    KeyRange range_from(Seq first) {
        KeyRange range = this->range();
        integer(first.value);
        range.begin = take();
        return range;
    }

private:
    std::string bytes_;
};

KeyWriter inside(const Partition& partition, PartitionTable table) {
    KeyWriter key{Table::kPartition};
    key.partition(partition).table(table);
    return key;
}

KeyWriter outside(Table table, TargetId target, SessionId session) {
    KeyWriter key{table};
    key.session(target, session);
    return key;
}

// Whether keys of the table consist of a session only.
bool is_by_session(Table table) {
    return table == Table::kSession || table == Table::kSessionEnd || table == Table::kWatermark ||
           table == Table::kSessionNote;
}

Error not_a(const char* what, std::string_view key) {
    return Error{ErrorCode::kInvalid, "key " + hex_of(key) + " is not that of " + what};
}

// After a fault everything reads as zero, and finish() returns the error.
class KeyReader {
public:
    explicit KeyReader(std::string_view key) : key_{key}, rest_{key} {}

    template <class Integer>
    KeyReader& integer(Integer& value) {
        ok_ = ok_ && rest_.size() >= sizeof(Integer);
        std::uint64_t read = 0;
        for (std::size_t i = 0; ok_ && i < sizeof(Integer); ++i) {
            read = read << 8 | static_cast<unsigned char>(rest_[i]);
        }
        rest_.remove_prefix(ok_ ? sizeof(Integer) : 0);
        value = static_cast<Integer>(read);
        return *this;
    }
    // The first byte, or the one after a partition.
    template <class AnyTable>
    KeyReader& expect(AnyTable table) {
        std::uint8_t raw = 0;
        integer(raw);
        ok_ = ok_ && raw == static_cast<std::uint8_t>(table);
        return *this;
    }
    KeyReader& inside(Partition& partition, PartitionTable table) {
        return expect(Table::kPartition).partition(partition).expect(table);
    }
    KeyReader& partition(Partition& partition) {
        return integer(partition.bucket.value).integer(partition.retention_class).integer(partition.shard);
    }
    // Of a struct with target and session.
    template <class Name>
    KeyReader& session(Name& name) {
        return integer(name.target.value).integer(name.session.high).integer(name.session.low);
    }
    KeyReader& series(Series& series) {
        std::uint8_t kind = 0;
        integer(kind);
        ok_ = ok_ && is_known_kind(kind);
        series.kind = static_cast<Kind>(kind);
        return integer(series.event.value);
    }

    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] bool ended() const { return ok_ && rest_.empty(); }
    template <class Decoded>
    [[nodiscard]] Result<Decoded> finish(const char* what, const Decoded& decoded) const {
        return ended() ? Result<Decoded>{decoded} : not_a(what, key_);
    }

private:
    std::string_view key_;
    std::string_view rest_;
    bool ok_ = true;
};

// The key of a block or a summary.
template <class Key>
std::string series_key(const Key& key, PartitionTable table) {
    return inside(key.partition, table)
        .session(key.target, key.session)
        .series(key.series)
        .integer(key.first_seq.value)
        .take();
}

template <class Key>
Result<Key> decode_series_key(std::string_view key, PartitionTable table, const char* what) {
    Key decoded;
    KeyReader reader{key};
    reader.inside(decoded.partition, table).session(decoded).series(decoded.series).integer(decoded.first_seq.value);
    return reader.finish(what, decoded);
}

std::string hex(std::uint64_t value) {
    std::array<char, 17> text{};
    (void)std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
    return text.data();
}

std::string words(const Partition& partition) {
    return "partition " + std::to_string(partition.bucket.value) + "/" + std::to_string(partition.retention_class) +
           "/" + std::to_string(partition.shard);
}

std::string words(const SessionName& name) {
    return "target " + hex(name.target.value) + ", session " + hex(name.session.high) + hex(name.session.low);
}

std::string words(Series series) {
    return "series " + std::string{kind_name(series.kind)} + "/" + std::to_string(series.event.value);
}

std::string words(const BatchKey& key) {
    return words(SessionName{key.target, key.session}) + ", seq " + std::to_string(key.seq.value);
}

// Of the key of a block or a summary.
template <class Key>
std::string words_of_series(const Key& key) {
    return words(SessionName{key.target, key.session}) + ", " + words(key.series) + ", first seq " +
           std::to_string(key.first_seq.value) + ", in " + words(key.partition);
}

// Describes the beginning of a table.
std::string beginning_of(std::string_view key) {
    constexpr std::array<std::string_view, 11> kTables{
        "everything",         "the partitions",      "the sessions",
        "the sessions' ends", "the watermarks",      "the sessions' partitions",
        "the expired rows",   "the expired batches", "the dropped partitions",
        "the images",         "the sessions' notes"};
    const std::size_t table = key.empty() ? 0 : static_cast<unsigned char>(key[0]);
    return table < kTables.size() ? "the beginning of " + std::string{kTables[table]} : "the end of everything";
}

}  // namespace

std::string format_key() { return KeyWriter{Table::kFormat}.raw(kFormatName).take(); }

std::string key_in_shard(std::string_view key, std::uint16_t shard) {
    constexpr std::size_t kAt = sizeof(Table) + sizeof(Partition::bucket) + sizeof(Partition::retention_class);
    std::string there{key};
    there.at(kAt) = static_cast<char>(shard >> 8U);
    there.at(kAt + 1) = static_cast<char>(shard & 0xffU);
    return there;
}

std::string shards_key() { return KeyWriter{Table::kFormat}.raw(kShardsName).take(); }

KeyRange everything() { return {std::string{}, std::string(64, '\xff')}; }

std::string partition_session_key(const Partition& partition, TargetId target, SessionId session) {
    return inside(partition, PartitionTable::kSession).session(target, session).take();
}

std::string partition_batch_key(const Partition& partition, const BatchKey& key) {
    return inside(partition, PartitionTable::kBatch).session(key.target, key.session).integer(key.seq.value).take();
}

std::string block_key(const BlockKey& key) { return series_key(key, PartitionTable::kBlock); }

std::string summary_key(const SummaryKey& key) { return series_key(key, PartitionTable::kSummary); }

std::string dictionary_key(const Partition& partition) { return inside(partition, PartitionTable::kDictionary).take(); }

std::string stack_map_key(const StackMapKey& key) {
    return inside(key.partition, PartitionTable::kStackMap)
        .session(key.target, key.session)
        .integer(key.epoch.value)
        .take();
}

KeyRange partition_range(const Partition& partition) {
    return KeyWriter{Table::kPartition}.partition(partition).range();
}

KeyRange all_partitions_range() { return KeyWriter{Table::kPartition}.range(); }

KeyRange partition_sessions_range(const Partition& partition) {
    return inside(partition, PartitionTable::kSession).range();
}

KeyRange partition_batches_range(const Partition& partition) {
    return inside(partition, PartitionTable::kBatch).range();
}

KeyRange session_batches_range(const Partition& partition, TargetId target, SessionId session, Seq first) {
    return inside(partition, PartitionTable::kBatch).session(target, session).range_from(first);
}

KeyRange session_blocks_range(const Partition& partition, TargetId target, SessionId session) {
    return inside(partition, PartitionTable::kBlock).session(target, session).range();
}

KeyRange series_blocks_range(const Partition& partition, TargetId target, SessionId session, Series series, Seq first) {
    return inside(partition, PartitionTable::kBlock).session(target, session).series(series).range_from(first);
}

KeyRange series_summaries_range(const Partition& partition, TargetId target, SessionId session, Series series) {
    return inside(partition, PartitionTable::kSummary).session(target, session).series(series).range();
}

std::vector<KeyRange> session_summary_ranges(const Partition& partition, const SessionName& session) {
    std::vector<KeyRange> ranges;
    for (const PartitionTable table : {PartitionTable::kSummary, PartitionTable::kStackMap}) {
        ranges.push_back(inside(partition, table).session(session.target, session.session).range());
    }
    return ranges;
}

std::vector<KeyRange> session_ranges(const Partition& partition, const SessionName& session) {
    std::vector<KeyRange> ranges = session_summary_ranges(partition, session);
    ranges.push_back(session_batches_range(partition, session.target, session.session));
    ranges.push_back(session_blocks_range(partition, session.target, session.session));
    return ranges;
}

KeyRange stack_maps_range(const Partition& partition) { return inside(partition, PartitionTable::kStackMap).range(); }

std::string compacted_key(const Partition& partition) { return inside(partition, PartitionTable::kCompacted).take(); }

std::string session_key(Table table, TargetId target, SessionId session) {
    PERFLEET_ASSERT(is_by_session(table));
    return outside(table, target, session).take();
}

std::string session_partition_key(TargetId target, SessionId session, const Partition& partition) {
    return outside(Table::kSessionPartition, target, session).partition(partition).take();
}

std::string expired_key(TargetId target, SessionId session, Series series, const Partition& partition) {
    return outside(Table::kExpired, target, session).series(series).partition(partition).take();
}

std::string expired_batch_key(const BatchKey& key) {
    return outside(Table::kExpiredBatch, key.target, key.session).integer(key.seq.value).take();
}

std::string dropped_key(const Partition& partition) { return KeyWriter{Table::kDropped}.partition(partition).take(); }

std::string image_key(std::string_view build_id) { return KeyWriter{Table::kImage}.raw(build_id).take(); }

KeyRange all_sessions_range() { return KeyWriter{Table::kSession}.range(); }

KeyRange all_images_range() { return KeyWriter{Table::kImage}.range(); }

KeyRange all_session_notes_range() { return KeyWriter{Table::kSessionNote}.range(); }

KeyRange dropped_range() { return KeyWriter{Table::kDropped}.range(); }

KeyRange dropped_bucket_range(BucketNumber bucket) { return KeyWriter{Table::kDropped}.integer(bucket.value).range(); }

KeyRange all_session_partitions_range() { return KeyWriter{Table::kSessionPartition}.range(); }

KeyRange session_bucket_range(TargetId target, SessionId session, BucketNumber bucket) {
    return outside(Table::kSessionPartition, target, session).integer(bucket.value).range();
}

KeyRange session_buckets_range(TargetId target, SessionId session, BucketNumber first, BucketNumber last) {
    return {session_bucket_range(target, session, first).begin, session_bucket_range(target, session, last).end};
}

KeyRange session_expired_range(TargetId target, SessionId session) {
    return outside(Table::kExpired, target, session).range();
}

KeyRange session_expired_batches_range(TargetId target, SessionId session, Seq first) {
    return outside(Table::kExpiredBatch, target, session).range_from(first);
}

Result<Partition> decode_partition(std::string_view key) {
    Partition partition;
    KeyReader reader{key};
    std::uint8_t table = 0;
    reader.integer(table).partition(partition);
    const bool is_dropped = table == static_cast<std::uint8_t>(Table::kDropped) && reader.ended();
    const bool is_inside = table == static_cast<std::uint8_t>(Table::kPartition) && reader.ok();
    if (!is_dropped && !is_inside) {
        return not_a("a partition", key);
    }
    return partition;
}

Result<PartitionSession> decode_partition_session_key(std::string_view key) {
    PartitionSession decoded;
    KeyReader reader{key};
    reader.inside(decoded.partition, PartitionTable::kSession).session(decoded.name);
    return reader.finish("a session in a partition", decoded);
}

Result<PartitionBatch> decode_partition_batch_key(std::string_view key) {
    PartitionBatch decoded;
    KeyReader reader{key};
    reader.inside(decoded.partition, PartitionTable::kBatch).session(decoded.key).integer(decoded.key.seq.value);
    return reader.finish("a batch", decoded);
}

Result<BlockKey> decode_block_key(std::string_view key) {
    return decode_series_key<BlockKey>(key, PartitionTable::kBlock, "a block");
}

Result<SummaryKey> decode_summary_key(std::string_view key) {
    return decode_series_key<SummaryKey>(key, PartitionTable::kSummary, "a summary");
}

Result<StackMapKey> decode_stack_map_key(std::string_view key) {
    StackMapKey decoded;
    KeyReader reader{key};
    reader.inside(decoded.partition, PartitionTable::kStackMap).session(decoded).integer(decoded.epoch.value);
    return reader.finish("a map of stacks", decoded);
}

Result<SessionName> decode_session_key(std::string_view key) {
    SessionName decoded;
    KeyReader reader{key};
    std::uint8_t table = 0;
    reader.integer(table).session(decoded);
    return is_by_session(static_cast<Table>(table)) ? reader.finish("a session", decoded) : not_a("a session", key);
}

Result<PartitionSession> decode_session_partition_key(std::string_view key) {
    PartitionSession decoded;
    KeyReader reader{key};
    reader.expect(Table::kSessionPartition).session(decoded.name).partition(decoded.partition);
    return reader.finish("a partition of a session", decoded);
}

Result<ExpiredName> decode_expired_key(std::string_view key) {
    SessionName name;
    ExpiredName decoded;
    KeyReader reader{key};
    reader.expect(Table::kExpired).session(name).series(decoded.series).partition(decoded.partition);
    return reader.finish("expired rows", decoded);
}

Result<BatchKey> decode_expired_batch_key(std::string_view key) {
    BatchKey decoded;
    KeyReader reader{key};
    reader.expect(Table::kExpiredBatch).session(decoded).integer(decoded.seq.value);
    return reader.finish("an expired batch", decoded);
}

std::string describe_key(std::string_view key) {
    if (key.size() <= 1) {  // the bound of a range
        return beginning_of(key);
    }
    if (const auto block = decode_block_key(key); block.ok()) {
        return "block of " + words_of_series(*block);
    }
    if (const auto summary = decode_summary_key(key); summary.ok()) {
        return "summary of " + words_of_series(*summary);
    }
    if (const auto batch = decode_partition_batch_key(key); batch.ok()) {
        return "batch of " + words(batch->key) + ", in " + words(batch->partition);
    }
    if (const auto session = decode_partition_session_key(key); session.ok()) {
        return "record of " + words(session->name) + ", in " + words(session->partition);
    }
    if (const auto name = decode_session_key(key); name.ok()) {
        switch (static_cast<Table>(key[0])) {
            case Table::kSessionEnd: return "end of " + words(*name);
            case Table::kWatermark: return "watermark of " + words(*name);
            case Table::kSessionNote: return "note of " + words(*name);
            default: return "record of " + words(*name);
        }
    }
    if (const auto session = decode_session_partition_key(key); session.ok()) {
        return words(session->partition) + " of " + words(session->name);
    }
    if (const auto batch = decode_expired_batch_key(key); batch.ok()) {
        return "expired batch of " + words(*batch);
    }
    if (const auto expired = decode_expired_key(key); expired.ok()) {
        return "expired rows of " + words(expired->series) + ", key " + hex_of(key);
    }
    if (const auto map = decode_stack_map_key(key); map.ok()) {
        return "map of stacks of " + words(SessionName{map->target, map->session}) + ", epoch " +
               std::to_string(map->epoch.value) + ", in " + words(map->partition);
    }
    if (const auto partition = decode_partition(key); partition.ok()) {
        return key == compacted_key(*partition)    ? "mark of compacted " + words(*partition)
               : key == dictionary_key(*partition) ? "dictionary of " + words(*partition)
                                                   : words(*partition) + ", key " + hex_of(key);
    }
    if (key[0] == static_cast<char>(Table::kImage)) {
        return "image " + hex_of(key.substr(1));
    }
    if (key == format_key()) {
        return "format version";
    }
    if (key == shards_key()) {
        return "number of shards";
    }
    return "key " + hex_of(key);
}

}  // namespace perfleet
