#include "storage/store/table_files.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr int kFilesOpenMax = 16;

// RocksDB would write its information log into the folder.
class NoLog final : public rocksdb::Logger {
public:
    using rocksdb::Logger::Logv;
    void Logv(const char*, va_list) override {}
};

rocksdb::Options reading_options() {
    rocksdb::Options options;
    options.info_log = std::make_shared<NoLog>();
    options.max_open_files = kFilesOpenMax;
    options.paranoid_checks = false;
    options.skip_checking_sst_file_sizes_on_db_open = true;
    options.skip_stats_update_on_db_open = true;
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    return options;
}

std::optional<std::vector<TableFileCheck>> live_files(const std::string& directory) {
    rocksdb::DB* db = nullptr;
    if (!rocksdb::DB::OpenForReadOnly(reading_options(), directory, &db).ok()) {
        return std::nullopt;
    }
    const std::unique_ptr<rocksdb::DB> owned{db};
    std::vector<rocksdb::LiveFileMetaData> live;
    owned->GetLiveFilesMetaData(&live);
    std::vector<TableFileCheck> files;
    for (const rocksdb::LiveFileMetaData& file : live) {
        files.push_back({fs::path{file.name}.filename().string(), file.size, ""});
    }
    return files;
}

Result<std::vector<TableFileCheck>> listed_files(const std::string& directory) {
    std::vector<TableFileCheck> files;
    std::error_code error;
    for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
        if (at->path().extension() == ".sst") {
            std::error_code gone;
            const std::uint64_t size_bytes = at->file_size(gone);
            files.push_back({at->path().filename().string(), gone ? 0 : size_bytes, ""});
        }
    }
    if (error) {
        return error_from_errno(error.value(), directory);
    }
    return files;
}

std::string damage_of(const fs::path& path, std::uint64_t size_bytes) {
    std::error_code error;
    const std::uint64_t found_size_bytes = fs::file_size(path, error);
    if (error) {
        return error.message();
    }
    if (found_size_bytes != size_bytes) {
        return "has " + std::to_string(found_size_bytes) + " bytes, not " + std::to_string(size_bytes);
    }
    rocksdb::SstFileReader reader{reading_options()};
    rocksdb::Status status = reader.Open(path.string());
    if (status.ok()) {
        status = reader.VerifyChecksum();
    }
    return status.ok() ? "" : status.ToString();
}

}  // namespace

Result<std::vector<TableFileCheck>> check_table_files(const std::string& directory, bool verify) {
    std::vector<TableFileCheck> files;
    if (auto live = live_files(directory)) {
        files = std::move(*live);
    } else {
        auto listed = listed_files(directory);
        if (!listed.ok()) {
            return listed.error();
        }
        files = std::move(*listed);
    }
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
    std::optional<std::vector<TableFileCheck>> now;
    for (TableFileCheck& file : files) {
        if (!verify) {
            continue;
        }
        file.damage = damage_of(fs::path{directory} / file.file, file.size_bytes);
        if (!file.damage.empty()) {  // or a live writer has just replaced it
            now = live_files(directory);
            if (now && std::none_of(now->begin(), now->end(),
                                    [&](const TableFileCheck& other) { return other.file == file.file; })) {
                file.damage.clear();
            }
        }
    }
    return files;
}

}  // namespace perfleet
