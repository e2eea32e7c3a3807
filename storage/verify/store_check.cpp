#include "storage/verify/store_check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "schemas/columns/seal.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/dictionary/partition_nodes.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/file_name.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/log_tail.h"
#include "storage/engine/rocksdb/manifest_copy.h"
#include "storage/engine/rocksdb/table_files.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/read/repeated_rows.h"
#include "storage/store/open_engine.h"
#include "storage/summary/day_summary.h"

namespace perfleet {
namespace {

// In the order of blocks: those of one session and series are neighbours.
using NamedRows = std::tuple<TargetId, SessionId, Series, Seq>;

// A batch's record about its rows of one series.
struct Named {
    EpochNumber epoch;
    std::uint32_t row_count = 0;
    Ticks first_ticks;
    Ticks last_ticks;
};

std::uint64_t rows_in(const BatchRecord& record) {
    std::uint64_t row_count = 0;
    for (const BatchRecord::Rows& rows : record.rows) {
        row_count += is_definition(rows.series.kind) ? 0 : rows.row_count;
    }
    return row_count;
}

// Walks over all keys in order; the records of a partition precede its blocks.
class Walk {
public:
    // `read` gets the number of bytes of keys and values read so far.
    Walk(const Engine& engine, bool verify, StoreCheck& check, std::function<void(std::uint64_t)> read)
        : engine_{engine}, verify_{verify}, check_{check}, read_{std::move(read)} {}

    [[nodiscard]] Result<Done> run() {
        PERFLEET_TRY(visit_readable(
            engine_, everything(),
            [&](std::string_view key, std::string_view value) {
                on_key(key, value);
                read_size_bytes_ += key.size() + value.size();
                read_(read_size_bytes_);
                return Visit::kContinue;
            },
            [&](const DamagedRange& damaged) {
                const std::string from = describe_key(damaged.keys.begin);
                const std::string to = describe_key(damaged.keys.end);
                if (damaged.file.empty()) {
                    add({from, damaged.error.message, "everything from there to " + to, 0});
                } else {
                    add({damaged.file, damaged.is_file_lost ? "can't be opened" : damage_in(damaged.error),
                         "what it holds from " + from + " to " + to, 0});
                }
            }));
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
            case Table::kFormat:
                if (key == shards_key()) {
                    check_number(key, value, "the store's number of shards", &check_.shard_count);
                } else {
                    check_number(key, value, "the store's version", &check_.format_version);
                }
                break;
            case Table::kPartition: on_partition_key(key, value); break;
            case Table::kSession:
                ++check_.session_count;
                check_record(key, decode_session_untrusted(value), "the session's description");
                break;
            case Table::kSessionEnd:
                check_record(key, decode_session_end_untrusted(value), "how the session ended, its last counts");
                break;
            case Table::kWatermark:
                check_number(key, value, "what the session has acknowledged; its collector can't continue", nullptr);
                break;
            case Table::kSessionPartition:
                check_number(key, value, "nothing: its key has the same information", nullptr);
                break;
            case Table::kExpired: {
                std::uint64_t row_count = 0;
                check_number(key, value, "a count of rows that expired", &row_count);
                if (const auto name = decode_expired_key(key); name.ok() && !is_definition(name->series.kind)) {
                    check_.expired_row_count += row_count;
                }
                break;
            }
            case Table::kExpiredBatch: {
                auto expired = decode_expired_batch_untrusted(value);
                if (expired.ok()) {
                    for (const auto& [series, row_count] : expired->rows) {
                        check_.expired_row_count += is_definition(series.kind) ? 0 : row_count;
                    }
                }
                check_record(key, expired, "a count of rows that expired");
                break;
            }
            case Table::kDropped:
                ++check_.dropped_partition_count;
                check_number(key, value, "nothing: its key has the same information", nullptr);
                break;
            case Table::kImage:
                ++check_.image_count;
                check_.image_size_bytes += value.size();
                if (verify_) {
                    check_record(key, decode_image_untrusted(value), "an image's content: its symbols");
                }
                break;
            case Table::kSessionNote:
                check_record(key, decode_session_note_untrusted(value), "the session's name, or that it was removed");
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
            const auto is_repeated = repeated_blocks_.take(*block, value);
            if (is_repeated.ok() && *is_repeated) {
                checked_.erase({block->target, block->session, block->series, block->first_seq});
                return;
            }
            ++content.block_count;
            if (verify_) {
                on_block(key, *block, value);
            }
        } else if (decode_summary_key(key).ok()) {
            if (verify_) {
                check_record(key, decode_summary_untrusted(value), "nothing: what it sums is read from its blocks");
            }
        } else if (key == compacted_key(*partition)) {
            check_number(key, value, "nothing: its key has the same information", nullptr);
        } else if (key == dictionary_key(*partition)) {
            on_dictionary(key, value);
        } else if (const auto map = decode_stack_map_key(key); map.ok()) {
            on_stack_map(key, *map, value);
        } else {
            add({describe_key(key), batch.error().message, "what it names", 0});
        }
    }

