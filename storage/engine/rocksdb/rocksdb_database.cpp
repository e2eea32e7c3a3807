#include "storage/engine/rocksdb/rocksdb_database.h"

#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/rocksdb/log_tail.h"
#include "storage/engine/rocksdb/lost_files.h"
#include "storage/engine/rocksdb/rocksdb_options.h"
#include "storage/engine/rocksdb/synced_log.h"
#include "storage/engine/rocksdb/table_files.h"

namespace perfleet {
namespace {

class ManifestListener final : public rocksdb::EventListener {
public:
    explicit ManifestListener(std::shared_ptr<ManifestCopier> copier) : copier_{std::move(copier)} {}

    void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { copier_->update(); }
    void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { copier_->update(); }

private:
    std::shared_ptr<ManifestCopier> copier_;
};

constexpr const char* kReaderFolderPrefix = "perfleet-reader-";

// A reader may meet the writer while it replaces a file; then the reader tries again.
constexpr int kReaderAttempts = 8;

// How often RocksDB looked for a table file that wasn't there, in all databases of the process.
std::atomic<std::uint64_t> missed_tables{0};

// The system's file system, but files are created for their owner alone, whatever the umask
// (Env::SetAllowNonOwnerAccess does nothing in RocksDB 7.8), and only regular files are read: a pipe would block.
class OwnersFiles final : public rocksdb::FileSystemWrapper {
public:
    using rocksdb::FileSystemWrapper::FileSystemWrapper;
    const char* Name() const override { return "perfleet.OwnersFiles"; }
    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* context) override {
        return owned(target()->NewWritableFile(path, options, file, context), path);
    }
    rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                        rocksdb::IODebugContext* context) override {
        return is_no_regular_file(path) ? missing(path) : target()->NewSequentialFile(path, options, file, context);
    }
    rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                          rocksdb::IODebugContext* context) override {
        return seen(
            is_no_regular_file(path) ? missing(path) : target()->NewRandomAccessFile(path, options, file, context),
            path);
    }
    rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options, std::uint64_t* size_bytes,
                                  rocksdb::IODebugContext* context) override {
        return seen(target()->GetFileSize(path, options, size_bytes, context), path);
    }
    rocksdb::IOStatus FileExists(const std::string& path, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* context) override {
        return is_no_regular_file(path) ? missing(path) : target()->FileExists(path, options, context);
    }
    // Without logs that are no files: a reader that can't open a log takes it for one that the writer has just deleted,
    // and reads no later one.
    rocksdb::IOStatus GetChildren(const std::string& folder, const rocksdb::IOOptions& options,
                                  std::vector<std::string>* names, rocksdb::IODebugContext* context) override {
        const rocksdb::IOStatus listed = target()->GetChildren(folder, options, names, context);
        std::erase_if(*names, [&](const std::string& name) {
            return name.ends_with(".log") && is_no_regular_file(folder + "/" + name);
        });
        return listed;
    }
    rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                               rocksdb::IODebugContext* context) override {
        return owned(target()->LockFile(path, options, lock, context), path);
    }

private:
    static rocksdb::IOStatus missing(const std::string& path) {
        return rocksdb::IOStatus::PathNotFound(path, "No such file");
    }
    static rocksdb::IOStatus seen(rocksdb::IOStatus looked, const std::string& path) {
        if ((looked.IsNotFound() || looked.IsPathNotFound()) && path.ends_with(".sst")) {
            ++missed_tables;
        }
        return looked;
    }
    static rocksdb::IOStatus owned(rocksdb::IOStatus made, const std::string& path) {
        if (made.ok()) {
            (void)::chmod(path.c_str(), S_IRUSR | S_IWUSR);
        }
        return made;
    }
};

bool says(const rocksdb::Status& status, std::string_view words) {
    return status.ToString().find(words) != std::string::npos;
}

Error busy(const std::string& directory) {
    return {ErrorCode::kBusy, directory +
                                  ": another process is writing to this folder (perfleet-gateway, record or import); "
                                  "stop it, or name another folder"};
}

