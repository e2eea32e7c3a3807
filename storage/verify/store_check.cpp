#include "storage/verify/store_check.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "schemas/columns/seal.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/key/key.h"
#include "storage/store/damaged_reads.h"
#include "storage/store/folder.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/log_tail.h"
#include "storage/store/record.h"
#include "storage/store/rocksdb_engine.h"
#include "storage/store/table_files.h"

namespace perfleet {
namespace {

using SeriesOfBatch = std::pair<BatchKey, Series>;

std::uint64_t rows_in(const BatchRecord& record) {
    std::uint64_t row_count = 0;
    for (const BatchRecord::Rows& rows : record.rows) {
        row_count += is_definition(rows.series.kind) ? 0 : rows.row_count;
    }
    return row_count;
}

// One walk over all keys in their order; within a partition its records come before its blocks.
class Walk {
public:
    Walk(const Engine& engine, bool verify, StoreCheck& check) : engine_{engine}, verify_{verify}, check_{check} {}

    [[nodiscard]] Result<Done> run() {
        auto visited = visit_readable(
            engine_, everything(),
            [&](std::string_view key, std::string_view value) {
                on_key(key, value);
                return Visit::kContinue;
            },
            [&](const DamagedRange& damaged) {
                add({describe_key(damaged.keys.begin), damaged.error.message,
                     "everything from there to " + describe_key(damaged.keys.end), 0});
            });
        if (!visited.ok()) {
            return visited;
        }
        finish_partition();
        return Done{};
    }

    void add(StoreDamage damage) {
        if (check_.damage.size() < kStoreDamageMax) {
            check_.damage.push_back(std::move(damage));
        } else {
            check_.has_more_damage = true;
        }
    }

private:
    void on_key(std::string_view key, std::string_view value) {
        switch (static_cast<Table>(static_cast<unsigned char>(key.front()))) {
            case Table::kFormat: check_number(key, value, "the store's version", &check_.format_version); break;
            case Table::kPartition: on_partition_key(key, value); break;
            case Table::kSession:
                ++check_.session_count;
                check_record(key, decode_session_untrusted(value), "the session's description");
                break;
            case Table::kSessionEnd:
                check_record(key, decode_session_end_untrusted(value), "how the session ended, its last counts");
                break;
            case Table::kWatermark:
                check_number(key, value, "what the session has acknowledged; its collector can't go on", nullptr);
                break;
            case Table::kSessionPartition: check_number(key, value, "nothing: its key says it all", nullptr); break;
            case Table::kExpired: {
                std::uint64_t row_count = 0;
                check_number(key, value, "a count of rows that expired", &row_count);
                check_.expired_row_count += row_count;
                break;
            }
            case Table::kExpiredBatch: {
                auto expired = decode_expired_batch_untrusted(value);
                if (expired.ok()) {
                    for (const auto& [series, row_count] : expired->rows) {
                        check_.expired_row_count += row_count;
                    }
                }
                check_record(key, expired, "a count of rows that expired");
                break;
            }
            case Table::kDropped:
                ++check_.dropped_partition_count;
                check_number(key, value, "nothing: its key says it all", nullptr);
                break;
            case Table::kImage:
                ++check_.image_count;
                check_.image_size_bytes += value.size();
                if (verify_) {
                    check_record(key, decode_image_untrusted(value), "an image's content: its symbols");
                }
                break;
            default: add({describe_key(key), "is a key of no known table", "nothing that this build knows", 0});
        }
    }

    template <class Value>
    void check_record(std::string_view key, const Result<Value>& value, const std::string& lost) {
        if (!value.ok()) {
            add({describe_key(key), value.error().message, lost, 0});
        }
    }

    void check_number(std::string_view key, std::string_view value, const std::string& lost, std::uint64_t* number) {
        const auto decoded = decode_number_untrusted(value);
        check_record(key, decoded, lost);
        if (decoded.ok() && number != nullptr) {
            *number = *decoded;
        }
    }

    void on_partition_key(std::string_view key, std::string_view value) {
        const auto partition = decode_partition(key);
        if (!partition.ok()) {
            add({describe_key(key), partition.error().message, "what it names", 0});
            return;
        }
        if (check_.partitions.empty() || check_.partitions.back().partition != *partition) {
            finish_partition();
            check_.partitions.push_back({*partition, 0, 0, 0, 0, 0});
        }
        PartitionContent& content = check_.partitions.back();
        content.size_bytes += key.size() + value.size();
        if (decode_partition_session_key(key).ok()) {
            ++content.session_count;
            check_record(key, decode_session_untrusted(value), "nothing: the session is described elsewhere, too");
        } else if (const auto batch = decode_partition_batch_key(key); batch.ok()) {
            on_batch(key, *batch, value, content);
        } else if (const auto block = decode_block_key(key); block.ok()) {
            ++content.block_count;
            if (verify_ && !named_.contains({{block->target, block->session, block->first_seq}, block->series})) {
                add({describe_key(key), "belongs to no batch that can be read", "its rows", 0});
            }
        } else {
            add({describe_key(key), batch.error().message, "what it names", 0});
        }
    }