    void on_dictionary(std::string_view key, std::string_view value) {
        if (!verify_) {
            return;
        }
        partition_dictionary_ = {dictionary_checksum(value), {}};
        auto dictionary = decode_dictionary_untrusted(value);
        check_record(key, dictionary, std::string{kDefinitionsStay});
        if (dictionary.ok()) {
            partition_dictionary_->second = std::move(*dictionary);
        }
    }

    // All definitions of the partition precede its stack maps. Readers ignore a map made from other definitions.
    void on_stack_map(std::string_view key, const StackMapKey& name, std::string_view value) {
        if (!verify_) {
            return;
        }
        const auto map = decode_stack_map_untrusted(value);
        check_record(key, map, std::string{kDefinitionsStay});
        if (!map.ok()) {
            return;
        }
        if (!partition_dictionary_ || partition_dictionary_->first != map->dictionary_checksum) {
            add({describe_key(key), "leads into another dictionary than its partition has",
                 std::string{kDefinitionsStay}, 0});
        } else if (!partition_dictionary_->second.nodes.empty()) {
            const auto checked = check_stack_map(dictionaries_[{name.target, name.session, name.epoch}], map->nodes,
                                                 partition_dictionary_->second);
            if (!checked.ok()) {
                add({describe_key(key), checked.error().message, std::string{kDefinitionsStay}, 0});
            }
        }
    }

    void on_batch(std::string_view key, const PartitionBatch& name, std::string_view value, PartitionContent& content) {
        const auto records = decode_batches_untrusted(value, name.key.seq, name.partition.bucket);
        if (!records.ok()) {
            ++content.batch_count;
            add({describe_key(key), records.error().message, "the batch's counts, and its rows for queries", 0});
            return;
        }
        const bool is_list = is_batch_list_untrusted(value);
        for (const BatchRecord& record : *records) {
            const BatchKey batch{name.key.target, name.key.session, record.seq};
            if (repeated_records_.take(name.partition, batch, is_list)) {
                continue;
            }
            ++content.batch_count;
            content.row_count += rows_in(record);
            if (verify_) {
                check_batch(key, {name.partition, batch}, record);
            }
        }
    }