// RocksDB's text. For a missing table file RocksDB reports the old suffix, which it tries last; restores ".sst".
std::string text_of(const rocksdb::Status& status) {
    constexpr std::string_view kNameOfBefore = ".ldb";
    std::string text = status.ToString();
    for (std::size_t at = text.find(kNameOfBefore); at != std::string::npos; at = text.find(kNameOfBefore, at)) {
        text.replace(at, kNameOfBefore.size(), ".sst");
    }
    return text;
}

bool says_locked(const rocksdb::Status& status) {
    return says(status, "lock hold by current process") || says(status, "While lock file");
}

// The outcome of a writer's preparation, before RocksDB opens the folder and may delete files it doesn't know.
struct Prepared {
    bool has_lost_logs = false;  // if so, RocksDB must skip unreadable records
    std::string damage;          // of the manifest, which was restored
};

Result<Done> set_other_tables_aside(const std::string& directory, const Manifest& manifest) {
    std::error_code error;
    for (const std::string& name : names_in(directory, ".sst", error)) {
        if (!manifest.tables.contains(std::strtoull(name.c_str(), nullptr, 10))) {
            PERFLEET_TRY(set_aside(directory, name));
        }
    }
    return Done{};
}

// Restores the manifest from its copy, and cuts unacknowledged records off the last writer's logs.
Result<Prepared> prepare_files(const std::string& directory) {
    Prepared prepared;
    const auto manifest = PERFLEET_TRY(find_manifest(directory));
    if (!manifest.damage.empty()) {
        PERFLEET_TRY(restore_manifest(directory, manifest));
        prepared.damage = directory + "/" + manifest.file + " " + manifest.damage +
                          ": it is restored from its copy, with all table files that it named";
    }
    if (manifest.content && !find_log_faults(directory).gap.empty()) {  // an older manifest names fewer table files
        PERFLEET_TRY(set_other_tables_aside(directory, *manifest.content));
    }
    if (is_no_regular_file(directory + "/IDENTITY")) {  // RocksDB creates a new one
        PERFLEET_TRY(set_aside(directory, "IDENTITY"));
    }
    prepared.has_lost_logs = PERFLEET_TRY(cut_log_tail(directory));
    PERFLEET_TRY(forget_synced_logs(directory));  // opening deletes the logs that it lists
    return prepared;
}

Result<Prepared> prepare_files_locked(const std::string& directory, rocksdb::Env& env) {
    if (!check_reader_folder(directory).ok()) {
        return Prepared{};  // no store yet
    }
    rocksdb::FileLock* lock = nullptr;
    if (const rocksdb::Status status = env.LockFile(directory + "/LOCK", &lock); !status.ok()) {
        return says_locked(status) ? busy(directory) : rocksdb_error(status, directory + ": can't be opened");
    }
    auto prepared = prepare_files(directory);
    (void)env.UnlockFile(lock);
    return prepared;
}

// The name of the current manifest identifies a writer: each one begins a new manifest.
std::string generation_of(const std::string& directory) {
    return read_regular_file(directory + "/CURRENT").value_or("");
}

// A reader keeps every table file open; the usual soft limit of 1,024 is soon too small.
void raise_open_files_limit() {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)::setrlimit(RLIMIT_NOFILE, &limit);  // if it isn't enough, opening reports it
    }
}

// True if something of the store isn't readable because a table file is damaged or missing.
bool shows_less(const std::string& directory, rocksdb::DB& db) {
    std::vector<rocksdb::LiveFileMetaData> live;
    db.GetLiveFilesMetaData(&live);
    std::vector<std::string> known;
    for (const rocksdb::LiveFileMetaData& file : live) {
        known.push_back(std::filesystem::path{file.name}.filename().string());
    }
    return misses_table_files(directory, known);
}

