#include "storage/store/rocksdb_engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_partitioner.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "schemas/vocabulary/limits.h"
#include "storage/store/folder.h"
#include "storage/store/log_tail.h"
#include "storage/store/silent_log.h"
#include "storage/store/table_files.h"

namespace perfleet {
namespace {

// -- memory and files -------------------------------------------------------------------------------------------------
// Each a part of the memory: the memtable being filled and two being flushed, then puts wait; and the block cache.
constexpr int kMemtablesMax = 3;
constexpr std::size_t kMemoryParts = kMemtablesMax + 1;
constexpr std::uint64_t kTableFileSizeBytes = 128U << 20;
constexpr std::uint64_t kFirstLevelSizeBytes = 512U << 20;
constexpr int kWriterFilesMax = 1'024;  // open at once
constexpr std::size_t kInfoLogSizeBytes = 1U << 20;
constexpr std::size_t kInfoLogFiles = 4;

// What has to fit on the disk, beside the logs once more, before a store whose disk was full goes on.
constexpr std::uint64_t kRecoverRoomSizeBytes = 16U << 20;

// Behind every table: a change of it overlaps nothing.
constexpr const char* kNobodysKey = "\xff";

constexpr const char* kReaderFolderPrefix = "perfleet-reader-";

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

// Compaction writes no table file with keys of two days or two tables, so that an old day's files are moved rather than
// rewritten while newer ones come in, and that a drop rewrites little. Days, because a reader keeps every file open.
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
    options.compression = rocksdb::kNoCompression;  // columns are packed by the collector
    options.paranoid_checks = true;
    // Only an unfinished last record, which nobody was promised, is dropped; damage before that is an error, not a
    // silent loss of what was acknowledged.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    options.write_buffer_size = memory_size_bytes / kMemoryParts;
    options.max_write_buffer_number = kMemtablesMax;
    options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
    options.max_log_file_size = kInfoLogSizeBytes;
    options.keep_log_file_num = kInfoLogFiles;
    options.stats_dump_period_sec = 0;

    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kXXH3;
    table.block_size = 16U << 10;
    table.block_cache = rocksdb::NewLRUCache(memory_size_bytes / kMemoryParts);
    table.cache_index_and_filter_blocks = true;  // so that they count towards the cache's bound
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

rocksdb::Options writer_options(std::size_t memory_size_bytes) {
    rocksdb::Options options = common_options(memory_size_bytes);
    options.create_if_missing = true;
    options.max_open_files = kWriterFilesMax;
    options.compaction_style = rocksdb::kCompactionStyleLevel;
    options.sst_partitioner_factory = std::make_shared<DayPartitionerFactory>();
    options.max_bgerror_resume_count = 0;  // recover() does it, and knows what may be lost
    options.level_compaction_dynamic_level_bytes = true;
    options.target_file_size_base = kTableFileSizeBytes;
    options.max_bytes_for_level_base = kFirstLevelSizeBytes;
    options.bytes_per_sync = 1U << 20;
    return options;
}

rocksdb::Options reader_options() {
    rocksdb::Options options = common_options(limits::kStoreMemorySizeBytes);
    options.max_open_files = -1;  // keeps files readable that the writer has deleted
    return options;
}

// A database for reading, with what must outlive it.
struct Opened {
    std::shared_ptr<rocksdb::Env> env;        // null: the system's
    std::size_t memory_size_bytes = 0;        // writers only
    std::string damage;                       // writers only: what opening complained of
    std::unique_ptr<TemporaryFolder> folder;  // readers only
    std::string generation;                   // readers only: changes when a writer opens the database anew
    std::unique_ptr<rocksdb::DB> db;          // closed first
};

// What writer and reader share. The database is held while it is read, so that a reader may take up another one.
class RocksdbEngine : public Engine {
public:
    RocksdbEngine(std::string directory, std::shared_ptr<Opened> opened)
        : directory_{std::move(directory)}, opened_{std::move(opened)} {}

