#include "storage/read/keyed_reads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "storage/key/key.h"
#include "storage/model/record.h"
#include "storage/read/repeated_rows.h"

namespace perfleet {
namespace {

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

// Bytes that were found under a key, decoded.
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

}  // namespace

// What an unfinished drop left is hidden, for its rows are counted as expired already.
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
    auto visited = visit_noting(dropped_range(), [&](std::string_view key, std::string_view) -> Result<Visit> {
        auto partition = PERFLEET_TRY(decode_partition(key));
        dropped.push_back(partition);
        return Visit::kContinue;
    });
    if (!visited.ok()) {
        return visited.error();
    }
    return dropped;
}

// One that can't be read at all is known from the sessions that were defined in it.
Result<std::vector<Partition>> KeyedReads::partitions_with_keys() const {
    std::set<Partition> found;
    bool is_damaged = false;
    KeyRange range = all_partitions_range();
    while (range.begin < range.end) {
        std::optional<std::string> key_found;
        auto visited = visit_readable(
            *engine_, range,
            [&](std::string_view key, std::string_view) {
                key_found = key;
                return Visit::kStop;
            },
            [&](const DamagedRange& damaged) {
                is_damaged = true;
                notes_->add(engine_->damage_in(damaged.error));
            });
        if (!visited.ok()) {
            return visited.error();
        }
        if (!key_found) {
            break;
        }
        if (auto partition = decode_partition(*key_found); partition.ok()) {
            found.insert(*partition);
            range.begin = partition_range(*partition).end;
        } else {
            notes_->add(at_key(*key_found, partition.error()).message);
            range.begin = *key_found + '\0';
        }
    }
    if (is_damaged) {
        auto visited = visit_readable(
            *engine_, all_session_partitions_range(),
            [&](std::string_view key, std::string_view) {
                if (auto name = decode_session_partition_key(key); name.ok()) {
                    found.insert(name->partition);
                }
                return Visit::kContinue;
            },
            [&](const DamagedRange& damaged) { notes_->add(engine_->damage_in(damaged.error)); });
        if (!visited.ok()) {
            return visited.error();
        }
    }
    return std::vector<Partition>{found.begin(), found.end()};
}

Result<std::optional<SessionEnd>> KeyedReads::session_end(TargetId target, SessionId session) const {
    const std::string key = session_key(Table::kSessionEnd, target, session);
    return decoded<SessionEnd>(key, get_noting(key), decode_session_end_untrusted);
}

Result<std::map<SessionName, SessionNote>> KeyedReads::session_notes() const {
    std::map<SessionName, SessionNote> notes;
    auto visited =
        visit_noting(all_session_notes_range(), [&](std::string_view key, std::string_view value) -> Result<Visit> {
            auto name = decode_session_key(key);
            auto note = decode_session_note_untrusted(value);
            if (!name.ok() || !note.ok()) {
                return name.ok() ? note.error() : name.error();
            }
            notes.emplace(*name, std::move(*note));
            return Visit::kContinue;
        });
    if (!visited.ok()) {
        return visited.error();
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
            auto visited = visit_readable(
                *engine_, range,
                [&](std::string_view key, std::string_view value) {
                    sum += key.size() + value.size();
                    return Visit::kContinue;
                },
                [](const DamagedRange&) {});
            if (!visited.ok()) {
                return visited.error();
            }
        }
    }
    return sum;
}

