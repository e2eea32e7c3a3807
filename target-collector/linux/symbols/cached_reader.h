// Reads images by another reader; unwind tables come from a cache of files, if they are there.
//
// One thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "target-collector/linux/symbols/file_cache.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

class CachedReader final : public ImageReader {
public:
    CachedReader(std::shared_ptr<FileCache> cache, std::shared_ptr<ImageReader> reader)
        : cache_{std::move(cache)}, reader_{std::move(reader)} {}

    [[nodiscard]] Result<UnwindTable> unwind_table(int fd) override;
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(int fd) override { return reader_->python_symbols(fd); }
    [[nodiscard]] std::vector<perfleet_probe_name> probe_entries(int fd) override { return reader_->probe_entries(fd); }
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) override {
        return reader_->probe_door(fd, file_offset);
    }
    [[nodiscard]] pid_t pid() const override { return reader_->pid(); }

private:
    std::shared_ptr<FileCache> cache_;
    std::shared_ptr<ImageReader> reader_;
};

}  // namespace perfleet
