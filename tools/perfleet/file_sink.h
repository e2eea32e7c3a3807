// A file that appears whole or not at all: written beside its place, renamed at the end, removed when that never comes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "exporters/perf-data/perf_data_exporter.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

class FileSink : public ExportSink {
public:
    // Errors name the path.
    [[nodiscard]] static Result<std::unique_ptr<FileSink>> create(const std::string& path);
    ~FileSink() override;
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

    [[nodiscard]] Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;

    // Puts the file in its place, with this modification time if one is given.
    [[nodiscard]] Result<Done> commit(const std::optional<UtcNs>& modified);

private:
    FileSink(int descriptor, std::string path, std::string unfinished_path)
        : descriptor_{descriptor}, path_{std::move(path)}, unfinished_path_{std::move(unfinished_path)} {}

    int descriptor_;
    std::string path_;
    std::string unfinished_path_;
};

}  // namespace perfleet
