#include "storage/copy/session_part.h"

#include <array>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "schemas/columns/crc32c.h"
#include "storage/block/block_compactor.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/owned_changes.h"
#include "storage/model/record.h"
#include "storage/read/repeated_rows.h"

namespace perfleet {
namespace {

// Size of one write.
constexpr std::size_t kPieceSizeBytesMax = 8U << 20;

KeyRange records_of(const SessionPart& part) {
    return session_batches_range(part.partition, part.session.target, part.session.session);
}

KeyRange blocks_of(const SessionPart& part) {
    return session_blocks_range(part.partition, part.session.target, part.session.session);
}

std::uint32_t add_to_checksum(std::uint32_t checksum, std::string_view bytes) {
    return crc32c(checksum, std::as_bytes(std::span{bytes}));
}

// Gathers changes and writes them whenever kPieceSizeBytesMax is reached.
class Pieces {
public:
    Pieces(Engine& to, const Partition& partition) : to_{to}, domain_{domain_of(partition)} {}

    [[nodiscard]] Result<Done> put(std::string_view key, std::string_view value) {
        size_bytes_ += key.size() + value.size();
        changes_.put(std::string{key}, std::string{value});
        return size_bytes_ < kPieceSizeBytesMax ? Result<Done>{Done{}} : write();
    }
    // Deletes the key with the next write(), so not before earlier puts.
    void erase(std::string key) { changes_.changes.deletes.push_back(std::move(key)); }

