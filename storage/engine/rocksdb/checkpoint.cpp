#include "storage/engine/rocksdb/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/manifest_copy.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/store_format.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kAttemptsMax = 20;
// A table file that is missing this many times in a row is taken for missing in the source.
constexpr std::uint32_t kDamagedAttempts = 4;
constexpr std::size_t kCopySizeBytes = 1U << 20;

// Copies the file up to its present end, and syncs the copy. kNotFound: there is no such file.
Result<std::uint64_t> copy_to_disk(const fs::path& from, const fs::path& to,
                                   const std::function<void(std::uint64_t)>& add_copied) {
    const FileDescriptor source = open_regular_file(from);
    if (source.get() < 0) {
        return error_from_errno(errno, from.string());
    }
    const FileDescriptor target{::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (target.get() < 0) {
        return error_from_errno(errno, to.string());
    }
    std::vector<std::byte> buffer(kCopySizeBytes);
    std::uint64_t copied = 0;
    for (std::size_t size = buffer.size(); size == buffer.size();) {
        size = read_all(source.get(), buffer);
        if (size < buffer.size() && errno != 0) {
            return error_from_errno(errno, from.string());
        }
        if (!write_all(target.get(), std::span{buffer}.first(size))) {
            return error_from_errno(errno, to.string());
        }
        copied += size;
        add_copied(size);
    }
    if (::fsync(target.get()) != 0) {
        return error_from_errno(errno, to.string());
    }
    return copied;
}

struct Listing {
    std::vector<std::string> tables;
    LogFiles logs;
    std::string manifest;
};

Result<Listing> list(const fs::path& folder) {
    Listing listing;
    std::error_code error;
    listing.tables = names_in(folder.string(), ".sst", error);
    listing.logs = log_files(folder.string());
    if (error) {
        return error_from_errno(error.value(), folder.string());
    }
    listing.manifest = read_regular_file(folder / "CURRENT").value_or("");
    return listing;
}

// True if a log was deleted or the manifest was replaced.
bool has_moved_on(const Listing& before, const Listing& after) {
    return before.manifest != after.manifest || !has_all(after.logs, before.logs);
}

class CheckpointMaker {
public:
    CheckpointMaker(fs::path from, fs::path to, const ProgressReport& progress)
        : from_{std::move(from)}, to_{std::move(to)}, progress_{progress} {}

    [[nodiscard]] Result<Checkpoint> make() {
        std::string damage;
        std::uint32_t damaged_count = 0;
        for (std::uint32_t attempt = 1; attempt <= kAttemptsMax; ++attempt) {
            checkpoint_ = {};
            checkpoint_.attempt_count = attempt;
            auto taken = PERFLEET_TRY(take());
            if (!taken) {
                continue;
            }
            auto opened = open();
            if (!opened.ok() && opened.error().code != ErrorCode::kIo && opened.error().code != ErrorCode::kCorrupt) {
                return opened.error();
            }
            std::string seen = opened.ok() ? *opened : opened.error().message;
            if (seen.empty()) {
                return checkpoint_;
            }
            damaged_count = damage == seen ? damaged_count + 1 : 1;
            damage = std::move(seen);
            if (damaged_count == kDamagedAttempts) {
                if (!opened.ok()) {
                    return opened.error();
                }
                checkpoint_.damage = damage;
                return checkpoint_;
            }
        }
        return Error{ErrorCode::kUnavailable, from_.string() + ": its files changed too fast for a backup; try again" +
                                                  (damage.empty() ? "" : ": " + damage)};
    }

private:
    // False: the writer has deleted a file that the checkpoint needs.
    [[nodiscard]] Result<bool> take() {
        std::error_code error;
        fs::remove_all(to_, error);
        if (!fs::create_directories(to_, error)) {
            return error_from_errno(error ? error.value() : EEXIST, to_.string());
        }
        if (::chmod(to_.c_str(), kStoreFolderMode) != 0) {
            return error_from_errno(errno, to_.string());
        }
        auto before = PERFLEET_TRY(list(from_));
        const auto manifest = PERFLEET_TRY(find_manifest(from_.string()));
        manifest_damage_ = manifest.damage.empty()
                               ? ""
                               : (from_ / manifest.file).string() + " " + manifest.damage + ": its copy is used";
        if (manifest.bytes.empty()) {
            return false;
        }
        PERFLEET_TRY(restore_manifest(to_.string(), manifest));
        checkpoint_.copied_size_bytes += manifest.bytes.size();
        auto with_manifest = PERFLEET_TRY(list(from_));
        if (has_moved_on(before, with_manifest)) {
            return false;
        }
        for (const char* name : {"SYNCED", "LOST-LOGS"}) {  // how far logs were synced, and which are known to be lost
            PERFLEET_TRY(copy(name));
        }
        done_size_bytes_ = 0;
        total_size_bytes_ = size_of_files(from_.string(), ".sst") + size_of_files(from_.string(), ".log");
        for (const std::string& table : with_manifest.tables) {
            PERFLEET_TRY(link(table));
        }
        for (const std::string& log : with_manifest.logs) {
            if (auto copied = copy(log); !copied.ok() || !*copied) {
                return copied;
            }
        }
        auto after = PERFLEET_TRY(list(from_));
        if (has_moved_on(with_manifest, after)) {
            return false;
        }
        return true;
    }

    [[nodiscard]] Result<bool> copy(const std::string& name) {
        auto size_bytes = copy_to_disk(from_ / name, to_ / name, [this](std::uint64_t copied) { add_done(copied); });
        if (!size_bytes.ok()) {
            return size_bytes.error().code == ErrorCode::kNotFound ? Result<bool>{false} : size_bytes.error();
        }
        checkpoint_.copied_size_bytes += *size_bytes;
        return true;
    }

    // A file that is gone may have been obsolete; if it wasn't, opening finds that it is missing.
    [[nodiscard]] Result<Done> link(const std::string& name) {
        if (::link((from_ / name).c_str(), (to_ / name).c_str()) == 0) {
            std::error_code error;
            const std::uint64_t size_bytes = fs::file_size(to_ / name, error);
            checkpoint_.linked_size_bytes += error ? 0 : size_bytes;
            add_done(error ? 0 : size_bytes);
            return Done{};
        }
        if (errno == ENOENT) {
            return Done{};
        }
        auto copied = copy(name);  // on another file system, or without the right to link
        return copied.ok() ? Result<Done>{Done{}} : copied.error();
    }

    // Opens the copy as a writer, which turns logs into table files and deletes obsolete files. Returns the damage.
    [[nodiscard]] Result<std::string> open() {
        auto engine = PERFLEET_TRY(open_rocksdb_writer_engine(to_.string()));
        std::string damage = manifest_damage_;
        const auto known = engine->damage();
        for (const std::string& one : known->at_open) {
            damage += (damage.empty() ? "" : "; ") + one;
        }
        if (auto checked = check_format(*engine, from_.string()); !checked.ok()) {
            if (damage.empty()) {
                return checked.error();
            }
            damage += "; " + checked.error().message;
        }
        engine.reset();
        auto listing = list(to_);
        checkpoint_.table_file_count = listing.ok() ? listing->tables.size() : 0;
        for (std::size_t at = 0; (at = damage.find(to_.string(), at)) != std::string::npos;) {
            damage.replace(at, to_.string().size(), from_.string());  // names the source
        }
        return damage;
    }

    void add_done(std::uint64_t size_bytes) {
        done_size_bytes_ += size_bytes;
        if (progress_) {
            progress_(done_size_bytes_, total_size_bytes_);
        }
    }

    fs::path from_;
    fs::path to_;
    Checkpoint checkpoint_;
    std::string manifest_damage_;
    const ProgressReport& progress_;
    std::uint64_t done_size_bytes_ = 0;
    std::uint64_t total_size_bytes_ = 0;
};

// The target must not exist, or must be an empty folder.
Result<Done> check_target(const fs::path& to) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(to, error);
    if (!fs::exists(status) || (fs::is_directory(status) && fs::is_empty(to, error))) {
        return Done{};
    }
    return Error{ErrorCode::kUsage, to.string() +
                                        ": is there already, and nothing is ever overwritten; name a new or an "
                                        "empty folder"};
}

}  // namespace

