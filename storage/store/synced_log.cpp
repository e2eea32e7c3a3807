#include "storage/store/synced_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "storage/store/folder.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSyncedFile = "SYNCED";
constexpr const char* kLossesFile = "LOST-LOGS";
constexpr const char* kLineEnd = "end";  // of a line that was written as a whole
constexpr ::mode_t kFileMode = 0600;

constexpr std::size_t kNumberDigits = 6;  // at least
constexpr std::size_t kFieldDigits = 20;  // so that each line has the size of the one before it

std::string padded(std::uint64_t number, std::size_t digits) {
    std::string text = std::to_string(number);
    text.insert(0, digits - std::min(digits, text.size()), '0');
    return text;
}

fs::path synced_path(const std::string& directory) { return fs::path{directory} / kSyncedFile; }

Result<Done> append_durably(const fs::path& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode);
    if (fd < 0) {
        return error_from_errno(errno, path.string());
    }
    const bool is_written = ::write(fd, text.data(), text.size()) == static_cast<::ssize_t>(text.size());
    const bool is_durable = is_written && ::fsync(fd) == 0;
    const int errno_value = is_written || errno != 0 ? errno : EIO;
    ::close(fd);
    return is_durable ? sync_folder(path.parent_path().string()) : error_from_errno(errno_value, path.string());
}

}  // namespace

std::string log_file_name(std::uint64_t number) { return padded(number, kNumberDigits) + ".log"; }

void write_synced_log(const std::string& directory, std::uint64_t number, std::uint64_t size_bytes) {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::array<char, 32> time{};
    (void)std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    const std::string line = padded(number, kFieldDigits) + " " + padded(size_bytes, kFieldDigits) + " " + time.data() +
                             " " + kLineEnd + "\n";
    const int fd = ::open(synced_path(directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
    if (fd >= 0) {
        (void)!::pwrite(fd, line.data(), line.size(), 0);
        ::close(fd);
    }
}

std::optional<SyncedLog> read_synced_log(const std::string& directory) {
    std::ifstream file{synced_path(directory)};
    SyncedLog synced;
    std::string end;
    if (!(file >> synced.number >> synced.size_bytes >> synced.time >> end) || end != kLineEnd) {
        return std::nullopt;
    }
    return synced;
}

Result<Done> forget_synced_log(const std::string& directory) {
    if (::unlink(synced_path(directory).c_str()) != 0) {
        return errno == ENOENT ? Result<Done>{Done{}} : error_from_errno(errno, synced_path(directory).string());
    }
    return sync_folder(directory);
}

std::optional<std::uint64_t> short_size_bytes(const std::string& directory, const SyncedLog& synced) {
    const std::string name = log_file_name(synced.number);
    std::error_code error;
    const std::uintmax_t size_bytes = fs::file_size(fs::path{directory} / name, error);
    if (!error) {
        return size_bytes < synced.size_bytes ? std::optional<std::uint64_t>{size_bytes} : std::nullopt;
    }
    const std::set<std::string> logs = log_files(directory);
    const bool is_followed = std::any_of(logs.begin(), logs.end(), [&](const std::string& log) {
        return log.size() > name.size() || (log.size() == name.size() && log >= name);
    });
    return error == std::errc::no_such_file_or_directory && synced.size_bytes != 0 && !is_followed
               ? std::optional<std::uint64_t>{0}
               : std::nullopt;
}

Result<Done> record_log_loss(const std::string& directory, const std::string& loss) {
    const std::vector<std::string> recorded = recorded_log_losses(directory);
    if (std::find(recorded.begin(), recorded.end(), loss) != recorded.end()) {
        return Done{};
    }
    return append_durably(fs::path{directory} / kLossesFile, loss + "\n");
}

std::vector<std::string> recorded_log_losses(const std::string& directory) {
    std::vector<std::string> losses;
    std::ifstream file{fs::path{directory} / kLossesFile};
    for (std::string line; std::getline(file, line);) {
        losses.push_back(line);
    }
    return losses;
}

}  // namespace perfleet