// Prepares options so that the store opens although these files can't be opened, or others are damaged: all of them are
// left out. `others` as in env_with_empty_tables().
Result<Done> prepare_damaged(const std::string& directory, const std::vector<TableFileCheck>& lost,
                             std::map<std::string, std::string> others, rocksdb::Options& options,
                             RocksdbDatabase& opened) {
    options.paranoid_checks = false;
    options.skip_checking_sst_file_sizes_on_db_open = true;
    options.disable_auto_compactions = true;
    if (lost.empty() && others.empty()) {
        return Done{};
    }
    auto env = env_with_empty_tables(env_of(opened.env), lost, std::move(others));
    if (!env.ok()) {
        return Error{env.error().code, directory + "/" + env.error().message};
    }
    opened.over_env = std::move(*env);
    opened.known.lost = lost_ranges(directory, lost);
    for (const DamagedRange& range : opened.known.lost) {
        opened.known.at_open.push_back(range.error.message);
    }
    options.env = opened.over_env.get();
    options.verify_sst_unique_id_in_manifest = false;  // stand-in tables have other ids
    return Done{};
}

// Opens a store with damaged or missing files read-only, in its present state.
Result<rocksdb::Status> open_damaged(const std::string& directory, rocksdb::Options options, RocksdbDatabase& opened) {
    opened.known.at_open.clear();
    std::map<std::string, std::string> others;
    auto manifest = PERFLEET_TRY(find_manifest(directory));
    if (!manifest.damage.empty()) {
        PERFLEET_TRY(restore_manifest(opened.folder->path(), manifest));
        for (const std::string& name : {manifest.file, std::string{"CURRENT"}}) {
            others.emplace(name, opened.folder->path() + "/" + name);
        }
        opened.known.at_open.push_back(directory + "/" + manifest.file + " " + manifest.damage +
                                       ": its copy is read in its place; the gateway restores it at its next start");
    }
    const auto lost = PERFLEET_TRY(lost_table_files(directory));
    for (const std::string& log : other_logs(directory)) {  // RocksDB's assertions would abort on such a log
        const std::string empty = opened.folder->path() + "/" + log + ".empty";
        std::ofstream{empty}.close();
        others.emplace(log, empty);
    }
    PERFLEET_TRY(prepare_damaged(directory, lost, std::move(others), options, opened));
    options.max_open_files = kWriterFilesMax;  // with all files open, RocksDB reads in another way, which fails here
    const std::uint64_t missed_before = missed_tables;
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, directory, &db);
    opened.db.reset(db);
    return missed_tables == missed_before ? status : rocksdb::Status::TryAgain("a writer replaced a table file");
}

void add_log_losses(const std::string& directory, const std::vector<std::string>& losses, RocksdbDatabase& opened) {
    opened.known.has_lost_logs = !losses.empty();
    for (const std::string& loss : losses) {
        opened.known.at_open.push_back(directory + ": " + loss);
    }
}

// Recorded losses, and new ones. Logs are searched for damage only if `is_damaged`: if RocksDB reported damage.
std::vector<std::string> losses_seen(const std::string& directory, bool is_damaged) {
    std::vector<std::string> losses = log_losses(directory);
    if (is_damaged) {
        if (auto damage = find_log_damage(directory); damage.ok() && damage->has_value() && (*damage)->was_synced) {
            losses.push_back(describe_log_loss(directory, **damage));
        }
    } else {
        for (const SyncedLog& log : find_log_faults(directory).logs) {
            losses.push_back(describe_log_loss(directory, {log_file_name(log.number), log.size_bytes, true}));
        }
    }
    return losses;
}

// A secondary silently misses changes if, while it catches up,
// - a log is deleted after it read the manifest and before it reads the logs: they are in a table file unknown to it;
//   a second catch-up finds them;
// - a table file is deleted that it has just read of in the manifest: it keeps the table files that it had, but drops
//   the changes from its memory that went into the deleted one. Reopening it helps.
rocksdb::Status catch_up_once(const std::string& directory, rocksdb::DB& db) {
    for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
        const LogFiles before = log_files(directory);
        const std::uint64_t missed_before = missed_tables;
        rocksdb::Status status = db.TryCatchUpWithPrimary();
        if (status.ok() && missed_tables != missed_before) {
            break;
        }
        if (!status.ok() || has_all(log_files(directory), before)) {
            return status;
        }
    }
    return rocksdb::Status::TryAgain("the writer replaces files faster than they can be followed");
}