    // Checks the batch's own blocks in full, and its seal if it has all of them. Compacted blocks can't restore the
    // sealed bytes; they, and damaged or missing blocks, are checked when the walk reaches the blocks.
    void check_batch(std::string_view key, const PartitionBatch& name, const BatchRecord& record) {
        std::vector<std::string> bytes(record.rows.size());
        std::vector<BlockView> blocks;
        blocks.reserve(record.rows.size());  // series view these blocks
        std::vector<SeriesView> series;
        for (std::size_t i = 0; i < record.rows.size(); ++i) {
            const BatchRecord::Rows& rows = record.rows[i];
            const BlockKey block{name.partition, name.key.target, name.key.session, rows.series, name.key.seq};
            const NamedRows place{name.key.target, name.key.session, rows.series, name.key.seq};
            const Named named{record.epoch, rows.row_count, rows.first_ticks, rows.last_ticks};
            std::optional<Error> damage;
            auto found = get_readable(engine_, block_key(block), [&](const DamagedRange& one) { damage = one.error; });
            if (found.ok() && damage && !found->has_value()) {
                found = *damage;
            }
            if (found.ok() && (!found->has_value() || !is_as_sealed(**found))) {
                named_.emplace(place, named);
                continue;
            }
            checked_.insert(place);
            auto checked = found.ok() ? check_block(block, named, bytes[i] = std::move(**found))
                                      : Result<BlockView>{std::move(found).error()};
            if (!checked.ok()) {
                add_lost_block(block, checked.error().message, record.epoch, rows.row_count);
                continue;
            }
            const BlockView& view = blocks.emplace_back(std::move(*checked));
            series.push_back(
                {rows.series, view.header.row_count, view.header.first_ticks, view.header.last_ticks, view.columns});
        }
        // A copy leaves out unreadable rows, maybe all of a batch.
        if (!series.empty() && series.size() == record.rows.size() &&
            seal_of({name.key.session, name.key.seq, record.epoch, record.bucket}, series, record.counts,
                    record.dropped, record.clock_points) != record.seal) {
            add({describe_key(key), "its seal doesn't fit its rows and counts",
                 "trust in " + std::to_string(rows_in(record)) + " rows", 0});
        }
    }

    void add_lost_block(const BlockKey& key, const std::string& what, EpochNumber epoch, std::uint64_t row_count) {
        const bool is_defining = is_definition(key.series.kind);
        add({describe_key(block_key(key)), what,
             is_defining ? std::to_string(row_count) + " definitions of epoch " + std::to_string(epoch.value)
                         : std::to_string(row_count) + " rows",
             is_defining ? 0 : row_count});
    }

    // False for compacted and damaged blocks.
    [[nodiscard]] static bool is_as_sealed(std::string_view bytes) {
        const auto block = parse_block_untrusted(bytes);
        return block.ok() && block->parts.empty();
    }

    // Checks a block as it was sealed.
    [[nodiscard]] Result<BlockView> check_block(const BlockKey& key, const Named& named, const std::string& bytes) {
        auto block = PERFLEET_TRY(parse_block_untrusted(bytes));
        const BlockHeader& header = block.header;
        if (header.series != key.series || header.epoch != named.epoch || header.first_seq != key.first_seq ||
            header.row_count != named.row_count) {
            return Error{ErrorCode::kCorrupt, "holds other rows than its batch names"};
        }
        PERFLEET_TRY(decode(key, block));
        return block;
    }

    [[nodiscard]] Result<Done> decode(const BlockKey& key, const BlockView& block) {
        PERFLEET_TRY(rows_.decode(block));
        if (is_definition(key.series.kind)) {
            return dictionaries_[{key.target, key.session, block.header.epoch}].add(block);
        }
        return Done{};
    }

    void on_block(std::string_view key, const BlockKey& block, std::string_view value) {
        finish_damaged_block(&block);
        if (checked_.erase({block.target, block.session, block.series, block.first_seq}) != 0) {
            return;
        }
        if (!named_.contains({block.target, block.session, block.series, block.first_seq})) {
            add({describe_key(key), "belongs to no batch that can be read", "its rows", 0});
            return;
        }
        if (auto checked = check_compacted_block(block, value); !checked.ok()) {
            damaged_block_ = {block, checked.error().message};
        }
    }

