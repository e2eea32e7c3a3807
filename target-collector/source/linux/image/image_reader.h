// What the source reads of the files that programs are mapped from, which nobody vouches for: tables that say how to
// unwind them, where Python keeps its state, and what the library of probes left in them.
//
// One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/process/unwind/unwind_table.h"
#include "target-collector/source/linux/image/probe_sections.h"
#include "target-collector/source/linux/image/python_symbols.h"

namespace perfleet {

class ImageReader {
public:
    virtual ~ImageReader() = default;

    // Of an open regular file, which stays the caller's. Errors: those of UnwindTable::of_image(), and of the reader.
    [[nodiscard]] virtual Result<UnwindTable> unwind_table(int fd) = 0;
    // Nothing: it isn't Python's, or the reader failed at it.
    [[nodiscard]] virtual std::optional<PythonSymbols> python_symbols(int fd) = 0;
    // As probe_entries_of() and probe_door_of(); nothing where the reader failed at it.
    [[nodiscard]] virtual std::vector<perfleet_probe_name> probe_entries(int fd) = 0;
    [[nodiscard]] virtual std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) = 0;

    // Of the process that reads, where it is another one that runs; else 0.
    [[nodiscard]] virtual pid_t pid() const { return 0; }
};

// Reads them in this process, within the bounds of the parsers.
class DirectImageReader final : public ImageReader {
public:
    [[nodiscard]] Result<UnwindTable> unwind_table(int fd) override;
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(int fd) override;
    [[nodiscard]] std::vector<perfleet_probe_name> probe_entries(int fd) override;
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) override;
};

}  // namespace perfleet
