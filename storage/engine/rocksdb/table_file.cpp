#include "storage/engine/rocksdb/table_file.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/manifest.h"
#include "storage/engine/rocksdb/silent_log.h"

namespace perfleet {
namespace {

constexpr int kFilesOpenMax = 16;

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

// Each table stores the database session that made it, and its file number there.
rocksdb::Status check_identity(const rocksdb::TableProperties& table, std::uint64_t number, std::uint64_t session_id) {
    const auto found_session_id = session_id_in(table.db_session_id);
    const bool is_of_session = session_id == 0 || !found_session_id || *found_session_id == session_id;
    return is_of_session && (table.orig_file_number == 0 || table.orig_file_number == number)
               ? rocksdb::Status::OK()
               : rocksdb::Status::Corruption("it is another file, number " + std::to_string(table.orig_file_number) +
                                             " of database " + table.db_id + ", session " + table.db_session_id);
}

}  // namespace

rocksdb::Options damage_reading_options() {
    rocksdb::Options options;
    options.info_log = make_silent_log();
    options.max_open_files = kFilesOpenMax;
    options.paranoid_checks = false;
    options.skip_checking_sst_file_sizes_on_db_open = true;
    options.skip_stats_update_on_db_open = true;
    return options;
}

rocksdb::Status try_to_open_table(const std::filesystem::path& path, std::uint64_t size_bytes,
                                  std::uint64_t session_id) {
    if (is_no_regular_file(path)) {
        return rocksdb::Status::PathNotFound(path.string(), "No such file");
    }
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<SizeOfManifest>(size_bytes));
    rocksdb::Options options = damage_reading_options();
    options.env = env.get();
    rocksdb::SstFileReader reader{options};
    rocksdb::Status status = reader.Open(path.string());
    if (!status.ok()) {
        return status;
    }
    const auto properties = reader.GetTableProperties();
    // A table without properties can't be identified, so reads can't leave it out.
    return properties == nullptr
               ? rocksdb::Status::Corruption("its properties can't be read")
               : check_identity(*properties, std::strtoull(path.stem().c_str(), nullptr, 10), session_id);
}

}  // namespace perfleet