// One that comes twice, alone and in a value of several, is told once.
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
    struct State {
        ReadableCursor at;
        RepeatedBlocks repeated;
    };
    const KeyRange range = series_blocks_range(partition, target, session, series);
    const auto state = std::make_shared<State>(State{ReadableCursor{*engine_, range}, RepeatedBlocks{*engine_}});
    return BlockCursor{[state]() -> Result<BlockStep> {
        ReadableCursor& at = state->at;
        for (;;) {
            const auto step = PERFLEET_TRY(at.next());
            if (step != CursorStep::kItem) {
                return BlockStep{step, {}, {}, step == CursorStep::kGap ? at.gap().error : Error{}};
            }
            const auto key = decode_block_key(at.key());
            const auto is_repeated = key.ok() ? state->repeated.take(*key, at.value()) : Result<bool>{key.error()};
            if (!is_repeated.ok()) {
                return BlockStep{CursorStep::kGap, {}, {}, at_key(at.key(), is_repeated.error())};
            }
            if (!*is_repeated) {
                return BlockStep{CursorStep::kItem, *key, at.value(), {}};
            }
        }
    }};
}

// What is lost of them is lost of what they sum, too, or read from there.
Result<Done> KeyedReads::visit_rollups(
    const Partition& partition, TargetId target, SessionId session, Series series, RollupKind kind,
    const std::function<Visit(const RollupKey&, std::string_view rollup)>& visitor) const {
    return visit_decodable(
        series_rollups_range(partition, target, session, series, kind),
        [&](std::string_view key, std::string_view value) -> Result<Visit> {
            auto name = PERFLEET_TRY(decode_rollup_key(key));
            return visitor(name, value);
        },
        Lost::kUnreported);
}

// Everything that can be read; then the first of what can't be is the error.
Result<Done> KeyedReads::visit_decodable(
    const KeyRange& range, const std::function<Result<Visit>(std::string_view key, std::string_view value)>& visitor,
    Lost lost) const {
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
        [&](const DamagedRange& damaged) {
            if (!damaged.is_file_lost || lost == Lost::kReported) {
                first_error = first_error ? first_error : damaged.error;
            }
        });
    if (visited.ok() && first_error && !is_stopped) {
        return *first_error;
    }
    return visited;
}

// What a writer does without: it is noted.
Result<Done> KeyedReads::visit_noting(
    const KeyRange& range,
    const std::function<Result<Visit>(std::string_view key, std::string_view value)>& visitor) const {
    return visit_readable(
        *engine_, range,
        [&](std::string_view key, std::string_view value) {
            auto visit = visitor(key, value);
            if (!visit.ok()) {
                notes_->add(at_key(key, visit.error()).message);
            }
            return visit.ok() ? *visit : Visit::kContinue;
        },
        [&](const DamagedRange& damaged) { notes_->add(engine_->damage_in(damaged.error)); });
}

Result<std::optional<std::string>> KeyedReads::get_noting(const std::string& key) const {
    return get_readable(*engine_, key,
                        [&](const DamagedRange& damaged) { notes_->add(engine_->damage_in(damaged.error)); });
}

