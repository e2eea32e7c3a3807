#include "storage/engine/rocksdb/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "schemas/host/file_io.h"
#include "storage/engine/rados/place.h"

namespace perfleet {
namespace {

Error on_rados(const std::string& directory) {
    return {ErrorCode::kUsage, directory + ": is a store on RADOS; this needs one in a folder"};
}

namespace fs = std::filesystem;

constexpr std::time_t kAbandonedAgeMinS = 60;
constexpr std::string_view kDatabaseMarker = "CURRENT";  // every RocksDB database has this file
constexpr std::string_view kLockFile = "LOCK";           // locked by the writer of the database
constexpr std::string_view kIdentityFile = "IDENTITY";   // identifies the database

// storage/engine/rocksdb/manifest_copy.h
bool is_manifest_copy(std::string_view name) { return name.starts_with("MANIFEST-") && name.ends_with(".copy"); }

// Files that an interrupted creation of a database may leave.
bool is_database_file(std::string_view name) {
    constexpr std::array<std::string_view, 5> kStarts{"LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"};
    constexpr std::array<std::string_view, 3> kEnds{".dbtmp", ".log", "lost+found"};
    return std::any_of(kStarts.begin(), kStarts.end(),
                       [&](std::string_view start) { return name.starts_with(start); }) ||
           std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) { return name.ends_with(end); });
}

Result<Done> create_folder(const fs::path& directory) {
    std::error_code failed;
    const fs::path named = fs::absolute(directory, failed);
    if (failed) {
        return error_from_errno(failed.value(), directory.string());
    }
    std::vector<fs::path> missing;
    for (fs::path at = named.lexically_normal(); !at.empty(); at = at.parent_path()) {
        if (!at.has_filename()) {  // the path ends in a slash
            if (at == at.root_path()) {
                break;
            }
            continue;
        }
        std::error_code error;
        if (fs::exists(at, error)) {
            break;
        }
        missing.push_back(at);
    }
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
        if (::mkdir(at->c_str(), kStoreFolderMode) != 0 && errno != EEXIST) {
            return error_from_errno(errno, "creating " + at->string());
        }
        PERFLEET_TRY(sync_folder(at->parent_path()));
    }
    return Done{};
}

Result<Done> check_folder(const std::string& directory, int access_mode) {
    std::error_code error;
    const fs::file_status status = fs::status(directory, error);
    if (!fs::exists(status)) {
        return error_from_errno(error ? error.value() : ENOENT, directory);
    }
    if (!fs::is_directory(status)) {
        return Error{ErrorCode::kInvalid, directory + ": is not a folder"};
    }
    if (::access(directory.c_str(), access_mode) != 0) {
        return error_from_errno(errno, directory);
    }
    return Done{};
}

Result<bool> has_database(const std::string& directory) {
    std::error_code error;
    if (fs::exists(fs::path{directory} / kDatabaseMarker, error)) {
        return true;
    }
    const auto copies = names_in(directory, ".copy", error);
    if (error) {
        return error_from_errno(error.value(), directory);
    }
    return std::any_of(copies.begin(), copies.end(), is_manifest_copy);  // the manifest can be restored from it
}

// Stays the same when the disk is mounted again; a copy of the store has another.
std::string identity_of(const std::string& directory) {
    struct stat there {};
    const std::string file = read_regular_file(fs::path{directory} / kIdentityFile).value_or("");
    const std::string identity = file.substr(0, file.find('\n'));
    return ::stat(directory.c_str(), &there) == 0 ? identity + " in " + std::to_string(there.st_ino) : "";
}

// Never kNotFound, which callers take for "no store".
Error no_temporary_folder(int number, std::string what) {
    Error error = error_from_errno(number, std::move(what));
    error.code = error.code == ErrorCode::kNotFound ? ErrorCode::kIo : error.code;
    error.message += "; name a folder that can be written to, as TMPDIR=/tmp";
    return error;
}

}  // namespace

HeldFolder::HeldFolder(const std::string& directory)
    : held_{::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)}, identity_{identity_of(directory)} {}

void HeldFolder::let_go() { held_.reset(); }

bool HeldFolder::take_up(const std::string& directory) {
    let_go();
    if (identity_of(directory) != identity_) {
        return false;
    }
    held_.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Result<bool> is_there = is_still_at(directory);
    return is_there.ok() && *is_there;
}

Result<bool> HeldFolder::is_still_at(const std::string& directory) const {
    struct stat held {};
    struct stat there {};
    struct stat database {};
    if (!held_ || ::fstat(held_.get(), &held) != 0) {
        return true;
    }
    const std::string marker = directory + "/" + std::string{kDatabaseMarker};
    if (::stat(directory.c_str(), &there) != 0 || ::stat(marker.c_str(), &database) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? Result<bool>{false} : error_from_errno(errno, directory);
    }
    return there.st_dev == held.st_dev && there.st_ino == held.st_ino;
}