Result<Checkpoint> make_checkpoint(const std::string& from, const std::string& to, const ProgressReport& progress) {
    std::error_code failed;
    const fs::path target = fs::absolute(to, failed).lexically_normal();
    if (failed) {
        return error_from_errno(failed.value(), to.empty() ? "a folder without a name" : to);
    }
    const fs::path named = target.has_filename() ? target : target.parent_path();
    const fs::path source = fs::absolute(from, failed).lexically_normal();
    if (failed) {
        return error_from_errno(failed.value(), from.empty() ? "a folder without a name" : from);
    }
    if ((source.has_filename() ? source : source.parent_path()).string().ends_with(kIncompleteSuffix)) {
        return Error{ErrorCode::kUsage, from + ": is what an interrupted backup left; make another one"};
    }
    PERFLEET_TRY(check_target(named));
    PERFLEET_TRY(check_reader_folder(from));
    const fs::path real_source = fs::weakly_canonical(source, failed);
    const fs::path inside = failed ? fs::path{} : fs::weakly_canonical(named, failed).lexically_relative(real_source);
    if (!failed && !inside.empty() && *inside.begin() != "..") {
        return Error{ErrorCode::kUsage, to + ": lies inside the store " + from + "; name a folder outside of it"};
    }
    const fs::path incomplete = named.string() + kIncompleteSuffix;
    auto made = CheckpointMaker{source, incomplete, progress}.make();
    if (!made.ok()) {
        std::error_code error;
        fs::remove_all(incomplete, error);
        return made;
    }
    struct ::stat before {};
    if (::stat(named.c_str(), &before) == 0) {
        (void)!::chown(incomplete.c_str(), before.st_uid, before.st_gid);  // if the user is permitted to
        (void)::chmod(incomplete.c_str(), before.st_mode & 07777U);
    }
    PERFLEET_TRY(sync_folder(incomplete));
    if (::rename(incomplete.c_str(), named.c_str()) != 0) {
        return error_from_errno(errno, named.string());
    }
    PERFLEET_TRY(sync_folder(named.parent_path()));
    return made;
}

}  // namespace perfleet