    [[nodiscard]] std::string damage_at_open() const override { return opened()->damage; }

    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
        const std::shared_ptr<Opened> held = opened();
        if (held->db == nullptr) {
            return closed();
        }
        std::string value;
        const rocksdb::Status status = held->db->Get(rocksdb::ReadOptions{}, slice(key), &value);
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
        const std::shared_ptr<Opened> held = opened();
        if (held->db == nullptr) {
            return closed();
        }
        const rocksdb::Slice end = slice(range.end);
        rocksdb::ReadOptions options;
        options.iterate_upper_bound = &end;
        options.fill_cache = false;  // a scan reads each block once
        const std::unique_ptr<rocksdb::Iterator> at{held->db->NewIterator(options)};
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

    [[nodiscard]] Result<std::uint64_t> size_bytes(const KeyRange& range) const override {
        const std::shared_ptr<Opened> held = opened();
        if (held->db == nullptr) {
            return closed();
        }
        rocksdb::SizeApproximationOptions options;
        options.include_memtables = true;
        options.include_files = true;
        const rocksdb::Range bytes{slice(range.begin), slice(range.end)};
        std::uint64_t size_bytes = 0;
        const rocksdb::Status status =
            held->db->GetApproximateSizes(options, held->db->DefaultColumnFamily(), &bytes, 1, &size_bytes);
        if (!status.ok()) {
            return error_from(status, directory_ + ": size from " + describe_key(range.begin) + " on");
        }
        return size_bytes;
    }

protected:
    [[nodiscard]] const std::string& directory() const { return directory_; }

    [[nodiscard]] std::shared_ptr<Opened> opened() const {
        const std::lock_guard lock{mutex_};
        return opened_;
    }

    void replace(std::shared_ptr<Opened> opened) {
        const std::lock_guard lock{mutex_};
        opened_.swap(opened);
    }

    [[nodiscard]] Result<Done> result(const rocksdb::Status& status, const std::string& what) const {
        return status.ok() ? Result<Done>{Done{}} : error_from(status, directory_ + ": " + what);
    }

    [[nodiscard]] Error closed() const {
        return {ErrorCode::kUnavailable, directory_ + ": is closed after a failure and can't be opened yet"};
    }

private:
    std::string directory_;
    mutable std::mutex mutex_;
    std::shared_ptr<Opened> opened_;
};

rocksdb::Env& env_of(const std::shared_ptr<rocksdb::Env>& env) {
    return env == nullptr ? *rocksdb::Env::Default() : *env;
}

Error busy(const std::string& directory) {
    return {ErrorCode::kBusy, directory +
                                  ": another gateway is writing to this folder; stop it, or give this one "
                                  "another folder (--data)"};
}

bool says_locked(const rocksdb::Status& status) {
    return says(status, "lock hold by current process") || says(status, "While lock file");
}

// The last writer's logs without what nobody was promised, so that RocksDB opens them as far as they count.
Result<Done> cut_log_tail_locked(const std::string& directory, rocksdb::Env& env) {
    if (!check_reader_folder(directory).ok()) {
        return Done{};  // nothing there yet
    }
    rocksdb::FileLock* lock = nullptr;
    if (const rocksdb::Status status = env.LockFile(directory + "/LOCK", &lock); !status.ok()) {
        return says_locked(status) ? busy(directory) : error_from(status, directory + ": can't be opened");
    }
    auto cut = cut_log_tail(directory);
    (void)env.UnlockFile(lock);
    return cut;
}

Result<std::shared_ptr<Opened>> open_writer(const std::string& directory, std::shared_ptr<rocksdb::Env> env,
                                            std::size_t memory_size_bytes, bool compacts = true) {
    if (auto cut = cut_log_tail_locked(directory, env_of(env)); !cut.ok()) {
        return cut.error();
    }
    rocksdb::Options options = writer_options(memory_size_bytes);
    options.env = &env_of(env);
    options.disable_auto_compactions = !compacts;
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
    if (says_locked(status)) {
        return busy(directory);
    }
    // A table file is damaged or missing. The others are there, and what comes can be stored; reads of that file fail
    // and name it. (The logs have been checked above, for without these checks RocksDB would pass over damage in them.)
    std::string damage;
    if (status.IsCorruption()) {
        damage = directory + ": a table file is damaged or missing: " + status.ToString();
        options.paranoid_checks = false;
        options.skip_checking_sst_file_sizes_on_db_open = true;
        options.disable_auto_compactions = true;
        db = nullptr;
        status = rocksdb::DB::Open(options, directory, &db);
    }
    if (status.IsInvalidArgument()) {
        return Error{ErrorCode::kInvalid, directory + ": not a perfleet store: " + status.ToString()};
    }
    if (!status.ok()) {
        return error_from(status, directory + ": can't be opened");
    }
    auto opened = std::make_shared<Opened>();
    opened->env = std::move(env);
    opened->memory_size_bytes = memory_size_bytes;
    opened->damage = std::move(damage);
    opened->db.reset(db);
    return opened;
}

class RocksdbWriter final : public RocksdbEngine {
public:
    RocksdbWriter(std::string directory, std::shared_ptr<Opened> opened)
        : RocksdbEngine{std::move(directory), std::move(opened)}, synced_sequence_{db().GetLatestSequenceNumber()} {}