FileDescriptor open_regular_file(const fs::path& path) {
    FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (file && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
        file.reset();
        errno = ENOENT;
    }
    return file;
}

std::optional<std::string> read_regular_file(const fs::path& path) {
    const FileDescriptor file = open_regular_file(path);
    return file ? read_rest(file.get(), kReadFileSizeBytesMax) : std::nullopt;
}

bool is_no_regular_file(const fs::path& path) {
    std::error_code error;
    return fs::exists(fs::symlink_status(path, error)) && !fs::is_regular_file(path, error);
}

Result<Done> set_aside(const std::string& directory, const std::string& name) {
    const std::string path = directory + "/" + name;
    return ::rename(path.c_str(), (path + ".damaged").c_str()) == 0 || errno == ENOENT ? Result<Done>{Done{}}
                                                                                       : error_from_errno(errno, path);
}

std::vector<std::string> names_in(const std::string& directory, std::string_view ending, std::error_code& error) {
    std::vector<std::string> names;
    for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
        if (std::string name = at->path().filename().string(); name.ends_with(ending)) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

std::uint64_t size_of_files(const std::string& directory, std::string_view ending) {
    std::uint64_t sum_bytes = 0;
    std::error_code error;
    for (const std::string& name : names_in(directory, ending, error)) {
        std::error_code gone;
        const std::uint64_t size_bytes = fs::file_size(fs::path{directory} / name, gone);
        sum_bytes += gone ? 0 : size_bytes;
    }
    return sum_bytes;
}

LogFiles log_files(const std::string& directory) {
    LogFiles logs;
    std::error_code error;
    for (std::string& name : names_in(directory, ".log", error)) {
        if (!is_no_regular_file(fs::path{directory} / name)) {
            logs.insert(std::move(name));
        }
    }
    return logs;
}

bool has_all(const LogFiles& logs, const LogFiles& before) {
    return std::all_of(before.begin(), before.end(), [&](const std::string& log) { return logs.contains(log); });
}

Result<Done> prepare_writer_folder(const std::string& directory) {
    if (rados_place(directory)) {
        return on_rados(directory);
    }
    if (directory.empty()) {
        return Error{ErrorCode::kInvalid, "the store's folder has no name"};
    }
    std::error_code error;
    if (!fs::exists(directory, error)) {
        PERFLEET_TRY(create_folder(directory));
    }
    PERFLEET_TRY(check_folder(directory, R_OK | W_OK | X_OK));
    if (PERFLEET_TRY(has_database(directory))) {
        return Done{};
    }
    const auto names = names_in(directory, "", error);
    const auto stranger = std::find_if_not(names.begin(), names.end(), is_database_file);
    // Another process may have created the store meanwhile.
    if (const auto has = has_database(directory); stranger != names.end() && has.ok() && !*has) {
        return Error{ErrorCode::kInvalid, directory + ": holds " + *stranger +
                                              " but no perfleet store; give an empty or a new folder (--data)"};
    }
    if (error) {
        return error_from_errno(error.value(), directory);
    }
    return Done{};
}

bool has_writer(const std::string& directory) {
    const FileDescriptor file{::open((fs::path{directory} / kLockFile).c_str(), O_RDWR | O_CLOEXEC)};
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return file && ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Result<Done> check_reader_folder(const std::string& directory) {
    if (rados_place(directory)) {
        return on_rados(directory);
    }
    PERFLEET_TRY(check_folder(directory, R_OK | X_OK));
    if (!PERFLEET_TRY(has_database(directory))) {
        return Error{ErrorCode::kNotFound, directory + " holds no perfleet store"};
    }
    return Done{};
}

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(const std::string& prefix) {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error) {
        const char* const named = std::getenv("TMPDIR");
        return no_temporary_folder(
            error.value(), "the folder for temporary files, TMPDIR=" + std::string{named == nullptr ? "" : named});
    }
    std::string path = (parent / (prefix + "XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) {
        return no_temporary_folder(errno, "creating a temporary folder in " + parent.string() + " (TMPDIR)");
    }
    FileDescriptor lock{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (lock) {
        (void)::flock(lock.get(), LOCK_EX | LOCK_NB);
    }
    return std::unique_ptr<TemporaryFolder>{new TemporaryFolder{std::move(path), std::move(lock)}};
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
}

void TemporaryFolder::remove_abandoned(const std::string& prefix) {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    for (fs::directory_iterator at{parent, error}, end; !error && at != end; at.increment(error)) {
        struct ::stat status {};
        if (!at->path().filename().string().starts_with(prefix) || ::lstat(at->path().c_str(), &status) != 0 ||
            !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
            ::time(nullptr) - status.st_mtime < kAbandonedAgeMinS) {
            continue;
        }
        const FileDescriptor folder{::open(at->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
        if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
            std::error_code kept;
            fs::remove_all(at->path(), kept);
        }
    }
}

}  // namespace perfleet
