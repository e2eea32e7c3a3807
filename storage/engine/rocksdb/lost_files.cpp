#include "storage/engine/rocksdb/lost_files.h"

#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

namespace perfleet {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// The last bytes of a table, which locate its parts (rocksdb/table/format.h: Footer::kNewVersionsEncodedLength).
constexpr std::size_t kFooterSizeBytes = 53;

std::string name_of(const std::string& path) { return std::filesystem::path{path}.filename().string(); }

Error table_error(const rocksdb::Status& status) {
    return {ErrorCode::kIo, "an empty table can't be made: " + status.ToString()};
}

// A table needs at least one entry: this one deletes a range of keys that never exist.
Result<std::string> make_empty_table() {
    constexpr const char* kPath = "/empty.sst";
    const std::unique_ptr<rocksdb::Env> memory{rocksdb::NewMemEnv(rocksdb::Env::Default())};
    rocksdb::Options options;
    options.env = memory.get();
    options.compression = rocksdb::kNoCompression;
    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kXXH3;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::SstFileWriter writer{rocksdb::EnvOptions{}, options};
    rocksdb::Status status = writer.Open(kPath);
    if (status.ok()) {
        status = writer.DeleteRange("\xff\xff", "\xff\xff\xff");
    }
    if (status.ok()) {
        status = writer.Finish();
    }
    std::string bytes;
    if (status.ok()) {
        status = rocksdb::ReadFileToString(memory.get(), kPath, &bytes);
    }
    return status.ok() ? Result<std::string>{std::move(bytes)} : table_error(status);
}

// The footer locates the parts of a table, so there may be a hole between them and the footer.
class StretchedTable final : public FSRandomAccessFile {
public:
    StretchedTable(std::shared_ptr<const std::string> table, std::uint64_t size_bytes)
        : table_{std::move(table)}, size_bytes_{size_bytes} {}

    IOStatus Read(std::uint64_t offset, std::size_t count, const IOOptions&, Slice* result, char* scratch,
                  IODebugContext*) const override {
        const std::size_t parts_size_bytes = table_->size() - kFooterSizeBytes;
        const std::uint64_t footer_offset = size_bytes_ - kFooterSizeBytes;
        const std::size_t taken =
            offset >= size_bytes_ ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(count, size_bytes_ - offset));
        std::memset(scratch, 0, taken);
        copy(0, std::string_view{*table_}.substr(0, parts_size_bytes), offset, taken, scratch);
        copy(footer_offset, std::string_view{*table_}.substr(parts_size_bytes), offset, taken, scratch);
        *result = Slice{scratch, taken};
        return IOStatus::OK();
    }

private:
    // Copies the part of `bytes`, which are at offset `at` of the file, that the read covers.
    static void copy(std::uint64_t at, std::string_view bytes, std::uint64_t offset, std::size_t count, char* scratch) {
        const std::uint64_t first = std::max(at, offset);
        const std::uint64_t last = std::min(at + bytes.size(), offset + count);
        if (first < last) {
            std::memcpy(scratch + (first - offset), bytes.data() + (first - at), last - first);
        }
    }

    std::shared_ptr<const std::string> table_;
    std::uint64_t size_bytes_;
};

class EmptyTables final : public rocksdb::FileSystemWrapper {
public:
    EmptyTables(const std::shared_ptr<rocksdb::FileSystem>& base, std::shared_ptr<const std::string> table,
                std::map<std::string, std::uint64_t> sizes_bytes, std::map<std::string, std::string> others)
        : FileSystemWrapper{base},
          table_{std::move(table)},
          sizes_bytes_{std::move(sizes_bytes)},
          others_{std::move(others)} {}

    const char* Name() const override { return "perfleet.EmptyTables"; }

    IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                 std::unique_ptr<FSRandomAccessFile>* file, IODebugContext* debug) override {
        if (const auto found = sizes_bytes_.find(name_of(path)); found != sizes_bytes_.end()) {
            *file = std::make_unique<StretchedTable>(table_, found->second);
            return IOStatus::OK();
        }
        return target()->NewRandomAccessFile(path, options, file, debug);
    }
    IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* debug) override {
        return target()->NewSequentialFile(other(path), options, file, debug);
    }
    IOStatus GetFileSize(const std::string& path, const IOOptions& options, std::uint64_t* size_bytes,
                         IODebugContext* debug) override {
        if (const auto found = sizes_bytes_.find(name_of(path)); found != sizes_bytes_.end()) {
            *size_bytes = found->second;
            return IOStatus::OK();
        }
        return target()->GetFileSize(other(path), options, size_bytes, debug);
    }
    IOStatus FileExists(const std::string& path, const IOOptions& options, IODebugContext* debug) override {
        return sizes_bytes_.contains(name_of(path)) ? IOStatus::OK()
                                                    : target()->FileExists(other(path), options, debug);
    }

private:
    [[nodiscard]] const std::string& other(const std::string& path) const {
        const auto found = others_.find(name_of(path));
        return found == others_.end() ? path : found->second;
    }

    std::shared_ptr<const std::string> table_;
    std::map<std::string, std::uint64_t> sizes_bytes_;  // by name
    std::map<std::string, std::string> others_;         // paths, by name
};

}  // namespace

Result<std::shared_ptr<rocksdb::Env>> env_with_empty_tables(rocksdb::Env& base,
                                                            const std::vector<TableFileCheck>& files,
                                                            std::map<std::string, std::string> others) {
    auto table = PERFLEET_TRY(make_empty_table());
    std::map<std::string, std::uint64_t> sizes_bytes;
    for (const TableFileCheck& file : files) {
        if (file.size_bytes < table.size()) {
            return Error{ErrorCode::kUnsupported, file.file + " " + file.damage + ", and with " +
                                                      std::to_string(file.size_bytes) +
                                                      " bytes it is smaller than any table"};
        }
        sizes_bytes.emplace(file.file, file.size_bytes);
    }
    return std::shared_ptr<rocksdb::Env>{rocksdb::NewCompositeEnv(
        std::make_shared<EmptyTables>(base.GetFileSystem(), std::make_shared<const std::string>(std::move(table)),
                                      std::move(sizes_bytes), std::move(others)))};
}

std::vector<DamagedRange> lost_ranges(const std::string& directory, const std::vector<TableFileCheck>& files) {
    std::vector<DamagedRange> ranges;
    for (const TableFileCheck& file : files) {
        ranges.push_back(
            {{file.first_key, file.last_key + '\0'},
             {ErrorCode::kCorrupt, directory + "/" + file.file + " " + file.damage +
                                       ": what it holds can't be read; put it back while no gateway "
                                       "runs, or go on with a copy of what is left (perfleet copy --help)"},
             file.file});
    }
    return ranges;
}

}  // namespace perfleet