    [[nodiscard]] Result<Done> refresh() override { return Done{}; }

    // RocksDB can go on by itself after some failures, but not after all, and a log of which a sync has failed may
    // never get to the disk, whatever later syncs say. Opened anew, everything that can still be read of it goes into a
    // table file, durably.
    [[nodiscard]] Result<bool> recover() override {
        const std::optional<Error> before = failure();
        if (!before) {
            return false;
        }
        const std::shared_ptr<rocksdb::Env> env = opened()->env;
        const std::size_t memory_size_bytes = opened()->memory_size_bytes;
        if (before->code == ErrorCode::kFull && !has_room(env_of(env))) {
            return Error{*before};
        }
        auto closed_one = std::make_shared<Opened>();
        closed_one->env = env;
        closed_one->memory_size_bytes = memory_size_bytes;
        replace(std::move(closed_one));
        auto anew = open_writer(directory(), env, memory_size_bytes, compacts_);
        if (!anew.ok()) {
            if (anew.error().code != ErrorCode::kBusy) {  // whoever reads or erases still holds the one before
                set_failure(anew.error());
            }
            return anew.error();
        }
        replace(std::move(*anew));
        synced_sequence_ = db().GetLatestSequenceNumber();
        set_failure(std::nullopt);
        return true;
    }

    [[nodiscard]] Result<Done> write(const Changes& changes) override {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        rocksdb::WriteBatch batch;
        rocksdb::Status status = batch.PutLogData(sync_mark(synced_sequence_));
        for (std::size_t i = 0; i < changes.deletes.size() && status.ok(); ++i) {
            status = batch.Delete(slice(changes.deletes[i]));
        }
        for (std::size_t i = 0; i < changes.puts.size() && status.ok(); ++i) {
            status = batch.Put(slice(changes.puts[i].key), slice(changes.puts[i].value));
        }
        if (status.ok()) {
            status = db().Write(rocksdb::WriteOptions{}, &batch);
        }
        return changed(status, "writing");
    }

    [[nodiscard]] Result<Done> sync() override {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::uint64_t sequence = db().GetLatestSequenceNumber();
        if (const rocksdb::Status status = db().SyncWAL(); !status.ok()) {
            return changed(status, "syncing the write-ahead log");
        }
        if (sequence != synced_sequence_) {
            synced_sequence_ = sequence;
            rocksdb::WriteBatch batch;
            rocksdb::Status status = batch.PutLogData(sync_mark(sequence));
            if (status.ok()) {
                status = db().Write(rocksdb::WriteOptions{}, &batch);
            }
            (void)changed(status, "writing");  // what was asked for is durable: the next change is told
        }
        return Done{};
    }

