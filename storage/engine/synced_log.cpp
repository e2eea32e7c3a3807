#include "storage/engine/synced_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/file_descriptor.h"
#include "schemas/vocabulary/file_io.h"
#include "storage/engine/folder.h"
#include "storage/engine/log_format.h"
#include "storage/engine/table_files.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSyncedFile = "SYNCED";
constexpr const char* kLossesFile = "LOST-LOGS";
constexpr ::mode_t kFileMode = 0600;

constexpr std::size_t kFieldDigits = 20;  // so that each line has the size of the one before it

std::string padded(std::uint64_t number) {
    std::string text = std::to_string(number);
    text.insert(0, kFieldDigits - std::min(kFieldDigits, text.size()), '0');
    return text;
}

std::string hexadecimal(std::uint32_t number) {
    constexpr std::size_t kDigits = 8;
    std::string digits(kDigits, '0');
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, number >>= 4) {
        *digit = "0123456789abcdef"[number & 0xf];
    }
    return digits;
}

// What ends a line, so that one that was written in part, or is damaged, counts for nothing.
std::string line_checksum(std::string_view line) {
    return hexadecimal(crc32c(0, std::as_bytes(std::span{line.data(), line.size()})));
}

// Of a log's first record, which has ids of sessions and so differs from that of any other; 0: that can't be read.
std::uint32_t first_checksum_of(const std::string& directory, std::uint64_t number) {
    const FileDescriptor file{::open((fs::path{directory} / log_file_name(number)).c_str(), O_RDONLY | O_CLOEXEC)};
    std::string block(kLogBlockSizeBytes, '\0');
    block.resize(file ? read_all(file.get(), std::as_writable_bytes(std::span{block})) : 0);
    return log_record_in(block) ? load_little_endian<std::uint32_t>(block.data()) : 0;
}

fs::path synced_path(const std::string& directory) { return fs::path{directory} / kSyncedFile; }

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::array<char, 32> time{};
    (void)std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return time.data();
}

Result<Done> append_durably(const fs::path& path, const std::string& text) {
    const FileDescriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode)};
    if (!file || !write_all(file.get(), std::as_bytes(std::span{text})) || ::fsync(file.get()) != 0) {
        return error_from_errno(errno, path.string());
    }
    return sync_folder(path.parent_path().string());
}

}  // namespace

std::string log_file_name(std::uint64_t number) { return file_number_text(number) + ".log"; }

void write_synced_logs(const std::string& directory, std::uint64_t number, std::uint64_t size_bytes,
                       std::vector<SyncedLog>& logs) {
    if (logs.empty() || logs.back().number != number) {  // each of this writer that is still there
        const std::uint64_t first = logs.empty() ? number : logs.front().number;
        logs.clear();
        for (const std::string& name : log_files(directory)) {
            std::error_code gone;
            const std::uint64_t log = std::strtoull(name.c_str(), nullptr, 10);
            const std::uint64_t whole_size_bytes = fs::file_size(fs::path{directory} / name, gone);
            if (log >= first && log < number && !gone) {
                logs.push_back({log, whole_size_bytes, utc_now(), first_checksum_of(directory, log)});
            }
        }
        std::sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
        logs.push_back({number, 0, ""});
    }
    if (logs.back().first_checksum == 0) {
        logs.back().first_checksum = first_checksum_of(directory, number);
    }
    logs.back().size_bytes = size_bytes;
    logs.back().time = utc_now();
    std::string text;
    for (const SyncedLog& log : logs) {
        const std::string line = padded(log.number) + " " + padded(log.size_bytes) + " " + log.time + " " +
                                 hexadecimal(log.first_checksum) + " ";
        text += line + line_checksum(line) + "\n";
    }
    const FileDescriptor file{::open(synced_path(directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode)};
    if (file && write_all_at(file.get(), 0, std::as_bytes(std::span{text}))) {
        (void)!::ftruncate(file.get(), static_cast<::off_t>(text.size()));
    }
}

std::vector<SyncedLog> read_synced_logs(const std::string& directory) {
    std::vector<SyncedLog> logs;
    std::ifstream file{synced_path(directory)};
    for (std::string line; std::getline(file, line);) {
        std::istringstream words{line};
        SyncedLog log;
        std::string end;
        if (words >> log.number >> log.size_bytes >> log.time >> std::hex >> log.first_checksum >> end &&
            end == line_checksum(line.substr(0, line.rfind(end)))) {
            logs.push_back(std::move(log));
        }
    }
    return logs;
}

Result<Done> forget_synced_logs(const std::string& directory) {
    if (::unlink(synced_path(directory).c_str()) != 0) {
        return errno == ENOENT ? Result<Done>{Done{}} : error_from_errno(errno, synced_path(directory).string());
    }
    return sync_folder(directory);
}

std::vector<SyncedLog> short_logs(const std::string& directory) {
    std::vector<SyncedLog> shorter;
    for (SyncedLog& log : read_synced_logs(directory)) {
        std::error_code error;
        std::uint64_t size_bytes = fs::file_size(fs::path{directory} / log_file_name(log.number), error);
        const std::uint32_t checksum = first_checksum_of(directory, log.number);
        log.is_another = !error && log.first_checksum != 0 && checksum != 0 && checksum != log.first_checksum;
        size_bytes = log.is_another ? 0 : size_bytes;
        if (error ? error == std::errc::no_such_file_or_directory : size_bytes < log.size_bytes) {
            log.size_bytes = error ? 0 : size_bytes;
            shorter.push_back(std::move(log));
        }
    }
    if (!shorter.empty()) {  // read after the look at the files: it moves before one is deleted
        const std::uint64_t first_needed = first_needed_log(directory);
        std::erase_if(shorter, [&](const SyncedLog& log) { return log.number < first_needed; });
    }
    return shorter;
}

std::vector<std::string> other_logs(const std::string& directory) {
    std::vector<std::string> names;
    for (const SyncedLog& log : short_logs(directory)) {
        if (log.is_another) {
            names.push_back(log_file_name(log.number));
        }
    }
    return names;
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
