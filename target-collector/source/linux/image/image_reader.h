// Reads untrusted files of programs: unwind tables, where Python keeps its state, and the data of the probe library.
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

    // From an open regular file, which remains the caller's. Errors: those of UnwindTable::of_image(), and of the
    // reader.
    [[nodiscard]] virtual Result<UnwindTable> unwind_table(int fd) = 0;
    // Nothing: not Python, or the reader failed.
    [[nodiscard]] virtual std::optional<PythonSymbols> python_symbols(int fd) = 0;
    // As probe_entries_of() and probe_door_of(); nothing if the reader failed.
    [[nodiscard]] virtual std::vector<perfleet_probe_name> probe_entries(int fd) = 0;
    [[nodiscard]] virtual std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) = 0;

    // Process id of the reader if it is another running process; else 0.
    [[nodiscard]] virtual pid_t pid() const { return 0; }
};

// Reads in this process, within the parsers' limits.
class DirectImageReader final : public ImageReader {
public:
    [[nodiscard]] Result<UnwindTable> unwind_table(int fd) override;
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(int fd) override;
    [[nodiscard]] std::vector<perfleet_probe_name> probe_entries(int fd) override;
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) override;
};

}  // namespace perfleet