Result<std::vector<std::pair<Series, std::uint64_t>>> KeyedReads::expired(TargetId target, SessionId session) const {
    std::map<Series, std::uint64_t> rows;
    Failure failure;
    auto visited = failure.after(
        engine_->visit(session_expired_range(target, session), [&](std::string_view key, std::string_view value) {
            auto name = decode_expired_key(key);
            auto row_count = decode_number_untrusted(value);
            if (!name.ok() || !row_count.ok()) {
                return failure.stop(key, name.ok() ? row_count.error() : name.error());
            }
            rows[name->series] += *row_count;
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

Result<std::optional<BucketNumber>> KeyedReads::last_expired_bucket(TargetId target, SessionId session) const {
    std::optional<BucketNumber> last;
    Failure failure;
    auto visited = failure.after(
        engine_->visit(session_expired_range(target, session), [&](std::string_view key, std::string_view) {
            auto name = decode_expired_key(key);
            if (!name.ok()) {
                return failure.stop(key, name.error());
            }
            last = std::max(last, std::optional{name->partition.bucket});
            return Visit::kContinue;
        }));
    if (!visited.ok()) {
        return visited.error();
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
    auto visited = visit_noting(session_buckets_range(target, session, first, last),
                                [&](std::string_view key, std::string_view) -> Result<Visit> {
                                    auto name = PERFLEET_TRY(decode_session_partition_key(key));
                                    partitions.push_back(name.partition);
                                    return Visit::kContinue;
                                });
    if (!visited.ok()) {
        return visited.error();
    }
    return partitions;
}

Result<bool> KeyedReads::is_any_dropped(BucketNumber bucket) const {
    bool is_any = false;
    auto visited = visit_noting(dropped_bucket_range(bucket), [&](std::string_view, std::string_view) -> Result<Visit> {
        is_any = true;
        return Visit::kStop;
    });
    return visited.ok() ? Result<bool>{is_any} : visited.error();
}

// Of a dropped partition the session's expired rows tell it. They are many in the end, so they are looked through only
// where something of that bucket was dropped.
Result<std::optional<std::uint8_t>> KeyedReads::retention_class(TargetId target, SessionId session,
                                                                BucketNumber bucket) const {
    std::optional<std::uint8_t> found;
    auto visited = visit_noting(session_bucket_range(target, session, bucket),
                                [&](std::string_view key, std::string_view) -> Result<Visit> {
                                    auto name = PERFLEET_TRY(decode_session_partition_key(key));
                                    found = name.partition.retention_class;
                                    return Visit::kStop;
                                });
    if (!visited.ok() || found) {
        return visited.ok() ? Result<std::optional<std::uint8_t>>{found} : visited.error();
    }
    auto dropped = is_any_dropped(bucket);
    if (!dropped.ok() || !*dropped) {
        return dropped.ok() ? Result<std::optional<std::uint8_t>>{found} : dropped.error();
    }
    visited = visit_noting(session_expired_range(target, session),
                           [&](std::string_view key, std::string_view) -> Result<Visit> {
                               auto name = PERFLEET_TRY(decode_expired_key(key));
                               if (name.partition.bucket != bucket) {
                                   return Visit::kContinue;
                               }
                               found = name.partition.retention_class;
                               return Visit::kStop;
                           });
    return visited.ok() ? Result<std::optional<std::uint8_t>>{found} : visited.error();
}

// A record of its own stands under its seq; one of a list in the first value behind it.
Result<std::optional<BatchRecord>> KeyedReads::batch(const Partition& partition, const BatchKey& key) const {
    const KeyRange range = session_batches_range(partition, key.target, key.session, key.seq);
    std::optional<BatchRecord> found;
    Failure failure;
    auto visited = failure.after(engine_->visit(range, [&](std::string_view at, std::string_view value) {
        if (at != range.begin && !is_batch_list_untrusted(value)) {
            return Visit::kStop;
        }
        auto name = decode_partition_batch_key(at);
        if (!name.ok()) {
            return failure.stop(at, name.error());
        }
        auto records = decode_batches_untrusted(value, name->key.seq, partition.bucket);
        if (!records.ok()) {
            return failure.stop(at, records.error());
        }
        const auto place = std::lower_bound(records->begin(), records->end(), key.seq,
                                            [](const BatchRecord& record, Seq seq) { return record.seq < seq; });
        if (place != records->end() && place->seq == key.seq) {
            found = std::move(*place);
        }
        return Visit::kStop;
    }));
    if (!visited.ok()) {
        return visited.error();
    }
    return found;
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
    std::vector<std::pair<Seq, std::uint32_t>> seals;
    auto visited = visit_noting(session_expired_batches_range(target, session, first),
                                [&](std::string_view key, std::string_view value) -> Result<Visit> {
                                    auto name = decode_expired_batch_key(key);
                                    auto batch = decode_expired_batch_untrusted(value);
                                    if (!name.ok() || !batch.ok()) {
                                        return name.ok() ? batch.error() : name.error();
                                    }
                                    seals.emplace_back(name->seq, batch->seal);
                                    return Visit::kContinue;
                                });
    if (!visited.ok()) {
        return visited.error();
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
