#include "storage/engine/table_files.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "storage/engine/folder.h"
#include "storage/engine/silent_log.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr int kFilesOpenMax = 16;

rocksdb::Options reading_options() {
    rocksdb::Options options;
    options.info_log = make_silent_log();
    options.max_open_files = kFilesOpenMax;
    options.paranoid_checks = false;
    options.skip_checking_sst_file_sizes_on_db_open = true;
    options.skip_stats_update_on_db_open = true;
    return options;
}

Result<std::vector<TableFileCheck>> listed_files(const std::string& directory) {
    std::vector<TableFileCheck> files;
    std::error_code error;
    for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error)) {
        if (at->path().extension() == ".sst") {
            std::error_code gone;
            const std::uint64_t size_bytes = at->file_size(gone);
            files.push_back({at->path().filename().string(), gone ? 0 : size_bytes, "", "", ""});
        }
    }
    if (error) {
        return error_from_errno(error.value(), directory);
    }
    return files;
}

std::string other_size(std::uint64_t found_size_bytes, std::uint64_t size_bytes) {
    return "has " + std::to_string(found_size_bytes) + " bytes, not " + std::to_string(size_bytes);
}

std::string words_of(const rocksdb::Status& status) {
    const std::string text = status.ToString();
    return text.find("No such file") != std::string::npos ? "is missing" : "can't be opened (" + text + ")";
}

// A file of another size than it should have is opened all the same if its table can be found in it: RocksDB does, too.
class SizeOfManifest final : public rocksdb::FileSystemWrapper {
public:
    explicit SizeOfManifest(std::uint64_t size_bytes)
        : FileSystemWrapper{rocksdb::FileSystem::Default()}, size_bytes_{size_bytes} {}

    const char* Name() const override { return "perfleet.SizeOfManifest"; }
    rocksdb::IOStatus GetFileSize(const std::string&, const rocksdb::IOOptions&, std::uint64_t* size_bytes,
                                  rocksdb::IODebugContext*) override {
        *size_bytes = size_bytes_;
        return rocksdb::IOStatus::OK();
    }

private:
    std::uint64_t size_bytes_;
};

// Its index is read, too. A table without properties can't be told from others, so it can't be left out in reading.
rocksdb::Status try_to_open(const fs::path& path, std::uint64_t size_bytes) {
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<SizeOfManifest>(size_bytes));
    rocksdb::Options options = reading_options();
    options.env = env.get();
    rocksdb::SstFileReader reader{options};
    const rocksdb::Status status = reader.Open(path.string());
    return status.ok() && reader.GetTableProperties() == nullptr
               ? rocksdb::Status::Corruption("its properties can't be read")
               : status;
}

// And has its size: else a secondary instance would leave it out.
bool can_be_opened(const fs::path& path, std::uint64_t size_bytes) {
    std::error_code error;
    return fs::file_size(path, error) == size_bytes && !error && try_to_open(path, size_bytes).ok();
}

bool holds(const std::vector<TableFileCheck>& files, const std::string& name) {
    return std::any_of(files.begin(), files.end(), [&](const TableFileCheck& file) { return file.file == name; });
}

std::string damage_of(const fs::path& path, std::uint64_t size_bytes) {
    std::error_code error;
    const std::uint64_t found_size_bytes = fs::file_size(path, error);
    if (error) {
        return error.message();
    }
    if (found_size_bytes != size_bytes) {
        return other_size(found_size_bytes, size_bytes);
    }
    rocksdb::SstFileReader reader{reading_options()};
    rocksdb::Status status = reader.Open(path.string());
    if (status.ok()) {
        status = reader.VerifyChecksum();
    }
    return status.ok() ? "" : status.ToString();
}

// What the manifest says now; null where it can't be read.
std::unique_ptr<rocksdb::DB> open_without_logs(const std::string& directory) {
    const auto no_logs = TemporaryFolder::make("perfleet-reader-");
    if (!no_logs.ok()) {
        return nullptr;
    }
    rocksdb::Options options = reading_options();
    options.wal_dir = (*no_logs)->path();  // so that none is replayed
    rocksdb::DB* db = nullptr;
    (void)rocksdb::DB::OpenForReadOnly(options, directory, &db);
    return std::unique_ptr<rocksdb::DB>{db};
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

std::uint64_t first_needed_log(const std::string& directory) {
    std::uint64_t number = 0;
    if (const auto db = open_without_logs(directory)) {
        (void)db->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &number);
    }
    return number;
}

std::optional<std::vector<TableFileCheck>> live_table_files(const std::string& directory) {
    const auto db = open_without_logs(directory);
    if (!db) {
        return std::nullopt;
    }
    std::vector<rocksdb::LiveFileMetaData> live;
    db->GetLiveFilesMetaData(&live);
    std::vector<TableFileCheck> files;
    for (const rocksdb::LiveFileMetaData& file : live) {
        files.push_back({fs::path{file.name}.filename().string(), file.size, file.smallestkey, file.largestkey, ""});
    }
    return files;
}

bool misses_table_files(const std::string& directory, const std::vector<std::string>& known_files) {
    const auto live = live_table_files(directory);
    if (!live) {
        return false;
    }
    return std::any_of(live->begin(), live->end(), [&](const TableFileCheck& file) {
        if (std::find(known_files.begin(), known_files.end(), file.file) != known_files.end() ||
            can_be_opened(fs::path{directory} / file.file, file.size_bytes)) {
            return false;
        }
        const auto now = live_table_files(directory);  // a live writer may have replaced it
        return now && holds(*now, file.file);
    });
}

Result<std::vector<TableFileCheck>> lost_table_files(const std::string& directory) {
    std::vector<TableFileCheck> lost;
    const auto live = live_table_files(directory);
    for (const TableFileCheck& file : live.value_or(std::vector<TableFileCheck>{})) {
        const fs::path path = fs::path{directory} / file.file;
        const rocksdb::Status status = try_to_open(path, file.size_bytes);
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
        const auto now = live_table_files(directory);  // a live writer may have replaced it
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
        file.damage = damage_of(fs::path{directory} / file.file, file.size_bytes);
        if (!file.damage.empty()) {  // or a live writer has just replaced it
            now = live_table_files(directory);
            if (now && !holds(*now, file.file)) {
                file.damage.clear();
            }
        }
    }
    return files;
}

}  // namespace perfleet