    // Whole files are unlinked. What is left stands in files that other keys share: the deletion of it goes into a
    // table file of its own, because one that shared its file with newer keys would overlap, and have rewritten,
    // everything between.
    [[nodiscard]] Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::shared_ptr<Opened> held = opened();  // recover() waits for it
        if (held->db == nullptr) {
            return closed();
        }
        rocksdb::DB& db = *held->db;
        const rocksdb::Slice begin = slice(range.begin);
        const rocksdb::Slice end = slice(range.end);
        rocksdb::Status status = rocksdb::DeleteFilesInRange(&db, db.DefaultColumnFamily(), &begin, &end, false);
        if (status.ok()) {
            status = db.Flush(rocksdb::FlushOptions{});
        }
        if (status.ok()) {
            status = db.DeleteRange(rocksdb::WriteOptions{}, db.DefaultColumnFamily(), begin, end);
        }
        if (status.ok()) {
            status = db.Flush(rocksdb::FlushOptions{});
        }
        if (status.ok()) {
            rocksdb::CompactRangeOptions options;
            options.exclusive_manual_compaction = false;
            options.canceled = is_stopping;
            status = db.CompactRange(options, &begin, &end);
            if (status.IsIncomplete()) {
                return Done{};
            }
            if (status.IsCorruption()) {  // it is gone all the same; only its space isn't given back
                (void)changed(status, "deleting " + describe_key(range.begin));
                return Done{};
            }
        }
        // Readers forget what they had from the old log only when there is something in the new one.
        if (status.ok()) {
            status = db.Delete(rocksdb::WriteOptions{}, kNobodysKey);
        }
        return changed(status, "deleting " + describe_key(range.begin));
    }

private:
    [[nodiscard]] rocksdb::DB& db() { return *opened()->db; }

    [[nodiscard]] Result<Done> changed(const rocksdb::Status& status, const std::string& what) {
        if (status.ok()) {
            return Done{};
        }
        Error error = error_from(status, directory() + ": " + what);
        // A compaction has met a damaged table file, and would again. What is there stays readable without it.
        if (error.code == ErrorCode::kCorrupt) {
            compacts_ = false;
            error.code = ErrorCode::kIo;
        }
        set_failure(error);
        return error;
    }

    [[nodiscard]] std::optional<Error> failure() const {
        const std::lock_guard lock{failing_};
        return failure_;
    }
    void set_failure(std::optional<Error> failure) {
        const std::lock_guard lock{failing_};
        failure_ = std::move(failure);
    }

    // Opening writes what the logs hold into a table file. A store that can't be opened answers nobody, so it stays as
    // it is until it can.
    [[nodiscard]] bool has_room(rocksdb::Env& env) const {
        std::uint64_t needed_size_bytes = kRecoverRoomSizeBytes;
        std::error_code error;
        for (std::filesystem::directory_iterator at{directory(), error}, end; !error && at != end;
             at.increment(error)) {
            if (at->path().extension() == ".log") {
                std::error_code gone;
                const std::uint64_t size_bytes = at->file_size(gone);
                needed_size_bytes += gone ? 0 : size_bytes;
            }
        }
        std::uint64_t free_size_bytes = 0;
        return !env.GetFreeSpace(directory(), &free_size_bytes).ok() || free_size_bytes >= needed_size_bytes;
    }

    std::uint64_t synced_sequence_;  // opening makes durable what it finds
    mutable std::mutex failing_;     // between erase() and the others
    std::optional<Error> failure_;   // since which nothing is written
    std::atomic<bool> compacts_ = true;
};

// The name of the current manifest: each writer begins a new one.
std::string generation_of(const std::string& directory) {
    std::ifstream file{directory + "/CURRENT"};
    std::string text;
    std::getline(file, text);
    return text;
}

// A reader keeps every table file open, which the usual soft limit of 1,024 is soon too small for.
void raise_open_files_limit() {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)::setrlimit(RLIMIT_NOFILE, &limit);  // opening says so if it isn't enough
    }
}

// Not everything of the store because a table file is damaged or missing.
bool shows_less(const std::string& directory, rocksdb::DB& db) {
    std::vector<rocksdb::LiveFileMetaData> live;
    db.GetLiveFilesMetaData(&live);
    std::vector<std::string> known;
    for (const rocksdb::LiveFileMetaData& file : live) {
        known.push_back(std::filesystem::path{file.name}.filename().string());
    }
    return misses_table_files(directory, known);
}

// Of a store with a damaged or missing table file: what is there now, with an error where that file would be read.
rocksdb::Status open_damaged(const std::string& directory, rocksdb::Options options, Opened& opened) {
    options.paranoid_checks = false;
    options.skip_checking_sst_file_sizes_on_db_open = true;
    options.info_log = make_silent_log();
    options.max_open_files =
        kWriterFilesMax;  // with all of them open RocksDB has another way of reading, which stops here
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, directory, &db);
    opened.db.reset(db);
    return status;
}

