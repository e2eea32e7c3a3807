#include "storage/store/keyed_reads.h"

#include <algorithm>
#include <map>

#include "storage/key/key.h"
#include "storage/store/record.h"

namespace perfleet {
namespace {

Error at_key(std::string_view key, const Error& error) {
    return Error{error.code, describe_key(key) + ": " + error.message};
}

// A visitor that may fail: remembers the first error and stops.
class Failure {
public:
    Visit stop(std::string_view key, const Error& error) {
        error_ = at_key(key, error);
        return Visit::kStop;
    }

    [[nodiscard]] Result<Done> after(Result<Done> visited) {
        if (error_) {
            return *error_;
        }
        return visited;
    }

private:
    std::optional<Error> error_;
};

// The value of a key, decoded.
template <class Value, class Decode>
Result<std::optional<Value>> get_decoded(const Engine& engine, const std::string& key, Decode decode) {
    auto bytes = engine.get(key);
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

}  // namespace

Result<Done> check_format(const Engine& engine, const std::string& where) {
    auto version = get_decoded<std::uint64_t>(engine, format_key(), decode_number_untrusted);
    if (!version.ok()) {
        return Error{version.error().code, where + ": " + version.error().message};
    }
    if (!version->has_value()) {
        return Error{ErrorCode::kNotFound, where + " holds no perfleet store"};
    }
    if (**version > kStoreFormatVersion) {
        return Error{ErrorCode::kUnsupported, where + " has store format " + std::to_string(**version) +
                                                  ", this build knows up to " + std::to_string(kStoreFormatVersion) +
                                                  "; use a newer perfleet"};
    }
    return Done{};
}

// What an unfinished drop left is hidden, for its rows are counted as expired already.
Result<std::vector<Partition>> KeyedReads::partitions() const {
    auto found = partitions_with_keys();
    if (!found.ok()) {
        return found;
    }
    auto dropped = dropped_partitions();
    if (!dropped.ok()) {
        return dropped;
    }
    std::erase_if(*found, [&](const Partition& partition) {
        return std::binary_search(dropped->begin(), dropped->end(), partition);
    });
    return found;
}

Result<std::vector<Partition>> KeyedReads::dropped_leftovers() const {
    auto found = partitions_with_keys();
    if (!found.ok()) {
        return found;
    }
    auto dropped = dropped_partitions();
    if (!dropped.ok()) {
        return dropped;
    }
    std::erase_if(*found, [&](const Partition& partition) {
        return !std::binary_search(dropped->begin(), dropped->end(), partition);
    });
    return found;
}

Result<std::vector<Partition>> KeyedReads::dropped_partitions() const {
    std::vector<Partition> dropped;
    Failure failure;
    auto visited = failure.after(engine_->visit(dropped_range(), [&](std::string_view key, std::string_view) {
        auto partition = decode_partition(key);
        if (!partition.ok()) {
            return failure.stop(key, partition.error());
        }
        dropped.push_back(*partition);
        return Visit::kContinue;
    }));
    if (!visited.ok()) {
        return visited.error();
    }
    return dropped;
}

Result<std::vector<Partition>> KeyedReads::partitions_with_keys() const {
    std::vector<Partition> found;
    KeyRange range = all_partitions_range();
    for (;;) {
        const std::size_t count = found.size();
        Failure failure;
        auto visited = failure.after(engine_->visit(range, [&](std::string_view key, std::string_view) {
            auto partition = decode_partition(key);
            if (!partition.ok()) {
                return failure.stop(key, partition.error());
            }
            found.push_back(*partition);
            return Visit::kStop;
        }));
        if (!visited.ok()) {
            return visited.error();
        }
        if (found.size() == count) {
            return found;
        }
        range.begin = partition_range(found.back()).end;
    }
}

Result<std::vector<SessionRecord>> KeyedReads::session_records(const KeyRange& range) const {
    std::vector<SessionRecord> records;
    Failure failure;
    auto visited = failure.after(engine_->visit(range, [&](std::string_view key, std::string_view value) {
        auto record = decode_session_untrusted(value);
        if (!record.ok()) {
            return failure.stop(key, record.error());
        }
        records.push_back(std::move(*record));
        return Visit::kContinue;
    }));
    if (!visited.ok()) {
        return visited.error();
    }
    return records;
}

Result<std::vector<SessionRecord>> KeyedReads::sessions(const Partition& partition) const {
    return session_records(partition_sessions_range(partition));
}

Result<std::vector<SessionRecord>> KeyedReads::all_sessions() const { return session_records(all_sessions_range()); }

Result<std::optional<SessionEnd>> KeyedReads::session_end(TargetId target, SessionId session) const {
    return get_decoded<SessionEnd>(*engine_, session_key(Table::kSessionEnd, target, session),
                                   decode_session_end_untrusted);
}

Result<Done> KeyedReads::visit_batches(const Partition& partition, TargetId target, SessionId session, Seq first,
                                       const std::function<Visit(const BatchRecord&)>& visitor) const {
    const KeyRange range = session_batches_range(partition, target, session, first);
    Failure failure;
    return failure.after(engine_->visit(range, [&](std::string_view key, std::string_view value) {
        auto name = decode_partition_batch_key(key);
        if (!name.ok()) {
            return failure.stop(key, name.error());
        }
        auto record = decode_batch_untrusted(value, name->key.seq, partition.bucket);
        return record.ok() ? visitor(*record) : failure.stop(key, record.error());
    }));
}

Result<Done> KeyedReads::visit_blocks(
    const Partition& partition, TargetId target, SessionId session, Series series,
    const std::function<Visit(const BlockKey&, std::string_view block)>& visitor) const {
    const KeyRange range = series_blocks_range(partition, target, session, series);
    Failure failure;
    return failure.after(engine_->visit(range, [&](std::string_view key, std::string_view value) {
        auto name = decode_block_key(key);
        return name.ok() ? visitor(*name, value) : failure.stop(key, name.error());
    }));
}

Result<std::vector<std::pair<Series, std::uint64_t>>> KeyedReads::expired(TargetId target, SessionId session) const {
    std::map<Series, std::uint64_t> rows;
    Failure failure;
    auto visited = failure.after(
        engine_->visit(session_expired_range(target, session), [&](std::string_view key, std::string_view value) {
            auto series = decode_expired_key_series(key);
            auto row_count = decode_number_untrusted(value);
            if (!series.ok() || !row_count.ok()) {
                return failure.stop(key, series.ok() ? row_count.error() : series.error());
            }
            rows[*series] += *row_count;
            return Visit::kContinue;
        }));
    if (!visited.ok()) {
        return visited.error();
    }
    visited = failure.after(engine_->visit(session_expired_batches_range(target, session),
                                           [&](std::string_view key, std::string_view value) {
                                               auto batch = decode_expired_batch_untrusted(value);
                                               if (!batch.ok()) {
                                                   return failure.stop(key, batch.error());
                                               }
                                               for (const auto& [series, row_count] : batch->rows) {
                                                   rows[series] += row_count;
                                               }
                                               return Visit::kContinue;
                                           }));
    if (!visited.ok()) {
        return visited.error();
    }
    return std::vector<std::pair<Series, std::uint64_t>>(rows.begin(), rows.end());
}

Result<Seq> KeyedReads::watermark(TargetId target, SessionId session) const {
    auto number =
        get_decoded<std::uint64_t>(*engine_, session_key(Table::kWatermark, target, session), decode_number_untrusted);
    if (!number.ok()) {
        return number.error();
    }
    return Seq{number->value_or(0)};
}

Result<std::optional<ImageContent>> KeyedReads::image(std::string_view build_id) const {
    return get_decoded<ImageContent>(*engine_, image_key(build_id), decode_image_untrusted);
}

Result<bool> KeyedReads::is_dropped(const Partition& partition) const {
    auto found = engine_->get(dropped_key(partition));
    if (!found.ok()) {
        return found.error();
    }
    return found->has_value();
}

Result<std::optional<SessionRecord>> KeyedReads::session(TargetId target, SessionId session) const {
    return get_decoded<SessionRecord>(*engine_, session_key(Table::kSession, target, session),
                                      decode_session_untrusted);
}

Result<std::vector<Partition>> KeyedReads::session_partitions(TargetId target, SessionId session) const {
    std::vector<Partition> partitions;
    Failure failure;
    auto visited = failure.after(
        engine_->visit(session_partitions_range(target, session), [&](std::string_view key, std::string_view) {
            auto name = decode_session_partition_key(key);
            if (!name.ok()) {
                return failure.stop(key, name.error());
            }
            partitions.push_back(name->partition);
            return Visit::kContinue;
        }));
    if (!visited.ok()) {
        return visited.error();
    }
    return partitions;
}

Result<std::optional<BatchRecord>> KeyedReads::batch(const Partition& partition, const BatchKey& key) const {
    return get_decoded<BatchRecord>(*engine_, partition_batch_key(partition, key), [&](std::string_view bytes) {
        return decode_batch_untrusted(bytes, key.seq, partition.bucket);
    });
}

Result<std::optional<std::uint32_t>> KeyedReads::expired_batch_seal(const BatchKey& key) const {
    auto batch = get_decoded<ExpiredBatch>(*engine_, expired_batch_key(key), decode_expired_batch_untrusted);
    if (!batch.ok()) {
        return batch.error();
    }
    return batch->has_value() ? std::optional{(*batch)->seal} : std::nullopt;
}

Result<std::vector<std::pair<Seq, std::uint32_t>>> KeyedReads::expired_batch_seals(TargetId target, SessionId session,
                                                                                   Seq first) const {
    std::vector<std::pair<Seq, std::uint32_t>> seals;
    Failure failure;
    auto visited = failure.after(engine_->visit(
        session_expired_batches_range(target, session, first), [&](std::string_view key, std::string_view value) {
            auto name = decode_expired_batch_key(key);
            auto batch = decode_expired_batch_untrusted(value);
            if (!name.ok() || !batch.ok()) {
                return failure.stop(key, name.ok() ? batch.error() : name.error());
            }
            seals.emplace_back(name->seq, batch->seal);
            return Visit::kContinue;
        }));
    if (!visited.ok()) {
        return visited.error();
    }
    return seals;
}

Result<Done> KeyedReads::visit_partition_batches(
    const Partition& partition, const std::function<void(const BatchKey&, const BatchRecord&)>& visitor) const {
    Failure failure;
    return failure.after(
        engine_->visit(partition_batches_range(partition), [&](std::string_view key, std::string_view value) {
            auto name = decode_partition_batch_key(key);
            if (!name.ok()) {
                return failure.stop(key, name.error());
            }
            auto record = decode_batch_untrusted(value, name->key.seq, partition.bucket);
            if (!record.ok()) {
                return failure.stop(key, record.error());
            }
            visitor(name->key, *record);
            return Visit::kContinue;
        }));
}

}  // namespace perfleet
