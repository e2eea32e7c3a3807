#include "target-collector/spool/spool_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "schemas/text/layout.h"
#include "schemas/wire/delivery_limits.h"
#include "target-collector/spool/orphan_session.h"

namespace perfleet {
namespace {

constexpr mode_t kFolderMode = 0700;

// For a delivery that is only counted, never sent.
class NoNetwork final : public NetworkDriver {
public:
    bool send(std::span<const std::byte> /*frame*/) override { return false; }
    Checked<std::size_t> receive(std::span<std::byte> /*into*/) override { return std::size_t{0}; }
    bool reconnected() override { return false; }
};

// Sorted paths of the files whose names have this ending.
Result<std::vector<std::string>> files_in(const std::string& folder, std::string_view ending) {
    DIR* const entries = ::opendir(folder.c_str());
    if (entries == nullptr) {
        return error_from_errno(errno, "can't read the spool folder '" + folder + "'");
    }
    std::vector<std::string> paths;
    while (const dirent* const entry = ::readdir(entries)) {
        if (std::string_view{entry->d_name}.ends_with(ending)) {
            paths.push_back(folder + "/" + entry->d_name);
        }
    }
    ::closedir(entries);
    std::sort(paths.begin(), paths.end());
    return paths;
}

// Files in the folder are delivered in the target's name, and contain data about it: no other user may be able to put
// files there, or to replace the folder.
Result<Done> check_is_own(const std::string& path) {
    std::error_code unknown;
    std::filesystem::path place = std::filesystem::canonical(path, unknown);
    if (unknown) {
        return error_from_errno(unknown.value(), "can't use the spool folder '" + path + "'");
    }
    const auto refusal = [&](const std::string& why, const std::string& way_out) {
        return Error{ErrorCode::kPermission, "the spool folder '" + path + "' isn't this user's alone: " + why + "; " +
                                                 way_out + ", or name a folder that perfleet makes itself"};
    };
    for (bool is_spool = true;; is_spool = false) {
        struct stat status {};
        if (::stat(place.c_str(), &status) != 0) {
            return error_from_errno(errno, "can't use the spool folder '" + path + "'");
        }
        const bool is_owner = status.st_uid == ::geteuid() || (status.st_uid == 0 && !is_spool);
        if (is_spool && !is_owner) {
            return refusal("it belongs to user " + std::to_string(status.st_uid), "give it to this one (chown)");
        }
        const bool may_others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
        if (may_others_write && (is_spool || (status.st_mode & S_ISVTX) == 0)) {
            return refusal("others may write to '" + place.string() + "'", "chmod go-w '" + place.string() + "'");
        }
        if (place == place.root_path()) {
            return Done{};
        }
        place = place.parent_path();
    }
}

std::string damage_text(const SpoolReading& reading) {
    std::string text;
    if (reading.is_journal_lost) {
        text = "its journal is lost; all " + std::to_string(reading.batch_count) +
               " batches in it are delivered, and rows of others that the gateway doesn't have are `missing` "
               "in its ledger";
    }
    if (!reading.holes.empty()) {
        std::uint64_t lost_bytes = 0;
        for (const SpoolHole& hole : reading.holes) {
            lost_bytes += hole.size_bytes;
        }
        text += (text.empty() ? "" : "; ") + counted_noun(reading.holes.size(), "place") + " (" +
                std::to_string(lost_bytes) + " bytes) without a whole batch: their rows are counted as " +
                (reading.is_journal_lost ? "missing" : "killed");
    }
    if (reading.damaged_count_count != 0) {
        text += (text.empty() ? "" : "; ") + counted_noun(reading.damaged_count_count, "count is", "counts are") +
                " damaged: earlier counts replace them, as lower bounds";
    }
    return text;
}

std::string mib(std::uint64_t size_bytes) { return std::to_string((size_bytes + (1U << 20U) - 1) >> 20U) + " MiB"; }

}  // namespace

struct SpoolFolder::Found {
    std::string path;
    std::uint64_t ordinal = 0;
    std::uint64_t used_bytes = 0;
};

Result<std::unique_ptr<SpoolFolder>> SpoolFolder::open(const std::string& path, std::size_t size_bytes,
                                                       const LogText& log) {
    if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST) {
        return error_from_errno(errno, "can't make the spool folder '" + path + "'");
    }
    PERFLEET_TRY(check_is_own(path));
    std::unique_ptr<SpoolFolder> folder(new SpoolFolder(path));
    PERFLEET_TRY(folder->lock());
    PERFLEET_TRY(folder->look(size_bytes, log));
    return folder;
}

