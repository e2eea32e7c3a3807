// A file that appears whole or not at all: written where it has no name (O_TMPFILE), which it is given at the end;
// however the program is ended before, nothing of it is left. Where a file system knows no such files (NFS), it is
// written beside its place, renamed at the end, and removed when that never comes, unless a signal ends the program. A
// link's file is replaced, not the link, and only of links that this user or root made; what is no ordinary file (a
// device, a pipe, /dev/stdout) is never replaced: it is written through a file of the folder for temporary ones. New
// files are for their owner alone (0600).
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

// What becomes of a file that is there already. An empty one is always replaced.
enum class ExistingFile : std::uint8_t {
    kRefuse,   // kUsage, when the sink is created, or committed if the file came since
    kReplace,  // its permissions are kept if it is this user's
    kKeepOld,  // renamed to FILE.old, as perf does; an earlier FILE.old is replaced
};

class FileSink : public ExportSink {
public:
    // A pipe without a reader is waited for. Errors name the path.
    [[nodiscard]] static Result<std::unique_ptr<FileSink>> create(const std::string& path, ExistingFile existing);
    ~FileSink() override;
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

    [[nodiscard]] Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;

    // Puts the file in its place, with this modification time if one is given.
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

    std::string named_;  // by the user
    ExistingFile existing_;
    std::string place_;            // of an ordinary file; empty: through_descriptor_
    std::string unfinished_path_;  // empty: none, or none that has a name
    FileDescriptor descriptor_;    // of the unfinished file
    FileDescriptor through_descriptor_;
};

// All of a file at once. Errors: those of the sink.
[[nodiscard]] Result<Done> write_file(const std::string& path, std::string_view bytes, ExistingFile existing);

}  // namespace perfleet
