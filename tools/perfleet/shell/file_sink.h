// A file that appears whole or not at all. It is written without a name (O_TMPFILE) and linked at the end, so nothing
// remains if the program ends early. On file systems without O_TMPFILE (NFS) it is written beside its place, renamed at
// the end, and removed on failure, unless a signal kills the program. A symbolic link is kept and its file replaced,
// but only for links of this user or root. A special file (a device, a pipe, /dev/stdout) is never replaced: the bytes
// go into a temporary file first. New files have mode 0600.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "exporters/perf-data/perf_data_exporter.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// What to do if the file exists. An empty one is always replaced.
enum class ExistingFile : std::uint8_t {
    kRefuse,   // kUsage on create, or on commit if the file has appeared since
    kReplace,  // keeps its permissions if it belongs to this user
    kKeepOld,  // renames it to FILE.old, as perf does; replaces an earlier FILE.old
};

class FileSink : public ExportSink {
public:
    // Waits for a reader if the path is a pipe. Errors name the path.
    [[nodiscard]] static Result<std::unique_ptr<FileSink>> create(const std::string& path, ExistingFile existing);
    ~FileSink() override;
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

    [[nodiscard]] Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;

    // Puts the file into its place, with this modification time if given.
    [[nodiscard]] Result<Done> commit(const std::optional<UtcNs>& modified);

private:
    FileSink(std::string named, ExistingFile existing) : named_{std::move(named)}, existing_{existing} {}
    [[nodiscard]] Result<Done> open_beside(const std::string& place, mode_t mode);
    [[nodiscard]] Result<Done> put_in_place();
    [[nodiscard]] Result<Done> make_way();
    [[nodiscard]] Error refusal() const;
    [[nodiscard]] Result<Done> open_through();
    [[nodiscard]] Result<Done> write_through();
    [[nodiscard]] Error failure(int number) const;

    std::string named_;  // the path that the user gave
    ExistingFile existing_;
    std::string place_;            // of an ordinary file; empty: through_descriptor_
    std::string unfinished_path_;  // empty: no file, or one without a name
    FileDescriptor descriptor_;    // of the unfinished file
    FileDescriptor through_descriptor_;
};

// Writes a whole file. Errors: those of the sink.
[[nodiscard]] Result<Done> write_file(const std::string& path, std::string_view bytes, ExistingFile existing);

}  // namespace perfleet
