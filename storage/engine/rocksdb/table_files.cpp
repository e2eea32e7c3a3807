#include "storage/engine/rocksdb/table_files.h"

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "storage/engine/file_name.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/manifest_copy.h"
#include "storage/engine/rocksdb/silent_log.h"
#include "storage/engine/rocksdb/table_file.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

Result<std::vector<TableFileCheck>> listed_files(const std::string& directory) {
    std::vector<TableFileCheck> files;
    std::error_code error;
    for (std::string& name : names_in(directory, ".sst", error)) {
        std::error_code gone;
        const std::uint64_t size_bytes = fs::file_size(fs::path{directory} / name, gone);
        files.push_back({std::move(name), gone ? 0 : size_bytes, "", "", 0, ""});
    }
    return error ? error_from_errno(error.value(), directory) : Result<std::vector<TableFileCheck>>{std::move(files)};
}

std::string other_size(std::uint64_t found_size_bytes, std::uint64_t size_bytes) {
    return "has " + std::to_string(found_size_bytes) + " bytes, not " + std::to_string(size_bytes);
}

std::string words_of(const rocksdb::Status& status) {
    const std::string text = status.ToString();
    return text.find("No such file") != std::string::npos ? "is missing" : "can't be opened (" + text + ")";
}

rocksdb::Status try_to_open(const std::string& directory, const TableFileCheck& file) {
    return try_to_open_table(fs::path{directory} / file.file, file.size_bytes, file.session_id);
}

// Also checks the size: a secondary instance would leave out a file of another size.
bool can_be_opened(const std::string& directory, const TableFileCheck& file) {
    std::error_code error;
    return fs::file_size(fs::path{directory} / file.file, error) == file.size_bytes && !error &&
           try_to_open(directory, file).ok();
}

bool holds(const std::vector<TableFileCheck>& files, const std::string& name) {
    return std::any_of(files.begin(), files.end(), [&](const TableFileCheck& file) { return file.file == name; });
}

std::string damage_of(const std::string& directory, const TableFileCheck& file) {
    const fs::path path = fs::path{directory} / file.file;
    std::error_code error;
    const std::uint64_t found_size_bytes = fs::file_size(path, error);
    if (error) {
        return error.message();
    }
    if (found_size_bytes != file.size_bytes) {
        return other_size(found_size_bytes, file.size_bytes);
    }
    rocksdb::Status status = try_to_open(directory, file);
    if (status.ok()) {
        rocksdb::SstFileReader reader{damage_reading_options()};
        status = reader.Open(path.string());
        status = status.ok() ? reader.VerifyChecksum() : status;
    }
    return status.ok() ? "" : status.ToString();
}

}  // namespace

std::shared_ptr<rocksdb::Logger> make_silent_log() {
    class SilentLog final : public rocksdb::Logger {
    public:
        using rocksdb::Logger::Logv;
        void Logv(const char*, va_list) override {}
    };
    return std::make_shared<SilentLog>();
}

std::optional<Manifest> live_manifest(const std::string& directory) {
    auto found = find_manifest(directory);
    return found.ok() ? std::move(found->content) : std::nullopt;
}

std::vector<TableFileCheck> table_files_of(const Manifest& manifest) {
    std::vector<TableFileCheck> files;
    for (const auto& [number, table] : manifest.tables) {
        files.push_back(
            {table_file_name(number), table.size_bytes, table.first_key, table.last_key, table.session_id, ""});
    }
    return files;
}

std::optional<std::vector<TableFileCheck>> live_table_files(const std::string& directory) {
    const auto manifest = live_manifest(directory);
    return manifest ? std::optional{table_files_of(*manifest)} : std::nullopt;
}

bool misses_table_files(const std::string& directory, const std::vector<std::string>& known_files) {
    const auto live = live_table_files(directory);
    if (!live) {
        return false;
    }
    return std::any_of(live->begin(), live->end(), [&](const TableFileCheck& file) {
        if (std::find(known_files.begin(), known_files.end(), file.file) != known_files.end() ||
            can_be_opened(directory, file)) {
            return false;
        }
        const auto now = live_table_files(directory);  // a live writer may have replaced the file
        return now && holds(*now, file.file);
    });
}

Result<std::vector<TableFileCheck>> lost_table_files(const std::string& directory) {
    std::vector<TableFileCheck> lost;
    const auto live = live_table_files(directory);
    for (const TableFileCheck& file : live.value_or(std::vector<TableFileCheck>{})) {
        const fs::path path = fs::path{directory} / file.file;
        const rocksdb::Status status = try_to_open(directory, file);
        if (status.ok()) {
            continue;
        }
        const std::string text = status.ToString();
        if (text.find("Permission denied") != std::string::npos) {
            return Error{ErrorCode::kPermission, path.string() + ": " + text};
        }
        if (text.find("Too many open files") != std::string::npos) {
            return Error{ErrorCode::kIo, path.string() + ": " + text + "; raise the limit of open files (ulimit -n)"};
        }
        const auto now = live_table_files(directory);  // a live writer may have replaced the file
        if (now && holds(*now, file.file)) {
            lost.push_back(file);
            std::error_code error;
            const std::uint64_t found_size_bytes = fs::file_size(path, error);
            lost.back().damage = error || found_size_bytes == file.size_bytes
                                     ? words_of(status)
                                     : other_size(found_size_bytes, file.size_bytes);
        }
    }
    return lost;
}

Result<std::vector<TableFileCheck>> check_table_files(const std::string& directory, bool verify,
                                                      const ProgressReport& progress) {
    std::vector<TableFileCheck> files;
    if (auto live = live_table_files(directory)) {
        files = std::move(*live);
    } else {
        files = PERFLEET_TRY(listed_files(directory));
    }
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
    std::optional<std::vector<TableFileCheck>> now;
    std::uint64_t total_size_bytes = 0;
    for (const TableFileCheck& file : files) {
        total_size_bytes += file.size_bytes;
    }
    std::uint64_t done_size_bytes = 0;
    for (TableFileCheck& file : files) {
        if (progress) {
            progress(done_size_bytes, total_size_bytes);
        }
        done_size_bytes += file.size_bytes;
        if (!verify) {
            continue;
        }
        file.damage = damage_of(directory, file);
        if (!file.damage.empty()) {  // damaged, or just replaced by a live writer
            now = live_table_files(directory);
            if (now && !holds(*now, file.file)) {
                file.damage.clear();
            }
        }
    }
    return files;
}

}  // namespace perfleet
