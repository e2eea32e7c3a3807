#include "storage/store/rocksdb_engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "storage/store/folder.h"

namespace perfleet {
namespace {

// -- memory and files -------------------------------------------------------------------------------------------------
constexpr std::size_t kMemtableSizeBytes = 64U << 20;
constexpr int kMemtablesMax = 3;  // the one being filled and two being flushed: 192 MiB at most, then puts wait
constexpr std::size_t kBlockCacheSizeBytes = 64U << 20;
constexpr std::uint64_t kTableFileSizeBytes = 128U << 20;
constexpr std::uint64_t kFirstLevelSizeBytes = 512U << 20;
constexpr int kWriterFilesMax = 1'024;  // open at once
constexpr std::size_t kInfoLogSizeBytes = 1U << 20;
constexpr std::size_t kInfoLogFiles = 4;

// A reader may look at the moment at which the writer replaces a file; then it looks again.
constexpr int kReaderAttempts = 8;

rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

bool says(const rocksdb::Status& status, std::string_view words) {
    return status.ToString().find(words) != std::string::npos;
}

Error error_from(const rocksdb::Status& status, const std::string& what) {
    const std::string message = what + ": " + status.ToString();
    if (status.IsCorruption()) {
        return {ErrorCode::kCorrupt, message};
    }
    if (status.IsNotSupported()) {
        return {ErrorCode::kUnsupported, message};
    }
    if (status.IsNoSpace()) {
        return {ErrorCode::kFull, message};
    }
    if (says(status, "Permission denied")) {
        return {ErrorCode::kPermission, message};
    }
    if (says(status, "Too many open files")) {
        return {ErrorCode::kIo, message + "; raise the limit of open files (ulimit -n)"};
    }
    return {ErrorCode::kIo, message};
}

rocksdb::Options common_options() {
    rocksdb::Options options;
    options.compression = rocksdb::kNoCompression;  // columns are packed by the collector
    options.paranoid_checks = true;
    // Only an unfinished last record, which nobody was promised, is dropped; damage before that is an error, not a
    // silent loss of what was acknowledged.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    options.write_buffer_size = kMemtableSizeBytes;
    options.max_write_buffer_number = kMemtablesMax;
    options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
    options.max_log_file_size = kInfoLogSizeBytes;
    options.keep_log_file_num = kInfoLogFiles;
    options.stats_dump_period_sec = 0;

    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kXXH3;
    table.block_size = 16U << 10;
    table.block_cache = rocksdb::NewLRUCache(kBlockCacheSizeBytes);
    table.cache_index_and_filter_blocks = true;  // so that they count towards the cache's bound
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

rocksdb::Options writer_options() {
    rocksdb::Options options = common_options();
    options.create_if_missing = true;
    options.max_open_files = kWriterFilesMax;
    // Keys begin with the time bucket: older levels are moved rather than rewritten, and a dropped partition is files
    // that can be unlinked.
    options.compaction_style = rocksdb::kCompactionStyleLevel;
    options.level_compaction_dynamic_level_bytes = true;
    options.target_file_size_base = kTableFileSizeBytes;
    options.max_bytes_for_level_base = kFirstLevelSizeBytes;
    options.bytes_per_sync = 1U << 20;
    return options;
}

rocksdb::Options reader_options() {
    rocksdb::Options options = common_options();
    options.max_open_files = -1;  // keeps files readable that the writer has deleted
    return options;
}

class RocksdbEngine final : public Engine {
public:
    RocksdbEngine(std::string directory, std::unique_ptr<rocksdb::DB> db, std::unique_ptr<TemporaryFolder> folder)
        : directory_{std::move(directory)}, folder_{std::move(folder)}, db_{std::move(db)} {}

    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
        std::string value;
        const rocksdb::Status status = db_->Get(rocksdb::ReadOptions{}, slice(key), &value);
        if (status.IsNotFound()) {
            return std::optional<std::string>{};
        }
        if (!status.ok()) {
            return error_from(status, directory_ + ": " + describe_key(key));
        }
        return std::optional{std::move(value)};
    }

    [[nodiscard]] Result<Done> visit(
        const KeyRange& range,
        const std::function<Visit(std::string_view key, std::string_view value)>& visitor) const override {
        const rocksdb::Slice end = slice(range.end);
        rocksdb::ReadOptions options;
        options.iterate_upper_bound = &end;
        options.fill_cache = false;  // a scan reads each block once
        const std::unique_ptr<rocksdb::Iterator> at{db_->NewIterator(options)};
        std::string last;
        for (at->Seek(slice(range.begin)); at->Valid(); at->Next()) {
            if (visitor(view(at->key()), view(at->value())) == Visit::kStop) {
                return Done{};
            }
            last.assign(at->key().data(), at->key().size());
        }
        if (const rocksdb::Status status = at->status(); !status.ok()) {
            return error_from(status, directory_ + ": " +
                                          (last.empty() ? "from " + describe_key(range.begin) + " on"
                                                        : "after " + describe_key(last)));
        }
        return Done{};
    }

    [[nodiscard]] Result<Done> refresh() override {
        if (folder_ == nullptr) {
            return Done{};
        }
        rocksdb::Status status;
        for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
            status = db_->TryCatchUpWithPrimary();
            if (status.ok()) {
                return Done{};
            }
        }
        return error_from(status, directory_ + ": catching up with the writer");
    }

