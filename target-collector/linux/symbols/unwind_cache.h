// Keeps unwind tables in a folder, by build-id, for later sessions.
//
//   BUILD-ID-VERSION.unwind   crc32c u32 of what follows | 0 u32 | table_bytes.h
//
// VERSION depends on the file (device, inode, size, times of change): a file with a forged build-id can't use another
// file's table, nor replace it. Damaged tables are made again. The least recently used tables are removed first; other
// files in the folder are left alone. Files without a build-id aren't cached.
//
// A resource. One thread; other collectors may use the folder meanwhile, each within the bound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

class UnwindCache final : public ImageReader {
public:
    static constexpr std::uint64_t kSizeBytesMax = 64U << 20U;  // of all files
    static constexpr std::size_t kFilesMax = 4'096;

    // Creates the folder if it is missing; `reader` makes missing tables. Errors: kPermission if other users may write
    // to it, and as errno says.
    [[nodiscard]] static Result<std::unique_ptr<UnwindCache>> open(const std::string& folder,
                                                                   std::shared_ptr<ImageReader> reader);

    [[nodiscard]] Result<UnwindTable> unwind_table(int fd) override;
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(int fd) override { return reader_->python_symbols(fd); }
    [[nodiscard]] std::vector<perfleet_probe_name> probe_entries(int fd) override { return reader_->probe_entries(fd); }
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) override {
        return reader_->probe_door(fd, file_offset);
    }
    [[nodiscard]] pid_t pid() const override { return reader_->pid(); }

    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::uint64_t hit_count() const { return hit_count_; }

private:
    struct KeptFile {
        std::uint64_t size_bytes = 0;
        std::int64_t used_ns = 0;  // UTC
    };

    UnwindCache(FileDescriptor folder, std::shared_ptr<ImageReader> reader);
    void list();
    [[nodiscard]] Result<UnwindTable> read(const std::string& name);
    void keep(const std::string& name, const UnwindTable& table);
    void make_room(std::uint64_t size_bytes);
    void remove(const std::string& name);

    FileDescriptor folder_;
    std::shared_ptr<ImageReader> reader_;
    std::map<std::string, KeptFile> files_;
    std::uint64_t size_bytes_ = 0;
    std::uint64_t hit_count_ = 0;
};

}  // namespace perfleet
