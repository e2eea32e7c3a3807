#include "storage/engine/rocksdb/rocksdb_database.h"

#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/rocksdb/log_tail.h"
#include "storage/engine/rocksdb/lost_files.h"
#include "storage/engine/rocksdb/manifest_copy.h"
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

// A reader may look at the moment at which the writer replaces a file; then it looks again.
constexpr int kReaderAttempts = 8;

// The system's, but what is made is its owner's alone, whatever the umask (Env::SetAllowNonOwnerAccess does nothing in
// RocksDB 7.8), and what is read is a regular file: a pipe would block.
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
        return is_no_regular_file(path) ? missing(path) : target()->NewRandomAccessFile(path, options, file, context);
    }
    rocksdb::IOStatus FileExists(const std::string& path, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* context) override {
        return is_no_regular_file(path) ? missing(path) : target()->FileExists(path, options, context);
    }
    rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                               rocksdb::IODebugContext* context) override {
        return owned(target()->LockFile(path, options, lock, context), path);
    }

private:
    static rocksdb::IOStatus missing(const std::string& path) {
        return rocksdb::IOStatus::PathNotFound(path, "No such file");
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

// What RocksDB says; of a missing table file it tells the name that such files had long ago, which it tries last.
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

// What a writer does before RocksDB opens the folder, which may then delete what it doesn't know.
struct Prepared {
    bool has_lost_logs = false;  // then RocksDB must skip what it can't read
    std::string damage;          // of the manifest, which was mended
};

Result<Done> set_other_tables_aside(const std::string& directory, const Manifest& manifest) {
    std::vector<std::string> others;
    std::error_code error;
    for (std::filesystem::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
        const std::filesystem::path& path = at->path();
        if (path.extension() == ".sst" && !manifest.tables.contains(std::strtoull(path.stem().c_str(), nullptr, 10))) {
            others.push_back(path.filename().string());
        }
    }
    for (const std::string& other : others) {
        PERFLEET_TRY(set_aside(directory, other));
    }
    return Done{};
}

// The manifest has everything again that its copy has, and the last writer's logs are without what nobody was promised.
Result<Prepared> prepare_files(const std::string& directory) {
    Prepared prepared;
    const auto manifest = PERFLEET_TRY(find_manifest(directory));
    if (!manifest.damage.empty()) {
        PERFLEET_TRY(restore_manifest(directory, manifest));
        prepared.damage = directory + "/" + manifest.file + " " + manifest.damage +
                          ": it is restored from its copy, with all table files that it named";
    }
    if (manifest.content && !find_log_faults(directory).gap.empty()) {  // it is an older one, which doesn't name them
        PERFLEET_TRY(set_other_tables_aside(directory, *manifest.content));
    }
    if (is_no_regular_file(directory + "/IDENTITY")) {  // RocksDB makes another one
        PERFLEET_TRY(set_aside(directory, "IDENTITY"));
    }
    prepared.has_lost_logs = PERFLEET_TRY(cut_log_tail(directory));
    PERFLEET_TRY(forget_synced_logs(directory));  // opening deletes the log that it names
    return prepared;
}

Result<Prepared> prepare_files_locked(const std::string& directory, rocksdb::Env& env) {
    if (!check_reader_folder(directory).ok()) {
        return Prepared{};  // nothing there yet
    }
    rocksdb::FileLock* lock = nullptr;
    if (const rocksdb::Status status = env.LockFile(directory + "/LOCK", &lock); !status.ok()) {
        return says_locked(status) ? busy(directory) : rocksdb_error(status, directory + ": can't be opened");
    }
    auto prepared = prepare_files(directory);
    (void)env.UnlockFile(lock);
    return prepared;
}

// The name of the current manifest: each writer begins a new one.
std::string generation_of(const std::string& directory) {
    return read_regular_file(directory + "/CURRENT").value_or("");
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

// So that a store opens in which these files can't be opened, or others are damaged: they are left out. `others` as in
// env_with_empty_tables().
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
    options.verify_sst_unique_id_in_manifest = false;  // of tables that stand in for others
    return Done{};
}

// Of a store with a damaged or missing file: what is there now.
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
    for (const std::string& log : other_logs(directory)) {  // RocksDB's assertions end the program at such a one
        const std::string empty = opened.folder->path() + "/" + log + ".empty";
        std::ofstream{empty}.close();
        others.emplace(log, empty);
    }
    PERFLEET_TRY(prepare_damaged(directory, lost, std::move(others), options, opened));
    options.max_open_files =
        kWriterFilesMax;  // with all of them open RocksDB has another way of reading, which stops here
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, directory, &db);
    opened.db.reset(db);
    return status;
}