    // Checks that each part and its ticks agree with the record of its batch.
    [[nodiscard]] Result<Done> check_compacted_block(const BlockKey& key, std::string_view bytes) {
        auto block = PERFLEET_TRY(parse_block_untrusted(bytes));
        if (block.header.series != key.series || block.header.first_seq != key.first_seq) {
            return Error{ErrorCode::kCorrupt, "holds another block's rows"};
        }
        PERFLEET_TRY(decode(key, block));
        std::size_t row = 0;
        for (const BlockPart& part : block.parts) {
            const auto found = named_.find({key.target, key.session, key.series, part.seq});
            if (found == named_.end() && checked_.contains({key.target, key.session, key.series, part.seq})) {
                row += part.row_count;  // the batch has its own block, which was checked with it
                continue;
            }
            if (found == named_.end() || found->second.epoch != block.header.epoch ||
                found->second.row_count != part.row_count || !has_its_ticks(key.series, found->second, row)) {
                return Error{ErrorCode::kCorrupt,
                             "holds other rows than batch " + std::to_string(part.seq.value) + " names"};
            }
            row += part.row_count;
        }
        for (const BlockPart& part : block.parts) {
            named_.erase({key.target, key.session, key.series, part.seq});
        }
        return Done{};
    }

    // Checks the ticks of the rows decoded last. Definitions have no time.
    [[nodiscard]] bool has_its_ticks(Series series, const Named& named, std::size_t first_row) const {
        if (is_definition(series.kind) || named.row_count == 0) {
            return true;
        }
        const auto times = rows_.integers(ColumnId::kTime).subspan(first_row, named.row_count);
        const auto [least, greatest] = std::minmax_element(times.begin(), times.end());
        return Ticks{*least} == named.first_ticks && Ticks{*greatest} == named.last_ticks;
    }

    // A damaged block held the rows that batches name up to the next block of the series.
    void finish_damaged_block(const BlockKey* next) {
        if (!damaged_block_) {
            return;
        }
        const auto [block, what] = *std::exchange(damaged_block_, std::nullopt);
        std::uint64_t row_count = 0;
        EpochNumber epoch;
        auto at = named_.find({block.target, block.session, block.series, block.first_seq});
        while (at != named_.end()) {
            const auto& [target, session, series, seq] = at->first;
            const bool is_of_series = target == block.target && session == block.session && series == block.series;
            const bool is_behind = next != nullptr && next->target == target && next->session == session &&
                                   next->series == series && seq >= next->first_seq;
            if (!is_of_series || is_behind) {
                break;
            }
            row_count += at->second.row_count;
            epoch = at->second.epoch;
            at = named_.erase(at);
        }
        add_lost_block(block, what, epoch, row_count);
    }

    // Adds rows without any block: one entry per series and epoch, since one compacted block may have held them.
    void add_missing_blocks() {
        for (auto at = named_.begin(); at != named_.end();) {
            const auto [target, session, series, seq] = at->first;
            const EpochNumber epoch = at->second.epoch;
            std::uint64_t row_count = 0;
            std::uint64_t batch_count = 0;
            for (; at != named_.end() && at->second.epoch == epoch &&
                   std::tie(std::get<0>(at->first), std::get<1>(at->first), std::get<2>(at->first)) ==
                       std::tie(target, session, series);
                 ++at) {
                row_count += at->second.row_count;
                ++batch_count;
            }
            const std::string others =
                batch_count == 1 ? ""
                                 : ", and so are those of " + std::to_string(batch_count - 1) + " more of its batches";
            add_lost_block({check_.partitions.back().partition, target, session, series, seq},
                           "is missing; its batch names it" + others, epoch, row_count);
        }
    }

    // Epochs don't cross partitions.
    void finish_partition() {
        finish_damaged_block(nullptr);
        add_missing_blocks();
        dictionaries_.clear();
        partition_dictionary_.reset();
        named_.clear();
        checked_.clear();
    }

    static constexpr std::string_view kDefinitionsStay = "nothing: its sessions' definitions are in their blocks";