Result<Done> SpoolFolder::lock() {
    const std::string lock_path = path_ + "/lock";
    lock_.reset(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kSpoolFileMode));
    if (!lock_) {
        return error_from_errno(errno, "can't open '" + lock_path + "' in the spool folder");
    }
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        const int error = errno;
        std::array<char, 16> pid{};
        const ssize_t got = ::pread(lock_.get(), pid.data(), pid.size(), 0);
        const std::string by =
            got > 0 ? " (process " + std::string(pid.data(), static_cast<std::size_t>(got)) + ")" : "";
        if (error != EWOULDBLOCK) {
            return error_from_errno(error, "can't lock the spool folder '" + path_ + "'");
        }
        return Error{ErrorCode::kBusy, "the spool folder '" + path_ + "' is used by another collector" + by +
                                           "; give each its own with --spool"};
    }
    const std::string pid = std::to_string(::getpid());
    (void)!::ftruncate(lock_.get(), 0);
    (void)!::pwrite(lock_.get(), pid.data(), pid.size(), 0);
    return Done{};
}

Result<Done> SpoolFolder::look(std::size_t size_bytes, const LogText& log) {
    // Unfinished files: their sessions never began.
    auto unfinished = files_in(path_, ".spool.new");
    auto paths = files_in(path_, ".spool");
    if (!unfinished.ok() || !paths.ok()) {
        return unfinished.ok() ? std::move(paths).error() : std::move(unfinished).error();
    }
    for (const std::string& path : *unfinished) {
        ::unlink(path.c_str());
    }
    NoNetwork no_network;
    std::vector<Found> found;
    for (const std::string& path : *paths) {
        auto left = OrphanSession::open(path, no_network);
        if (!left.ok() && left.error().code == ErrorCode::kUnsupported) {
            return std::move(left).error();
        }
        if (!left.ok()) {
            ++damaged_count_;
            log(left.error().message +
                "; it is left as it is, and its batches aren't delivered: move it out of the folder to give them up");
            continue;
        }
        const SpoolReading& reading = (*left)->reading();
        if (reading.is_damaged()) {
            ++damaged_count_;
            log("spool file '" + path + "' is damaged: " + damage_text(reading));
        }
        (*left)->file().give_back_around(reading.entry.places);
        found.push_back({path, reading.head.ordinal, (*left)->delivery().status().spool_used_bytes});
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.ordinal < b.ordinal; });
    while (found.size() > limits::kSpoolSessionsMax) {
        log("more than " + std::to_string(limits::kSpoolSessionsMax) + " ended sessions wait in the spool folder '" +
            path_ + "': the oldest, '" + found.front().path + "', is given up with " + mib(found.front().used_bytes) +
            " of batches");
        ::unlink(found.front().path.c_str());
        found.erase(found.begin());
    }
    std::uint64_t used_bytes = 0;
    for (const Found& one : found) {
        used_bytes += one.used_bytes;
        next_ordinal_ = std::max(next_ordinal_, one.ordinal + 1);
    }
    for (Found& one : found) {
        if (used_bytes <= size_bytes / 2) {
            break;
        }
        if (one.used_bytes == 0) {
            continue;
        }
        auto left = PERFLEET_TRY(OrphanSession::open(one.path, no_network));
        const std::uint64_t excess = used_bytes - size_bytes / 2;
        Delivery& delivery = left->delivery();
        delivery.shrink_to(one.used_bytes > excess ? one.used_bytes - excess : 0);
        used_bytes -= one.used_bytes - delivery.status().spool_used_bytes;
        log("the spool folder '" + path_ + "' is full: " + std::to_string(delivery.status().batches_dropped) +
            " batches of " + left->name() + " were dropped");
        auto reading = read_spool(left->file().bytes());
        if (reading.ok()) {
            left->file().give_back_around((*reading)->entry.places);
        }
    }
    for (const Found& one : found) {
        orphans_.push_back(one.path);
    }
    free_bytes_ = size_bytes - std::min<std::uint64_t>(size_bytes, used_bytes);
    return Done{};
}

Result<std::unique_ptr<SpoolFile>> SpoolFolder::create(SessionId session, std::span<const std::byte> hello) {
    SpoolHead head;
    head.ordinal = next_ordinal_++;
    head.session = session;
    head.records_size_bytes = free_bytes_ / kSpoolPageSizeBytes * kSpoolPageSizeBytes;
    return SpoolFile::create(path_, head, hello);
}

}  // namespace perfleet