void add_log_losses(const std::string& directory, const std::vector<std::string>& losses, RocksdbDatabase& opened) {
    opened.known.has_lost_logs = !losses.empty();
    for (const std::string& loss : losses) {
        opened.known.at_open.push_back(directory + ": " + loss);
    }
}

// What no writer has seen yet; only `is_damaged`, after RocksDB has said so, is worth reading the logs for.
std::vector<std::string> log_losses(const std::string& directory, bool is_damaged) {
    std::vector<std::string> losses = recorded_log_losses(directory);
    const LogFaults faults = find_log_faults(directory);
    if (!faults.gap.empty() && std::find(losses.begin(), losses.end(), faults.gap) == losses.end()) {
        losses.push_back(faults.gap);
    }
    if (is_damaged) {
        if (auto damage = find_log_damage(directory); damage.ok() && damage->has_value() && (*damage)->was_synced) {
            losses.push_back(describe_log_loss(directory, **damage));
        }
    } else {
        for (const SyncedLog& log : faults.logs) {
            losses.push_back(describe_log_loss(directory, {log_file_name(log.number), log.size_bytes, true}));
        }
    }
    return losses;
}

bool includes_all(const std::set<std::string>& names, const std::set<std::string>& some) {
    return std::includes(names.begin(), names.end(), some.begin(), some.end());
}

// A log that is deleted between the secondary's look at the manifest and its look at the logs was in a table file by
// then, which it doesn't know: it would show neither, without a word. A second look shows it.
rocksdb::Status catch_up_once(const std::string& directory, rocksdb::DB& db) {
    for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
        const std::set<std::string> before = log_files(directory);
        rocksdb::Status status = db.TryCatchUpWithPrimary();
        if (!status.ok() || includes_all(log_files(directory), before)) {
            return status;
        }
    }
    return rocksdb::Status::TryAgain("the writer deletes logs faster than they can be followed");
}

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

std::uint64_t logs_size_bytes(const std::string& directory) {
    std::uint64_t sum_bytes = 0;
    for (const std::string& log : log_files(directory)) {
        std::error_code gone;
        const std::uint64_t size_bytes = std::filesystem::file_size(directory + "/" + log, gone);
        sum_bytes += gone ? 0 : size_bytes;
    }
    return sum_bytes;
}

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
                                           std::to_string((needed >> 20) + 1) + " MiB, which aren't free; make room"};
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
    // Where a table file is damaged, missing or another one the others are there, and what comes can be stored; reads
    // of that file fail and name it, or are told what it held. (The logs have been checked above, for without these
    // checks RocksDB would pass over damage in them.)
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
        const std::set<std::string> logs = log_files(directory);
        const auto manifest = PERFLEET_TRY(find_manifest(directory));
        rocksdb::DB* db = nullptr;
        const bool is_damaged = !manifest.damage.empty() || !other_logs(directory).empty();
        if (!is_damaged) {
            status = rocksdb::DB::OpenAsSecondary(options, directory, opened->folder->path(), &db);
        }
        if (db != nullptr) {
            opened->db.reset(db);
            status = includes_all(log_files(directory), logs) ? status : catch_up_once(directory, *db);
        }
        if (is_damaged || (status.ok() ? shows_less(directory, *db) : misses_table_files(directory, {}))) {
            opened->db.reset();
            status = PERFLEET_TRY(open_damaged(directory, options, *opened));
        }
        if (status.ok()) {
            add_log_losses(directory, log_losses(directory, false), *opened);
            return opened;
        }
        auto damage = status.IsCorruption() ? find_log_damage(directory) : std::optional<LogDamage>{};
        if (!damage.ok() || !damage->has_value()) {
            continue;
        }
        if (!(*damage)->was_synced) {  // the next writer cuts it off; until then a reader stops there
            options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
            continue;
        }
        // A secondary instance stops at damage; what follows it is read without.
        rocksdb::Options skipping = options;
        skipping.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
        auto skipped = open_damaged(directory, skipping, *opened);
        if (skipped.ok() && skipped->ok()) {
            add_log_losses(directory, log_losses(directory, true), *opened);
            return opened;
        }
    }
    return rocksdb_error(status, directory + ": can't be opened for reading");
}

bool catch_up(const std::string& directory, RocksdbDatabase& reader) {
    return generation_of(directory) == reader.generation && catch_up_once(directory, *reader.db).ok() &&
           !shows_less(directory, *reader.db);
}

}  // namespace perfleet
