#include "storage/engine/rocksdb/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_partitioner.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <memory>

#include "storage/engine/rocksdb/manifest_copy.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/rocksdb/rocksdb_slice.h"
#include "storage/engine/rocksdb/silent_log.h"
#include "storage/key/key_bytes.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

// -- memory and files -------------------------------------------------------------------------------------------------
// Memory in equal parts: the memtable being filled, two being flushed (then writes wait), and the block cache.
constexpr int kMemtablesMax = 3;
constexpr std::size_t kMemoryParts = kMemtablesMax + 1;
constexpr std::uint64_t kFirstLevelSizeBytes = 512U << 20;

// Compaction never mixes keys of two days or two tables in one table file: files of old days are moved, not rewritten,
// while newer rows come in, and a drop rewrites little. Days, not hours, because a reader keeps every file open.
class DayPartitioner final : public rocksdb::SstPartitioner {
public:
    const char* Name() const override { return "perfleet.DayPartitioner"; }
    rocksdb::PartitionerResult ShouldPartition(const rocksdb::PartitionerRequest& request) override {
        return is_same_group(*request.prev_user_key, *request.current_user_key) ? rocksdb::kNotRequired
                                                                                : rocksdb::kRequired;
    }
    bool CanDoTrivialMove(const rocksdb::Slice& smallest, const rocksdb::Slice& largest) override {
        return is_same_group(smallest, largest);
    }

private:
    static constexpr std::uint32_t kDayBuckets = 24 * 3600 / kBucketDurationS;

    static bool is_same_group(const rocksdb::Slice& a, const rocksdb::Slice& b) {
        if (!a.starts_with(rocksdb::Slice{b.data(), std::min<std::size_t>(b.size(), 1)})) {
            return false;
        }
        const auto partition_a = decode_partition(view(a));
        const auto partition_b = decode_partition(view(b));
        return !partition_a.ok() || !partition_b.ok() ||
               partition_a->bucket.value / kDayBuckets == partition_b->bucket.value / kDayBuckets;
    }
};

class DayPartitionerFactory final : public rocksdb::SstPartitionerFactory {
public:
    const char* Name() const override { return "perfleet.DayPartitionerFactory"; }
    std::unique_ptr<rocksdb::SstPartitioner> CreatePartitioner(const rocksdb::SstPartitioner::Context&) const override {
        return std::make_unique<DayPartitioner>();
    }
};

rocksdb::Options common_options(std::size_t memory_size_bytes) {
    rocksdb::Options options;
    options.compression = rocksdb::kNoCompression;  // the collector has compressed the columns
    options.paranoid_checks = true;
    // Only an unfinished last record, which wasn't acknowledged, is dropped; damage before it is an error, not a silent
    // loss of acknowledged rows.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    options.write_buffer_size = memory_size_bytes / kMemoryParts;
    options.max_write_buffer_number = kMemtablesMax;
    options.allow_fallocate = false;       // logs set megabytes aside, which rows would lack on a small disk
    options.info_log = make_silent_log();  // RocksDB's own logger aborts if it can't be written
    options.stats_dump_period_sec = 0;

    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kXXH3;
    table.block_size = 16U << 10;
    table.block_size_deviation = 99;  // a value that doesn't fit begins a block: damage then affects no others
    table.block_cache = rocksdb::NewLRUCache(memory_size_bytes / kMemoryParts);
    table.cache_index_and_filter_blocks = true;  // so that they count towards the cache limit
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

}  // namespace

rocksdb::Options writer_options(std::size_t memory_size_bytes) {
    rocksdb::Options options = common_options(memory_size_bytes);
    options.create_if_missing = true;
    options.max_open_files = kWriterFilesMax;
    options.compaction_style = rocksdb::kCompactionStyleLevel;
    options.sst_partitioner_factory = std::make_shared<DayPartitionerFactory>();
    // Unlogged changes can be made again, and a failed disk isn't tried once more during shutdown.
    options.avoid_flush_during_shutdown = true;
    options.max_bgerror_resume_count = 0;  // recover() resumes, and knows what may be lost
    options.level_compaction_dynamic_level_bytes = true;
    options.target_file_size_base = kTableFileSizeBytes;
    options.max_bytes_for_level_base = kFirstLevelSizeBytes;
    options.max_manifest_file_size = kManifestSizeBytesMax;
    options.bytes_per_sync = 1U << 20;
    return options;
}

rocksdb::Options reader_options() {
    rocksdb::Options options = common_options(limits::kStoreMemorySizeBytes);
    options.max_open_files = -1;  // files stay readable after the writer has deleted them
    return options;
}

std::uint64_t log_size_bytes_max(std::size_t memory_size_bytes) {
    return memory_size_bytes / kMemoryParts * kMemtablesMax;
}

// Recovery writes the contents of the logs to table files before it deletes the logs; erasing rewrites a table file
// that other hours share.
std::uint64_t disk_reserve_size_bytes(std::size_t memory_size_bytes) {
    return log_size_bytes_max(memory_size_bytes) + kTableFileSizeBytes + kRecoverRoomSizeBytes;
}

}  // namespace perfleet