    const Engine& engine_;
    bool verify_;
    StoreCheck& check_;
    std::function<void(std::uint64_t)> read_;
    std::uint64_t read_size_bytes_ = 0;
    DecodedRows rows_;
    std::map<NamedRows, Named> named_;  // named by the partition's batches; their block wasn't reached yet
    std::set<NamedRows> checked_;       // their block was checked with the batch
    std::optional<std::pair<BlockKey, std::string>> damaged_block_;
    std::map<std::tuple<TargetId, SessionId, EpochNumber>, EpochDictionary> dictionaries_;
    // The partition's, with its checksum; empty if it is damaged.
    std::optional<std::pair<std::uint32_t, PartitionDictionary>> partition_dictionary_;
    RepeatedBlocks repeated_blocks_{engine_};
    RepeatedRecords repeated_records_;
};

// Returns the size of all files. Errors: the folder isn't a store.
Result<std::uint64_t> check_files(const std::string& directory, bool verify, const ProgressReport& progress,
                                  StoreCheck& check) {
    PERFLEET_TRY(check_reader_folder(directory));
    std::uint64_t files_size_bytes = 0;
    auto files = PERFLEET_TRY(check_table_files(directory, verify, [&](std::uint64_t done, std::uint64_t total) {
        files_size_bytes = total;
        if (progress) {
            progress(done, 2 * total);
        }
    }));
    if (const auto manifest = find_manifest(directory); manifest.ok() && !manifest->damage.empty()) {
        check.damage.push_back({manifest->file, manifest->damage, "nothing: its copy is read in its place", 0});
    }
    for (const TableFileCheck& file : files) {
        ++check.table_file_count;
        check.table_file_size_bytes += file.size_bytes;
        if (!file.damage.empty()) {
            check.damage.push_back({file.file, file.damage, "see the keys that follow", 0});
        }
    }
    if (verify) {
        auto damage = find_log_damage(directory);
        if (!damage.ok()) {
            check.damage.push_back({directory, damage.error().message, "what the log held", 0});
        }
        if (damage.ok() && damage->has_value() && (*damage)->was_synced) {
            check.damage.push_back(
                {(*damage)->file, describe_log_loss(directory, **damage), "what it held from there on", 0});
        }
    }
    for (const std::string& loss : log_losses(directory)) {
        check.damage.push_back({directory, loss, "what the log held; delete LOST-LOGS to accept it", 0});
    }
    return files_size_bytes;
}

}  // namespace

Result<StoreCheck> check_store(const std::string& where, bool verify, const ProgressReport& progress) {
    StoreCheck check;
    // Table files are read twice: as files, and key by key. RADOS checks its objects itself.
    auto files_size_bytes = PERFLEET_TRY(is_folder(where) ? check_files(where, verify, progress, check) : 0);
    auto engine = open_reader_engine(where);
    if (!engine.ok() && !is_folder(where)) {
        return engine.error();
    }
    if (!engine.ok()) {
        check.damage.push_back({where, engine.error().message, "everything: the store can't be opened", 0});
        return check;
    }
    const auto format = check_format(**engine, where);
    if (!is_folder(where) && !format.ok()) {
        return format.error();
    }
    Walk walk{**engine, verify, check, [&](std::uint64_t size_bytes) {
                  if (progress && files_size_bytes != 0) {
                      progress(files_size_bytes + size_bytes, 2 * files_size_bytes);
                  }
              }};
    PERFLEET_TRY(walk.run());
    if (!format.ok()) {
        walk.add({where, format.error().message, "the store's version", 0});
    } else if (check.format_version == 0) {
        walk.add({describe_key(format_key()),
                  "can't be read; the store is taken for one of version " + std::to_string(kStoreFormatVersion),
                  "nothing else", 0});
        check.format_version = kStoreFormatVersion;
    }
    if (format.ok() && check.shard_count == 0) {
        const auto shards = shards_of(**engine);
        check.shard_count = shards.ok() ? shards->value : 0;
        walk.add({describe_key(shards_key()),
                  shards.ok() ? "can't be read; the store is taken for one of " + std::to_string(check.shard_count)
                              : shards.error().message,
                  "nothing else", 0});
    }
    return check;
}

}  // namespace perfleet