bool includes_all(const std::set<std::string>& names, const std::set<std::string>& some) {
    return std::includes(names.begin(), names.end(), some.begin(), some.end());
}

// A log that is deleted between the secondary's look at the manifest and its look at the logs was in a table file by
// then, which it doesn't know: it would show neither, without a word. A second look shows it.
rocksdb::Status catch_up(const std::string& directory, rocksdb::DB& db) {
    for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
        const std::set<std::string> before = log_files(directory);
        const rocksdb::Status status = db.TryCatchUpWithPrimary();
        if (!status.ok() || includes_all(log_files(directory), before)) {
            return status;
        }
    }
    return rocksdb::Status::TryAgain("the writer deletes logs faster than they can be followed");
}

Result<std::shared_ptr<Opened>> open_secondary(const std::string& directory) {
    auto folder = TemporaryFolder::make(kReaderFolderPrefix);
    if (!folder.ok()) {
        return folder.error();
    }
    auto opened = std::make_shared<Opened>();
    opened->folder = std::move(*folder);
    rocksdb::Status status;
    rocksdb::Options options = reader_options();
    for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
        opened->generation = generation_of(directory);
        const std::set<std::string> logs = log_files(directory);
        rocksdb::DB* db = nullptr;
        status = rocksdb::DB::OpenAsSecondary(options, directory, opened->folder->path(), &db);
        if (status.ok()) {
            opened->db.reset(db);
            status = includes_all(log_files(directory), logs) ? status : catch_up(directory, *db);
        }
        if (status.ok()) {
            if (shows_less(directory, *db)) {
                opened->db.reset();
                status = open_damaged(directory, options, *opened);
            }
        }
        if (status.ok()) {
            return opened;
        }
        // A torn end of the log is only cut off by the next writer; until then a reader stops there.
        if (auto damage = find_log_damage(directory);
            status.IsCorruption() && damage.ok() && damage->has_value() && !(*damage)->was_synced) {
            options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
        }
    }
    return error_from(status, directory + ": can't be opened for reading");
}

class RocksdbReader final : public RocksdbEngine {
public:
    using RocksdbEngine::RocksdbEngine;

    // A secondary keeps values from the log of a writer that is gone, even when a later writer has replaced them, so
    // after a change of writers it is opened anew.
    [[nodiscard]] Result<Done> refresh() override {
        const std::lock_guard lock{refresh_mutex_};
        const std::shared_ptr<Opened> held = opened();
        if (generation_of(directory()) == held->generation && catch_up(directory(), *held->db).ok() &&
            !shows_less(directory(), *held->db)) {
            return Done{};
        }
        auto anew = open_secondary(directory());
        if (!anew.ok()) {
            return anew.error();
        }
        replace(std::move(*anew));
        return Done{};
    }

    [[nodiscard]] Result<Done> write(const Changes&) override { return refusal(); }
    [[nodiscard]] Result<Done> sync() override { return refusal(); }
    [[nodiscard]] Result<Done> erase(const KeyRange&, std::atomic<bool>*) override { return refusal(); }

private:
    [[nodiscard]] Error refusal() const { return {ErrorCode::kUnsupported, directory() + ": is open for reading"}; }

    std::mutex refresh_mutex_;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_rocksdb_writer_engine(const std::string& directory,
                                                           std::shared_ptr<rocksdb::Env> env,
                                                           std::size_t memory_size_bytes) {
    if (auto prepared = prepare_writer_folder(directory); !prepared.ok()) {
        return prepared.error();
    }
    auto opened = open_writer(directory, std::move(env), memory_size_bytes);
    if (!opened.ok()) {
        return opened.error();
    }
    return std::unique_ptr<Engine>{std::make_unique<RocksdbWriter>(directory, std::move(*opened))};
}

Result<std::unique_ptr<Engine>> open_rocksdb_reader_engine(const std::string& directory) {
    if (auto checked = check_reader_folder(directory); !checked.ok()) {
        return checked.error();
    }
    raise_open_files_limit();
    TemporaryFolder::remove_abandoned(kReaderFolderPrefix);
    auto opened = open_secondary(directory);
    if (!opened.ok()) {
        return opened.error();
    }
    return std::unique_ptr<Engine>{std::make_unique<RocksdbReader>(directory, std::move(*opened))};
}

}  // namespace perfleet