    [[nodiscard]] Result<Done> write(const Changes& changes) override {
        rocksdb::WriteBatch batch;
        rocksdb::Status status;
        for (std::size_t i = 0; i < changes.range_deletes.size() && status.ok(); ++i) {
            status = batch.DeleteRange(slice(changes.range_deletes[i].begin), slice(changes.range_deletes[i].end));
        }
        for (std::size_t i = 0; i < changes.deletes.size() && status.ok(); ++i) {
            status = batch.Delete(slice(changes.deletes[i]));
        }
        for (std::size_t i = 0; i < changes.puts.size() && status.ok(); ++i) {
            status = batch.Put(slice(changes.puts[i].key), slice(changes.puts[i].value));
        }
        if (status.ok()) {
            status = db_->Write(rocksdb::WriteOptions{}, &batch);
        }
        return status.ok() ? Result<Done>{Done{}} : error_from(status, directory_ + ": writing");
    }

    [[nodiscard]] Result<Done> sync() override {
        const rocksdb::Status status = db_->SyncWAL();
        return status.ok() ? Result<Done>{Done{}} : error_from(status, directory_ + ": syncing the write-ahead log");
    }

    [[nodiscard]] Result<Done> reclaim(const KeyRange& range) override {
        const rocksdb::Slice begin = slice(range.begin);
        const rocksdb::Slice end = slice(range.end);
        const rocksdb::Status status =
            rocksdb::DeleteFilesInRange(db_.get(), db_->DefaultColumnFamily(), &begin, &end, false);
        return status.ok() ? Result<Done>{Done{}} : error_from(status, directory_ + ": deleting files");
    }

private:
    std::string directory_;
    std::unique_ptr<TemporaryFolder> folder_;  // readers only; removed after the database is closed
    std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_rocksdb_writer_engine(const std::string& directory) {
    if (auto prepared = prepare_writer_folder(directory); !prepared.ok()) {
        return prepared.error();
    }
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(writer_options(), directory, &db);
    if (says(status, "lock hold by current process") || says(status, "While lock file")) {
        return Error{ErrorCode::kBusy, directory +
                                           ": another gateway is writing to this folder; stop it, or give this one "
                                           "another folder (--data)"};
    }
    if (status.IsInvalidArgument()) {
        return Error{ErrorCode::kInvalid, directory + ": not a perfleet store: " + status.ToString()};
    }
    if (!status.ok()) {
        return error_from(status, directory + ": can't be opened");
    }
    return std::unique_ptr<Engine>{
        std::make_unique<RocksdbEngine>(directory, std::unique_ptr<rocksdb::DB>{db}, nullptr)};
}

Result<std::unique_ptr<Engine>> open_rocksdb_reader_engine(const std::string& directory) {
    if (auto checked = check_reader_folder(directory); !checked.ok()) {
        return checked.error();
    }
    auto folder = TemporaryFolder::make("perfleet-reader-");
    if (!folder.ok()) {
        return folder.error();
    }
    rocksdb::Status status;
    for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
        rocksdb::DB* db = nullptr;
        status = rocksdb::DB::OpenAsSecondary(reader_options(), directory, (*folder)->path(), &db);
        if (status.ok()) {
            return std::unique_ptr<Engine>{
                std::make_unique<RocksdbEngine>(directory, std::unique_ptr<rocksdb::DB>{db}, std::move(*folder))};
        }
    }
    return error_from(status, directory + ": can't be opened for reading");
}

}  // namespace perfleet
