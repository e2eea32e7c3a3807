#include "target-collector/source/linux/image/image_reader.h"

#include <sys/stat.h>

#include <cerrno>
#include <span>

#include "schemas/host/file_io.h"

namespace perfleet {
namespace {

auto reader_of(int fd) {
    return
        [fd](std::uint64_t offset, std::span<std::byte> into) { return read_all_at(fd, offset, into) == into.size(); };
}

}  // namespace

Result<UnwindTable> DirectImageReader::unwind_table(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return error_from_errno(errno, "an image");
    }
    return UnwindTable::of_image(reader_of(fd), static_cast<std::uint64_t>(status.st_size));
}

std::optional<PythonSymbols> DirectImageReader::python_symbols(int fd) { return python_symbols_of(reader_of(fd)); }

std::vector<perfleet_probe_name> DirectImageReader::probe_entries(int fd) { return probe_entries_of(reader_of(fd)); }

std::optional<ProbeDoorPlace> DirectImageReader::probe_door(int fd, std::uint64_t file_offset) {
    return probe_door_of(reader_of(fd), file_offset);
}

}  // namespace perfleet
