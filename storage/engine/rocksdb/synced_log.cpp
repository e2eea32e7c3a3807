#include "storage/engine/rocksdb/synced_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "schemas/columns/crc32c.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "storage/engine/file_name.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/log_format.h"
#include "storage/engine/rocksdb/table_files.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSyncedFile = "SYNCED";
constexpr const char* kLossesFile = "LOST-LOGS";

// Ends each line, so that a partly written or damaged line is ignored.
std::string line_checksum(std::string_view line) {
    return fmt::format("{:08x}", crc32c(0, std::as_bytes(std::span{line})));
}

// A directory entry with the name of a log.
struct LogFile {
    bool is_file = false;
    std::uint64_t size_bytes = 0;
    std::uint32_t first_checksum =
        0;              // of its first record, which differs from that of any other log; 0: can't be read
    ChangeGroup first;  // in that record
};

LogFile log_file_at(const fs::path& path) {
    LogFile log;
    std::error_code error;
    log.is_file = !is_no_regular_file(path);
    log.size_bytes = log.is_file ? fs::file_size(path, error) : 0;
    log.size_bytes = error ? 0 : log.size_bytes;
    const FileDescriptor file = open_regular_file(path);
    std::string block(kLogBlockSizeBytes, '\0');
    block.resize(file ? read_all(file.get(), std::as_writable_bytes(std::span{block})) : 0);
    if (const auto record = log_record_in(block)) {
        log.first_checksum = load_little_endian<std::uint32_t>(block.data());
        log.first = change_group_in(record->payload).value_or(ChangeGroup{});
    }
    return log;
}

std::uint32_t first_checksum_of(const std::string& directory, std::uint64_t number) {
    return log_file_at(fs::path{directory} / log_file_name(number)).first_checksum;
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

// By number; includes entries that aren't regular files.
std::map<std::uint64_t, LogFile> logs_in(const std::string& directory) {
    std::map<std::uint64_t, LogFile> logs;
    std::error_code error;
    for (const std::string& name : names_in(directory, ".log", error)) {
        logs.emplace(std::strtoull(name.c_str(), nullptr, 10), log_file_at(fs::path{directory} / name));
    }
    return logs;
}

Result<Done> append_durably(const fs::path& path, const std::string& text) {
    const FileDescriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kStoreFileMode)};
    if (!file || !write_all(file.get(), std::as_bytes(std::span{text})) || ::fsync(file.get()) != 0) {
        return error_from_errno(errno, path.string());
    }
    return sync_folder(path.parent_path().string());
}

}  // namespace

std::string log_file_name(std::uint64_t number) { return file_number_text(number) + ".log"; }

void write_synced_logs(const std::string& directory, std::uint64_t number, std::uint64_t size_bytes,
                       std::vector<SyncedLog>& logs) {
    if (logs.empty() || logs.back().number != number) {  // lists this writer's logs that still exist
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
        logs.push_back({number, 0, ""});
    }
    if (logs.back().first_checksum == 0) {
        logs.back().first_checksum = first_checksum_of(directory, number);
    }
    logs.back().size_bytes = size_bytes;
    logs.back().time = utc_now();
    std::string text;
    for (const SyncedLog& log : logs) {
        // All lines have the same size.
        const std::string line =
            fmt::format("{:020} {:020} {} {:08x} ", log.number, log.size_bytes, log.time, log.first_checksum);
        text += line + line_checksum(line) + "\n";
    }
    const FileDescriptor file{::open(synced_path(directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kStoreFileMode)};
    if (file && write_all_at(file.get(), 0, std::as_bytes(std::span{text}))) {
        (void)!::ftruncate(file.get(), static_cast<::off_t>(text.size()));
    }
}

std::vector<SyncedLog> read_synced_logs(const std::string& directory) {
    std::vector<SyncedLog> logs;
    std::istringstream file{read_regular_file(synced_path(directory)).value_or("")};
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
    if (is_no_regular_file(synced_path(directory))) {
        PERFLEET_TRY(set_aside(directory, kSyncedFile));
    } else if (::unlink(synced_path(directory).c_str()) != 0) {
        return errno == ENOENT ? Result<Done>{Done{}} : error_from_errno(errno, synced_path(directory).string());
    }
    return sync_folder(directory);
}

// Reads the manifest after the logs: logs that a live writer has deleted by then are in its table files.
LogFaults find_log_faults(const std::string& directory) {
    LogFaults faults;
    std::map<std::uint64_t, LogFile> logs = logs_in(directory);
    const std::vector<SyncedLog> synced = read_synced_logs(directory);
    const auto manifest = live_manifest(directory);
    const auto is_needed = [&](std::uint64_t log) {
        return !manifest || log >= std::max(manifest->first_needed_log, manifest->first_replayed_log);
    };
    std::set<std::uint64_t> known;  // logs whose checksum shows that they aren't replaced
    for (SyncedLog log : synced) {
        const auto at = logs.find(log.number);
        const bool is_there = at != logs.end();
        const std::uint32_t checksum = is_there ? at->second.first_checksum : 0;
        const bool has_both = log.first_checksum != 0 && checksum != 0;
        log.is_another = is_there && (!at->second.is_file || (has_both && checksum != log.first_checksum));
        const std::uint64_t size_bytes = is_there && !log.is_another ? at->second.size_bytes : 0;
        if (has_both && !log.is_another) {
            known.insert(log.number);
        }
        if (log.is_another) {
            logs.erase(at);
        }
        if (size_bytes < log.size_bytes && is_needed(log.number)) {
            log.size_bytes = size_bytes;
            faults.logs.push_back(std::move(log));
        }
    }
    if (!manifest) {
        return faults;
    }
    const auto add_another = [&](std::uint64_t log) { faults.logs.push_back({log, 0, "", 0, true}); };
    std::uint64_t before = 0;
    std::uint64_t sequence_min = manifest->tables_sequence + 1;  // smallest possible start of the next log
    std::uint64_t synced_before_logs = 0;
    for (const auto& [number, log] : logs) {
        const std::uint64_t sequence = log.first.sequence;
        if (!is_needed(number) || (log.is_file && sequence == 0)) {
            continue;
        }
        if (log.is_file && before != 0 && sequence < sequence_min && known.contains(number)) {
            add_another(before);
        } else if (!log.is_file || sequence < sequence_min) {
            add_another(number);
            continue;
        }
        synced_before_logs = before == 0 && log.first.mark ? log.first.mark->synced : synced_before_logs;
        before = number;
        sequence_min = sequence + log.first.count;
    }
    std::sort(faults.logs.begin(), faults.logs.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    if (faults.logs.empty() && synced_before_logs > manifest->last_sequence) {
        faults.gap =
            "acknowledged rows are lost: the write-ahead logs go on behind change " +
            std::to_string(synced_before_logs) + ", and the manifest knows " + std::to_string(manifest->last_sequence) +
            ": it is an older one, or a log before them is missing; put back what is newer while no gateway runs";
    }
    return faults;
}

std::vector<std::string> other_logs(const std::string& directory) {
    std::vector<std::string> names;
    for (const SyncedLog& log : find_log_faults(directory).logs) {
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
    const fs::path path = fs::path{directory} / kLossesFile;
    const auto content = read_regular_file(path);
    std::error_code unknown;
    if (!content && fs::symlink_status(path, unknown).type() != fs::file_type::not_found) {
        return {path.string() + " can't be read: the losses of write-ahead logs aren't known"};
    }
    std::vector<std::string> losses;
    std::istringstream file{content.value_or("")};
    for (std::string line; std::getline(file, line);) {
        losses.push_back(line);
    }
    return losses;
}

}  // namespace perfleet