    [[nodiscard]] Result<Done> write() {
        size_bytes_ = 0;
        const OwnedChanges changes = std::exchange(changes_, {});
        return changes.changes.empty() ? Result<Done>{Done{}} : to_.write(domain_, 0, changes.changes);
    }

private:
    Engine& to_;
    Domain domain_;
    OwnedChanges changes_;
    std::size_t size_bytes_ = 0;
};

using SeriesSeq = std::pair<Series, Seq>;

// Adds the batches whose rows the block holds; none if it can't be read.
void add_present(std::string_view key, std::string_view value, std::set<SeriesSeq>& present) {
    const auto name = decode_block_key(key);
    const auto block = parse_block_untrusted(value);
    if (!name.ok() || !block.ok()) {
        return;
    }
    if (block->parts.empty()) {
        present.emplace(name->series, name->first_seq);
    }
    for (const BlockPart& part : block->parts) {
        present.emplace(name->series, part.seq);
    }
}

// A batch that lost rows no longer fits its seal, so its other blocks are stored in compacted form, which isn't sealed.
Result<Done> unseal(const Engine& to, const SessionPart& part, const BatchRecord& record, OwnedChanges& changes) {
    for (const BatchRecord::Rows& rows : record.rows) {
        const std::string key =
            block_key({part.partition, part.session.target, part.session.session, rows.series, record.seq});
        const auto bytes = PERFLEET_TRY(to.get(key));
        const auto block = bytes.has_value() ? parse_block_untrusted(*bytes) : Result<BlockView>{BlockView{}};
        if (bytes.has_value() && block.ok() && block->parts.empty()) {
            const BlockPart all{record.seq, block->header.row_count};
            changes.put(key, encode_compacted_block(block->header, block->columns, std::span{&all, 1}));
        }
    }
    return Done{};
}

// Removes rows that aren't present from the records of one value. Returns true if there were any.
bool take_out_lost(std::vector<BatchRecord>& batches, const std::set<SeriesSeq>& present, PartCopy& copy) {
    bool is_changed = false;
    for (BatchRecord& batch : batches) {
        std::erase_if(batch.rows, [&](const BatchRecord::Rows& rows) {
            const bool is_lost = rows.row_count != 0 && !present.contains({rows.series, batch.seq});
            copy.row_count_left_out += is_lost && !is_definition(rows.series.kind) ? rows.row_count : 0;
            is_changed = is_changed || is_lost;
            return is_lost;
        });
    }
    return is_changed;
}

Result<Done> put_record(const Engine& to, const SessionPart& part, std::string_view key, std::string_view value,
                        const std::set<SeriesSeq>& present, OwnedChanges& records, PartCopy& copy) {
    const auto name = decode_partition_batch_key(key);
    auto batches = name.ok() ? decode_batches_untrusted(value, name->key.seq, part.partition.bucket)
                             : Result<std::vector<BatchRecord>>{name.error()};
    if (!batches.ok()) {
        copy.damage = copy.damage.empty() ? at_key(key, batches.error()).message : copy.damage;
        return Done{};
    }
    if (!take_out_lost(*batches, present, copy)) {
        records.put(std::string{key}, std::string{value});
        return Done{};
    }
    for (const BatchRecord& batch : *batches) {
        PERFLEET_TRY(unseal(to, part, batch, records));
    }
    records.put(std::string{key},
                is_batch_list_untrusted(value) ? encode_batch_list(*batches) : encode_record(batches->front()));
    return Done{};
}

Result<std::vector<std::string>> keys_in(const Engine& engine, const KeyRange& range) {
    std::vector<std::string> keys;
    PERFLEET_TRY(visit_readable(engine, range, [&](std::string_view key, std::string_view) {
        keys.emplace_back(key);
        return Visit::kContinue;
    }));
    return keys;
}

// Removes single records of batches that this list holds, too: the list wins.
void drop_repeated(const SessionPart& part, std::string_view key, std::string_view value, OwnedChanges& records) {
    const auto name = decode_partition_batch_key(key);
    if (!name.ok() || !is_batch_list_untrusted(value)) {
        return;
    }
    const auto list = decode_batches_untrusted(value, name->key.seq, part.partition.bucket);
    std::set<std::string, std::less<>> keys;
    for (const BatchRecord& record : list.ok() ? *list : std::vector<BatchRecord>{}) {
        keys.insert(partition_batch_key(part.partition, {part.session.target, part.session.session, record.seq}));
    }
    std::erase_if(records.changes.puts, [&](const Changes::Put& put) { return keys.contains(put.key); });
}

// Copies the part's blocks as blocks of one batch each, without those of the batches in `without`. Skips unreadable
// blocks; `damage` names the first.
Result<Done> put_single_blocks(const Engine& engine, const SessionPart& part, std::uint16_t shard_there,
                               const std::set<Seq>& without, OwnedChanges& changes, std::string& damage) {
    RepeatedBlocks repeated{engine};
    std::optional<Error> failure;
    const auto note = [&](const Error& error) { damage = damage.empty() ? error.message : damage; };
    auto visited = visit_readable(
        engine, blocks_of(part),
        [&](std::string_view key, std::string_view value) {
            const auto name = decode_block_key(key);
            const auto block = parse_block_untrusted(value);
            if (!name.ok() || !block.ok()) {
                note(at_key(key, name.ok() ? block.error() : name.error()));
                return Visit::kContinue;
            }
            const auto is_repeated = repeated.take(*name, value);
            if (!is_repeated.ok()) {
                failure = is_repeated.error();
                return Visit::kStop;
            }
            if (*is_repeated) {
                return Visit::kContinue;
            }
            if (block->parts.empty()) {
                if (!without.contains(name->first_seq)) {
                    changes.put(key_in_shard(key, shard_there), std::string{value});
                }
                return Visit::kContinue;
            }
            auto parts = split_block(*block);
            if (!parts.ok()) {
                note(at_key(key, parts.error()));
                return Visit::kContinue;
            }
            for (auto& [seq, bytes] : *parts) {
                if (!without.contains(seq)) {
                    BlockKey single = *name;
                    single.partition.shard = shard_there;
                    single.first_seq = seq;
                    changes.put(block_key(single), std::move(bytes));
                }
            }
            return Visit::kContinue;
        },
        [&](const DamagedRange& damaged) { note(damaged.error); });
    return failure ? Result<Done>{*failure} : std::move(visited);
}

}  // namespace

std::uint64_t PartBatches::row_count() const {
    std::uint64_t sum = 0;
    for (const auto& [series, count] : rows) {
        sum += is_definition(series.kind) ? 0 : count;
    }
    return sum;
}

Result<PartBatches> read_part(const KeyedReads& reads, const SessionPart& part) {
    PartBatches batches;
    auto visited = reads.visit_batches(part.partition, part.session.target, part.session.session, Seq{0},
                                       [&](const BatchRecord& record) {
                                           batches.seals.emplace(record.seq, record.seal);
                                           for (const BatchRecord::Rows& rows : record.rows) {
                                               batches.rows[rows.series] += rows.row_count;
                                           }
                                           return Visit::kContinue;
                                       });
    if (!visited.ok() && !is_damage(visited.error())) {
        return visited.error();
    }
    batches.damage = visited.ok() ? "" : visited.error().message;
    return batches;
}

PartVerdict judge_part(const PartBatches& from, const PartBatches& to) {
    std::size_t common = 0;
    for (const auto& [seq, seal] : from.seals) {
        const auto found = to.seals.find(seq);
        if (found != to.seals.end() && found->second != seal) {
            return PartVerdict::kConflict;
        }
        common += found == to.seals.end() ? 0 : 1;
    }
    if (common == from.seals.size()) {
        return PartVerdict::kPresent;
    }
    if (common == to.seals.size()) {
        return common == 0 ? PartVerdict::kMissing : PartVerdict::kReplaces;
    }
    const bool is_apart =
        from.seals.rbegin()->first < to.seals.begin()->first || to.seals.rbegin()->first < from.seals.begin()->first;
    return common == 0 && is_apart ? PartVerdict::kMissing : PartVerdict::kInterleaves;
}

Result<PartCopy> copy_part(const Engine& from, Engine& to, const SessionPart& part, const SessionPart& part_there,
                           bool is_alone) {
    PartCopy copy;
    std::optional<Error> failure;
    const std::uint16_t shard_there = part_there.partition.shard;
    Pieces pieces{to, part_there.partition};
    std::set<std::string, std::less<>> stale;
    if (is_alone) {
        auto records = keys_in(to, records_of(part_there));
        auto blocks = keys_in(to, blocks_of(part_there));
        if (!records.ok() || !blocks.ok()) {
            return records.ok() ? blocks.error() : records.error();
        }
        stale.insert(blocks->begin(), blocks->end());
        for (std::string& key : *records) {
            pieces.erase(std::move(key));
        }
        PERFLEET_TRY(pieces.write());
    }
    const auto copy_range = [&](const KeyRange& range, auto&& put) {
        auto visited = visit_readable(
            from, range,
            [&](std::string_view key, std::string_view value) {
                if (const auto found = stale.find(key_in_shard(key, shard_there)); found != stale.end()) {
                    stale.erase(found);
                }
                copy.size_bytes += key.size() + value.size();
                if (auto done = put(key, value); !done.ok()) {
                    failure = done.error();
                    return Visit::kStop;
                }
                return Visit::kContinue;
            },
            [&](const DamagedRange& damaged) {
                copy.damage = copy.damage.empty() ? damaged.error.message : copy.damage;
            });
        return failure ? Result<Done>{*failure} : std::move(visited);
    };
    RepeatedBlocks repeated{from};
    std::set<SeriesSeq> present;
    if (auto copied = copy_range(
            blocks_of(part),
            [&](std::string_view key, std::string_view value) -> Result<Done> {
                if (const auto block = parse_block_untrusted(value); !block.ok()) {
                    copy.damage = copy.damage.empty() ? at_key(key, block.error()).message : copy.damage;
                    return Done{};
                }
                add_present(key, value, present);
                const auto name = decode_block_key(key);
                const auto is_repeated = PERFLEET_TRY(name.ok() ? repeated.take(*name, value) : Result<bool>{false});
                return is_repeated ? Result<Done>{Done{}} : pieces.put(key_in_shard(key, shard_there), value);
            });
        !copied.ok()) {
        return copied.error();
    }
    PERFLEET_TRY(pieces.write());
    OwnedChanges records;
    if (auto copied = copy_range(records_of(part),
                                 [&](std::string_view key, std::string_view value) -> Result<Done> {
                                     const std::string key_there = key_in_shard(key, shard_there);
                                     drop_repeated(part_there, key_there, value, records);
                                     return put_record(to, part_there, key_there, value, present, records, copy);
                                 });
        !copied.ok()) {
        return copied.error();
    }
    records.changes.deletes.assign(stale.begin(), stale.end());
    records.changes.deletes.push_back(compacted_key(part_there.partition));  // so that the partition is compacted again
    PERFLEET_TRY(to.write(domain_of(part_there.partition), 0, records.changes));
    return copy;
}

Result<PartCopy> merge_part(const Engine& from, Engine& to, const SessionPart& part, const SessionPart& part_there) {
    PartCopy copy;
    OwnedChanges changes;
    for (const KeyRange& range : std::array{records_of(part_there), blocks_of(part_there)}) {
        auto keys = PERFLEET_TRY(keys_in(to, range));
        changes.changes.deletes.insert(changes.changes.deletes.end(), keys.begin(), keys.end());
    }
    std::set<Seq> there;
    for (const Engine* engine : {static_cast<const Engine*>(&to), &from}) {
        const SessionPart& its = engine == &to ? part_there : part;
        const KeyedReads reads{*engine};
        std::string damage;
        std::set<Seq> found;
        auto visited = reads.visit_batches(
            its.partition, its.session.target, its.session.session, Seq{0}, [&](const BatchRecord& record) {
                if (!there.contains(record.seq)) {
                    found.insert(record.seq);
                    changes.put(partition_batch_key(part_there.partition,
                                                    {part.session.target, part.session.session, record.seq}),
                                encode_record(record));
                }
                return Visit::kContinue;
            });
        if (!visited.ok() && !is_damage(visited.error())) {
            return visited.error();
        }
        damage = visited.ok() ? "" : visited.error().message;
        PERFLEET_TRY(put_single_blocks(*engine, its, part_there.partition.shard, there, changes, damage));
        if (engine == &to && !damage.empty()) {
            return Error{ErrorCode::kCorrupt, damage};
        }
        copy.damage = damage;
        there.merge(found);
    }
    changes.changes.deletes.push_back(compacted_key(part_there.partition));
    for (const Changes::Put& put : changes.changes.puts) {
        copy.size_bytes += put.key.size() + put.value.size();
    }
    PERFLEET_TRY(to.write(domain_of(part_there.partition), 0, changes.changes));
    return copy;
}

Result<std::uint32_t> checksum_of_part(const Engine& engine, const SessionPart& part) {
    std::uint32_t checksum = 0;
    for (const KeyRange& range : std::array{records_of(part), blocks_of(part)}) {
        PERFLEET_TRY(engine.visit(range, [&](std::string_view key, std::string_view value) {
            checksum = add_to_checksum(add_to_checksum(checksum, key_in_shard(key, 0)), value);
            return Visit::kContinue;
        }));
    }
    return checksum;
}

}  // namespace perfleet