// Numbers of the logs that hold anything, ascending.
std::vector<std::uint64_t> written_logs(const std::string& directory) {
    std::vector<std::uint64_t> numbers;
    for (const std::string& name : log_files(directory)) {
        std::error_code error;
        if (std::filesystem::file_size(directory + "/" + name, error) > 0 && !error) {
            numbers.push_back(std::strtoull(name.c_str(), nullptr, 10));
        }
    }
    return numbers;
}

std::uint64_t property(rocksdb::DB& db, const std::string& name) {
    std::uint64_t value = 0;
    return db.GetIntProperty(name, &value) ? value : 0;
}

// The logs before this one are in the table files that the database shows.
std::uint64_t first_needed_log(rocksdb::DB& db) { return property(db, rocksdb::DB::Properties::kMinLogNumberToKeep); }

}  // namespace

rocksdb::Env& env_of(const std::shared_ptr<rocksdb::Env>& env) {
    static const std::unique_ptr<rocksdb::Env> own =
        rocksdb::NewCompositeEnv(std::make_shared<OwnersFiles>(rocksdb::FileSystem::Default()));
    return env == nullptr ? *own : *env;
}

bool has_free(rocksdb::Env& env, const std::string& directory, std::uint64_t needed_size_bytes) {
    std::uint64_t free_size_bytes = 0;
    return !env.GetFreeSpace(directory, &free_size_bytes).ok() || free_size_bytes >= needed_size_bytes;
}

std::uint64_t logs_size_bytes(const std::string& directory) { return size_of_files(directory, ".log"); }

