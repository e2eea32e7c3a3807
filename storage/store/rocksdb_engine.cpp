#include "storage/store/rocksdb_engine.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
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
#include "storage/store/disk_reserve.h"
#include "storage/store/folder.h"
#include "storage/store/log_tail.h"
#include "storage/store/rocksdb_options.h"
#include "storage/store/silent_log.h"
#include "storage/store/table_files.h"

namespace perfleet {
namespace {

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
    RocksdbWriter(std::string directory, std::shared_ptr<Opened> opened, DiskReserve reserve)
        : RocksdbEngine{std::move(directory), std::move(opened)},
          synced_sequence_{db().GetLatestSequenceNumber()},
          logged_sequence_{synced_sequence_},
          reserve_{std::move(reserve)} {}

    [[nodiscard]] Result<Done> refresh() override { return Done{}; }

    // RocksDB can go on by itself after some failures, but not after all, and a log of which a sync has failed may
    // never get to the disk, whatever later syncs say. Opened anew, everything that can still be read of it goes into a
    // table file, durably.
    [[nodiscard]] Result<bool> recover(GoOn purpose) override {
        const std::optional<Error> before = failure();
        if (!before) {
            const bool needs_reserve = purpose == GoOn::kToStore && reserve_.is_missing();
            auto made = needs_reserve ? reserve_.make(kRecoverRoomSizeBytes) : Done{};
            return made.ok() ? Result<bool>{false} : made.error();
        }
        const std::shared_ptr<rocksdb::Env> env = opened()->env;
        const std::size_t memory_size_bytes = opened()->memory_size_bytes;
        if (before->code == ErrorCode::kFull && !has_room_for(purpose, env_of(env))) {
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
        logged_sequence_ = synced_sequence_;
        set_failure(std::nullopt);
        if (purpose == GoOn::kToStore && reserve_.is_missing()) {
            (void)reserve_.make(0);  // room was there for it; if it is gone again, the next call says so
        }
        return true;
    }

    [[nodiscard]] bool is_for_drops_only() const override { return reserve_.is_missing(); }

    [[nodiscard]] Result<Done> write(const Changes& changes) override { return write_changes(changes, true); }

    // Not to the log: it is in a table file sooner or later, behind everything before.
    [[nodiscard]] Result<Done> rewrite(const Changes& changes) override { return write_changes(changes, false); }

    [[nodiscard]] Result<Done> settle() override {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::shared_ptr<Opened> held = opened();  // recover() waits for it
        return held->db == nullptr ? closed() : changed(held->db->Flush(rocksdb::FlushOptions{}), "writing");
    }

    [[nodiscard]] Result<Done> sync() override {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::uint64_t sequence = logged_sequence();
        if (const rocksdb::Status status = db().SyncWAL(); !status.ok()) {
            return changed(status, "syncing the write-ahead log");
        }
        if (sequence != synced_sequence_) {
            synced_sequence_ = sequence;
            const std::lock_guard lock{logging_};
            rocksdb::WriteBatch batch;
            rocksdb::Status status = batch.PutLogData(sync_mark(sequence, logged_sequence_));
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
            const std::lock_guard lock{logging_};
            status = db.DeleteRange(rocksdb::WriteOptions{}, db.DefaultColumnFamily(), begin, end);
            logged_sequence_ = db.GetLatestSequenceNumber();
        }
        if (status.ok()) {
            status = db.Flush(rocksdb::FlushOptions{});
        }
        if (status.ok() && has_room_to_compact(*held, range)) {
            rocksdb::CompactRangeOptions options;
            options.exclusive_manual_compaction = false;
            options.canceled = is_stopping;
            status = db.CompactRange(options, &begin, &end);
            if (status.IsIncomplete() || status.IsCompactionTooLarge()) {
                return Done{};
            }
            if (status.IsCorruption()) {  // it is gone all the same; only its space isn't given back
                (void)changed(status, "deleting " + describe_key(range.begin));
                return Done{};
            }
        }
        // Readers forget what they had from the old log only when there is something in the new one.
        if (status.ok()) {
            const std::lock_guard lock{logging_};
            status = db.Delete(rocksdb::WriteOptions{}, kNobodysKey);
            logged_sequence_ = db.GetLatestSequenceNumber();
        }
        return changed(status, "deleting " + describe_key(range.begin));
    }

private:
    [[nodiscard]] rocksdb::DB& db() { return *opened()->db; }

    [[nodiscard]] Result<Done> write_changes(const Changes& changes, bool is_logged) {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::lock_guard lock{logging_};
        rocksdb::WriteBatch batch;
        rocksdb::Status status;
        if (is_logged) {
            status = batch.PutLogData(sync_mark(synced_sequence_, logged_sequence_));
        }
        for (std::size_t i = 0; i < changes.deletes.size() && status.ok(); ++i) {
            status = batch.Delete(slice(changes.deletes[i]));
        }
        for (std::size_t i = 0; i < changes.puts.size() && status.ok(); ++i) {
            status = batch.Put(slice(changes.puts[i].key), slice(changes.puts[i].value));
        }
        if (status.ok()) {
            rocksdb::WriteOptions options;
            options.disableWAL = !is_logged;
            status = db().Write(options, &batch);
        }
        if (status.ok() && is_logged) {
            logged_sequence_ = db().GetLatestSequenceNumber();
        }
        return changed(status, "writing");
    }

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

    // A compaction writes what it keeps of these files before it deletes them. On a disk that is too full for that it
    // would take what else can be dropped with; later ones give the space back.
    [[nodiscard]] bool has_room_to_compact(const Opened& held, const KeyRange& range) const {
        std::vector<rocksdb::LiveFileMetaData> files;
        held.db->GetLiveFilesMetaData(&files);
        std::uint64_t needed_size_bytes = kRecoverRoomSizeBytes;
        for (const rocksdb::LiveFileMetaData& file : files) {
            needed_size_bytes += file.largestkey >= range.begin && file.smallestkey < range.end ? file.size : 0;
        }
        return has_free(env_of(held.env), needed_size_bytes);
    }

    [[nodiscard]] bool has_free(rocksdb::Env& env, std::uint64_t needed_size_bytes) const {
        std::uint64_t free_size_bytes = 0;
        return !env.GetFreeSpace(directory(), &free_size_bytes).ok() || free_size_bytes >= needed_size_bytes;
    }

    [[nodiscard]] bool has_room_for(GoOn purpose, rocksdb::Env& env) {
        if (purpose == GoOn::kToStore) {
            return has_room(env, reserve_.missing_size_bytes());
        }
        return has_room(env, 0) || (reserve_.give_up() && has_room(env, 0));
    }

    // Opening writes what the logs hold into a table file. A store that can't be opened answers nobody, so it stays as
    // it is until it can.
    [[nodiscard]] bool has_room(rocksdb::Env& env, std::uint64_t more_size_bytes) const {
        std::uint64_t needed_size_bytes = kRecoverRoomSizeBytes + more_size_bytes;
        std::error_code error;
        for (std::filesystem::directory_iterator at{directory(), error}, end; !error && at != end;
             at.increment(error)) {
            if (at->path().extension() == ".log") {
                std::error_code gone;
                const std::uint64_t size_bytes = at->file_size(gone);
                needed_size_bytes += gone ? 0 : size_bytes;
            }
        }
        return has_free(env, needed_size_bytes);
    }

    [[nodiscard]] std::uint64_t logged_sequence() const {
        const std::lock_guard lock{logging_};
        return logged_sequence_;
    }

    std::uint64_t synced_sequence_;  // opening makes durable what it finds
    mutable std::mutex logging_;     // of all that is written, by erase() too
    std::uint64_t logged_sequence_;  // of the last change that went to the log
    mutable std::mutex failing_;     // between erase() and the others
    std::optional<Error> failure_;   // since which nothing is written
    std::atomic<bool> compacts_ = true;
    DiskReserve reserve_;
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
        rocksdb::Status status = db.TryCatchUpWithPrimary();
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
                                                           const std::shared_ptr<rocksdb::Env>& env,
                                                           std::size_t memory_size_bytes,
                                                           std::uint64_t reserve_size_bytes) {
    if (auto prepared = prepare_writer_folder(directory); !prepared.ok()) {
        return prepared.error();
    }
    DiskReserve reserve{env_of(env), directory, reserve_size_bytes};
    auto opened = open_writer(directory, env, memory_size_bytes);
    if (opened.ok()) {
        (void)reserve.make(kRecoverRoomSizeBytes);  // without it nothing is stored, and that says why
    } else if (opened.error().code == ErrorCode::kFull && reserve.give_up()) {
        opened = open_writer(directory, env, memory_size_bytes);
    }
    if (!opened.ok()) {
        return opened.error();
    }
    return std::unique_ptr<Engine>{std::make_unique<RocksdbWriter>(directory, std::move(*opened), std::move(reserve))};
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
