#include "target-collector/process/small_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"

namespace perfleet {

Result<std::string> read_small_file(const std::string& path, std::size_t size_bytes_max) {
    const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    if (!file) {
        return error_from_errno(errno, "can't open '" + path + "'");
    }
    auto text = read_rest(file.get(), size_bytes_max);
    if (!text) {
        return error_from_errno(errno, "can't read '" + path + "'");
    }
    if (text->size() > size_bytes_max) {
        return Error{ErrorCode::kTooLarge, "'" + path + "' is larger than the " + std::to_string(size_bytes_max) +
                                               " bytes that are read of such a file"};
    }
    return std::move(*text);
}

FileDescriptor open_regular_file(const std::string& path, struct stat& status) {
    const FileDescriptor place{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return FileDescriptor{};
    }
    const std::string same = "/proc/self/fd/" + std::to_string(place.get());
    return FileDescriptor{::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
}

std::optional<long long> read_integer_file(const std::string& path) {
    constexpr std::size_t kSizeMax = 4'096;
    const auto text = read_small_file(path, kSizeMax);
    if (!text.ok()) {
        return std::nullopt;
    }
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text->c_str(), &end, 10);
    if (end == text->c_str() || errno != 0) {
        return std::nullopt;
    }
    return value;
}

std::vector<std::string> names_in_folder(const std::string& folder) {
    constexpr std::size_t kNamesMax = 4'096;
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry{folder, error}, end;
         !error && entry != end && names.size() < kNamesMax; entry.increment(error)) {
        names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace perfleet