    void on_batch(std::string_view key, const PartitionBatch& name, std::string_view value, PartitionContent& content) {
        ++content.batch_count;
        const auto record = decode_batch_untrusted(value, name.key.seq, name.partition.bucket);
        if (!record.ok()) {
            add({describe_key(key), record.error().message, "the batch's counts, and its rows for queries", 0});
            return;
        }
        content.row_count += rows_in(*record);
        if (verify_) {
            for (const BatchRecord::Rows& rows : record->rows) {
                named_.insert({name.key, rows.series});
            }
            check_batch(key, name, *record);
        }
    }

    // Every block that it names, in full; and its seal over all of them.
    void check_batch(std::string_view key, const PartitionBatch& name, const BatchRecord& record) {
        std::vector<std::string> bytes(record.rows.size());
        std::vector<BlockView> blocks(record.rows.size());
        std::vector<SeriesView> series;
        for (std::size_t i = 0; i < record.rows.size(); ++i) {
            const BatchRecord::Rows& rows = record.rows[i];
            const BlockKey block{name.partition, name.key.target, name.key.session, rows.series, name.key.seq};
            if (auto checked = check_block(block, record, rows, bytes[i], blocks[i]); !checked.ok()) {
                const bool is_defining = is_definition(rows.series.kind);
                add({describe_key(block_key(block)), checked.error().message,
                     is_defining ? std::to_string(rows.row_count) + " definitions of epoch " +
                                       std::to_string(record.epoch.value)
                                 : std::to_string(rows.row_count) + " rows",
                     is_defining ? 0 : rows.row_count});
                continue;
            }
            series.push_back({rows.series, blocks[i].header.row_count, blocks[i].header.first_ticks,
                              blocks[i].header.last_ticks, blocks[i].columns});
        }
        if (series.size() == record.rows.size() &&
            seal_of({name.key.session, name.key.seq, record.epoch, record.bucket}, series, record.tallies,
                    record.dropped, record.clock_points) != record.seal) {
            add({describe_key(key), "its seal doesn't fit its rows and counts",
                 "trust in " + std::to_string(rows_in(record)) + " rows", 0});
        }
    }

    [[nodiscard]] Result<Done> check_block(const BlockKey& key, const BatchRecord& record,
                                           const BatchRecord::Rows& rows, std::string& bytes, BlockView& block) {
        auto found = engine_.get(block_key(key));
        if (!found.ok()) {
            return found.error();
        }
        if (!found->has_value()) {
            return Error{ErrorCode::kCorrupt, "is missing; its batch names it"};
        }
        bytes = std::move(**found);
        auto parsed = parse_block_untrusted(bytes);
        if (!parsed.ok()) {
            return parsed.error();
        }
        const BlockHeader& header = parsed->header;
        if (header.series != rows.series || header.epoch != record.epoch || header.first_seq != record.seq ||
            header.row_count != rows.row_count) {
            return Error{ErrorCode::kCorrupt, "holds other rows than its batch names"};
        }
        if (auto decoded = rows_.decode(*parsed); !decoded.ok()) {
            return decoded;
        }
        if (is_definition(rows.series.kind)) {
            EpochDictionary& dictionary = dictionaries_[{key.target, key.session, record.epoch}];
            if (auto added = dictionary.add(*parsed); !added.ok()) {
                return added;
            }
        }
        block = std::move(*parsed);
        return Done{};
    }

    // Epochs lie within one partition.
    void finish_partition() {
        for (auto& [name, dictionary] : dictionaries_) {
            const auto& [target, session, epoch] = name;
            if (auto finished = dictionary.finish(); !finished.ok()) {
                add({"dictionary of epoch " + std::to_string(epoch.value) + " of " +
                         describe_key(session_key(Table::kSession, target, session)),
                     finished.error().message, "the names and call chains of the epoch's rows", 0});
            }
        }
        dictionaries_.clear();
        named_.clear();
    }

    const Engine& engine_;
    bool verify_;
    StoreCheck& check_;
    DecodedRows rows_;
    std::set<SeriesOfBatch> named_;  // by the batch records of the partition
    std::map<std::tuple<TargetId, SessionId, EpochNumber>, EpochDictionary> dictionaries_;
};

}  // namespace

Result<StoreCheck> check_store(const std::string& directory, bool verify) {
    if (auto checked = check_reader_folder(directory); !checked.ok()) {
        return checked.error();
    }
    StoreCheck check;
    auto files = check_table_files(directory, verify);
    if (!files.ok()) {
        return files.error();
    }
    for (const TableFileCheck& file : *files) {
        ++check.table_file_count;
        check.table_file_size_bytes += file.size_bytes;
        if (!file.damage.empty()) {
            check.damage.push_back({file.file, file.damage, "see the keys that follow", 0});
        }
    }
    if (verify) {
        auto damage = find_log_damage(directory);
        if (damage.ok() && damage->has_value() && (*damage)->was_synced) {
            check.damage.push_back({(*damage)->file, "is damaged at byte " + std::to_string((*damage)->offset_bytes),
                                    "what it holds from there on", 0});
        }
    }
    auto engine = open_rocksdb_reader_engine(directory);
    if (!engine.ok()) {
        check.damage.push_back({directory, engine.error().message, "everything: the store can't be opened", 0});
        return check;
    }
    Walk walk{**engine, verify, check};
    if (auto walked = walk.run(); !walked.ok()) {
        return walked.error();
    }
    if (auto format = check_format(**engine, directory); !format.ok()) {
        walk.add({directory, format.error().message, "the store's version", 0});
    }
    return check;
}

}  // namespace perfleet
