#include "storage/engine/testing/disk_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSectorSizeBytes = 512;

// Of the folder, since it was last synced.
struct NameChange {
    enum class Type : std::uint8_t { kCreate, kRename, kRemove };
    Type type{};
    std::string name;
    std::string to;
    std::string held;
};

struct Unsynced {
    std::map<std::string, std::uint64_t> synced_size_bytes;  // of files that were made since the journal began
    std::vector<NameChange> changes;
    std::uint64_t line_count = 0;
};

Unsynced read_journal(const fs::path& path) {
    Unsynced unsynced;
    std::ifstream file{path};
    for (std::string text; std::getline(file, text); ++unsynced.line_count) {
        std::istringstream line{text};
        std::string word;
        NameChange change;
        line >> word;
        if (word == "create") {
            line >> change.name;
            unsynced.synced_size_bytes[change.name] = 0;
            unsynced.changes.push_back(change);
        } else if (word == "rename") {
            change.type = NameChange::Type::kRename;
            line >> change.name >> change.to >> change.held;
            if (auto moved = unsynced.synced_size_bytes.extract(change.name); !moved.empty()) {
                moved.key() = change.to;
                unsynced.synced_size_bytes.erase(change.to);
                unsynced.synced_size_bytes.insert(std::move(moved));
            }
            unsynced.changes.push_back(change);
        } else if (word == "remove") {
            change.type = NameChange::Type::kRemove;
            line >> change.name >> change.held;
            unsynced.synced_size_bytes.erase(change.name);
            unsynced.changes.push_back(change);
        } else if (word == "synced") {
            std::uint64_t size_bytes = 0;
            line >> change.name >> size_bytes;
            unsynced.synced_size_bytes[change.name] = size_bytes;
        } else if (word == "folder") {
            unsynced.changes.clear();
        }
    }
    return unsynced;
}

void lose_bytes(const fs::path& path, std::uint64_t synced_size_bytes, FaultPlan::Loss loss, std::mt19937_64& random) {
    std::error_code error;
    const std::uint64_t size_bytes = fs::file_size(path, error);
    if (error || size_bytes <= synced_size_bytes || loss == FaultPlan::Loss::kNone) {
        return;
    }
    const std::uint64_t unsynced_size_bytes = size_bytes - synced_size_bytes;
    const bool is_log = file_type_of(path.filename().string()) == FaultPlan::kLog;
    const std::uint64_t kept_size_bytes = loss == FaultPlan::Loss::kAll ? 0 : random() % (unsynced_size_bytes + 1);
    fs::resize_file(path, synced_size_bytes + kept_size_bytes, error);
    if (loss != FaultPlan::Loss::kSectors || !is_log || kept_size_bytes == 0) {
        return;
    }
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    const std::uint64_t end = synced_size_bytes + kept_size_bytes;
    for (std::uint64_t at = synced_size_bytes; at < end; at = (at / kSectorSizeBytes + 1) * kSectorSizeBytes) {
        if (random() % 8 == 0) {
            const std::uint64_t next = std::min(end, (at / kSectorSizeBytes + 1) * kSectorSizeBytes);
            file.seekp(static_cast<std::streamoff>(at));
            file << std::string(next - at, '\0');
        }
    }
}

void undo(const fs::path& directory, const NameChange& change) {
    std::error_code error;
    switch (change.type) {
        case NameChange::Type::kCreate: fs::remove(directory / change.name, error); break;
        case NameChange::Type::kRename:
            if (change.held.empty() || fs::exists(change.held)) {  // else it hadn't been done yet
                fs::rename(directory / change.to, directory / change.name, error);
            }
            break;
        case NameChange::Type::kRemove: break;
    }
    if (!change.held.empty()) {
        fs::rename(change.held, directory / (change.type == NameChange::Type::kRename ? change.to : change.name),
                   error);
    }
}

// The folder as a disk would give it back whose power went: unsynced bytes of each file lost by chance, of the changes
// of names since the folder's last sync a first part kept.
void lose_unsynced(const fs::path& directory, const fs::path& journal, const FaultPlan& plan) {
    const Unsynced unsynced = read_journal(journal);
    std::mt19937_64 random{plan.seed * 0x9e3779b97f4a7c15ULL + unsynced.line_count};
    for (const auto& [name, size_bytes] : unsynced.synced_size_bytes) {
        lose_bytes(directory / name, size_bytes, plan.loss, random);
    }
    const std::size_t kept_count = plan.loss == FaultPlan::Loss::kNone  ? unsynced.changes.size()
                                   : plan.loss == FaultPlan::Loss::kAll ? 0
                                                                        : random() % (unsynced.changes.size() + 1);
    for (std::size_t i = unsynced.changes.size(); i > kept_count; --i) {
        undo(directory, unsynced.changes[i - 1]);
    }
}

}  // namespace

Result<std::unique_ptr<DiskJournal>> DiskJournal::begin(const std::string& directory, const FaultPlan& plan) {
    std::error_code error;
    fs::path folder = fs::absolute(directory, error).lexically_normal();
    if (error) {
        return error_from_errno(error.value(), directory);
    }
    if (!folder.has_filename()) {
        folder = folder.parent_path();
    }
    const fs::path store = folder;
    folder += ".unsynced";
    fs::create_directories(folder, error);
    const int lock_fd = ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd < 0) {
        return error_from_errno(errno, folder.string());
    }
    if (::flock(lock_fd, LOCK_EX | LOCK_NB) != 0) {
        ::close(lock_fd);
        return Error{ErrorCode::kBusy, directory + ": another process is writing to this folder"};
    }
    const fs::path journal = folder / "journal";
    lose_unsynced(store, journal, plan);
    for (const auto& entry : fs::directory_iterator{folder}) {
        if (entry.path().filename() != "lock") {
            fs::remove(entry.path(), error);
        }
    }
    const int journal_fd = ::open(journal.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (journal_fd < 0) {
        const int errno_value = errno;
        ::close(lock_fd);
        return error_from_errno(errno_value, journal.string());
    }
    return std::unique_ptr<DiskJournal>{new DiskJournal{folder.string(), lock_fd, journal_fd}};
}

DiskJournal::DiskJournal(std::string folder, int lock_fd, int journal_fd)
    : folder_{std::move(folder)}, lock_fd_{lock_fd}, journal_fd_{journal_fd} {}

DiskJournal::~DiskJournal() {
    ::close(journal_fd_);
    ::close(lock_fd_);
}

void DiskJournal::write(const std::string& line) {
    PERFLEET_ASSERT(::write(journal_fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
}

void DiskJournal::create(const std::string& name) { write("create " + name + "\n"); }

void DiskJournal::rename(const std::string& from, const std::string& to, const std::string& held) {
    write("rename " + from + " " + to + " " + held + "\n");
}

void DiskJournal::remove(const std::string& name, const std::string& held) {
    write("remove " + name + " " + held + "\n");
}

void DiskJournal::synced(const std::string& name, std::uint64_t size_bytes) {
    write("synced " + name + " " + std::to_string(size_bytes) + "\n");
}

void DiskJournal::folder_synced() {
    write("folder\n");
    std::error_code error;
    for (const auto& entry : fs::directory_iterator{folder_}) {
        if (entry.path().filename().string().starts_with("held-")) {
            fs::remove(entry.path(), error);
        }
    }
}

std::string DiskJournal::hold() { return folder_ + "/held-" + std::to_string(++held_count_); }

}  // namespace perfleet