Error rocksdb_error(const rocksdb::Status& status, const std::string& what) {
    const std::string message = what + ": " + text_of(status);
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

Result<std::shared_ptr<RocksdbDatabase>> open_to_write(const std::string& directory, std::shared_ptr<rocksdb::Env> env,
                                                       std::size_t memory_size_bytes, bool compacts) {
    const auto prepared = PERFLEET_TRY(prepare_files_locked(directory, env_of(env)));
    if (const std::uint64_t needed = kOpenRoomSizeBytes + logs_size_bytes(directory);
        !has_free(env_of(env), directory, needed)) {
        return Error{ErrorCode::kFull, directory + ": the disk is full: opening the store takes " +
                                           std::to_string((needed >> 20) + 1) +
                                           " MiB, which aren't free; free some space"};
    }
    rocksdb::Options options = writer_options(memory_size_bytes);
    options.env = &env_of(env);
    options.disable_auto_compactions = !compacts;
    if (prepared.has_lost_logs) {
        options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    }
    auto opened = std::make_shared<RocksdbDatabase>();
    opened->env = std::move(env);
    opened->memory_size_bytes = memory_size_bytes;
    opened->manifest_copier = std::make_shared<ManifestCopier>(directory);
    options.listeners.push_back(std::make_shared<ManifestListener>(opened->manifest_copier));
    if (!prepared.damage.empty()) {
        opened->known.at_open.push_back(prepared.damage);
    }
    // If a table file is damaged, missing or foreign, the other files stay readable and new rows can be stored; reads
    // of that file fail and name it, or learn which range it held. (The logs are checked above: without these checks
    // RocksDB would skip damage in them.)
    const auto lost = PERFLEET_TRY(lost_table_files(directory));
    if (!lost.empty()) {
        PERFLEET_TRY(prepare_damaged(directory, lost, {}, options, *opened));
    }
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
    if (says_locked(status)) {
        return busy(directory);
    }
    if (status.IsCorruption() && lost.empty()) {
        opened->known.at_open.push_back(directory + ": a table file is damaged: " + text_of(status));
        PERFLEET_TRY(prepare_damaged(directory, lost, {}, options, *opened));
        db = nullptr;
        status = rocksdb::DB::Open(options, directory, &db);
    }
    if (status.IsInvalidArgument()) {
        return Error{ErrorCode::kInvalid, directory + ": not a perfleet store: " + status.ToString()};
    }
    if (!status.ok()) {
        return rocksdb_error(status, directory + ": can't be opened");
    }
    opened->db.reset(db);
    opened->manifest_copier->update();
    add_log_losses(directory, recorded_log_losses(directory), *opened);
    return opened;
}

Result<std::shared_ptr<RocksdbDatabase>> open_to_read(const std::string& directory) {
    raise_open_files_limit();
    TemporaryFolder::remove_abandoned(kReaderFolderPrefix);
    auto folder = PERFLEET_TRY(TemporaryFolder::make(kReaderFolderPrefix));
    auto opened = std::make_shared<RocksdbDatabase>();
    opened->folder = std::move(folder);
    rocksdb::Status status;
    rocksdb::Options options = reader_options();
    options.env = &env_of(nullptr);
    for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
        opened->generation = generation_of(directory);
        const LogFiles logs = log_files(directory);
        const std::vector<std::uint64_t> written = written_logs(directory);
        const std::uint64_t missed_before = missed_tables;
        const auto manifest = PERFLEET_TRY(find_manifest(directory));
        rocksdb::DB* db = nullptr;
        const bool is_damaged = !manifest.damage.empty() || !other_logs(directory).empty();
        if (!is_damaged) {
            status = rocksdb::DB::OpenAsSecondary(options, directory, opened->folder->path(), &db);
        }
        if (db != nullptr) {
            opened->db.reset(db);
            if (missed_tables != missed_before || !has_all(log_files(directory), logs)) {
                status = catch_up_once(directory, *db);
            }
        }
        // A log that was flushed is still there: the writer deletes it in a moment, or a crash left it. A secondary
        // reads it, with the effect that catch_up() describes; a read-only instance skips it.
        const bool has_flushed = db != nullptr && !written.empty() && written.front() < first_needed_log(*db);
        if (is_damaged || has_flushed ||
            (status.ok() ? shows_less(directory, *db) : misses_table_files(directory, {}))) {
            opened->db.reset();
            status = PERFLEET_TRY(open_damaged(directory, options, *opened));
        }
        if (status.ok()) {
            add_log_losses(directory, losses_seen(directory, false), *opened);
            return opened;
        }
        auto damage = status.IsCorruption() ? find_log_damage(directory) : std::optional<LogDamage>{};
        if (!damage.ok() || !damage->has_value()) {
            continue;
        }
        if (!(*damage)->was_synced) {  // unacknowledged: the next writer cuts it off; until then a reader stops there
            options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
            continue;
        }
        // A secondary instance stops at damage, so records after it are read without a secondary.
        rocksdb::Options skipping = options;
        skipping.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
        auto skipped = open_damaged(directory, skipping, *opened);
        if (skipped.ok() && skipped->ok()) {
            add_log_losses(directory, losses_seen(directory, true), *opened);
            return opened;
        }
    }
    return rocksdb_error(status, directory + ": can't be opened for reading");
}

// A secondary keeps in memory what it read from a log until it reads the next one, even if that log was flushed to a
// table file. Compaction removes deleted values, and lowers the numbers that identify the newest value: values in
// memory would come back in their place.
bool catch_up(const std::string& directory, RocksdbDatabase& reader) {
    const std::vector<std::uint64_t> written = written_logs(directory);
    if (generation_of(directory) != reader.generation || !catch_up_once(directory, *reader.db).ok() ||
        shows_less(directory, *reader.db)) {
        return false;
    }
    const bool has_memory = property(*reader.db, rocksdb::DB::Properties::kNumEntriesActiveMemTable) > 0;
    return !has_memory || (!written.empty() && written.back() >= first_needed_log(*reader.db));
}

}  // namespace perfleet
