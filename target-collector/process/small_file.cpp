#include "target-collector/process/small_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

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

Result<Done> visit_lines(const std::string& path, const std::function<void(std::string_view)>& visitor) {
    const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    if (!file) {
        return error_from_errno(errno, "can't open '" + path + "'");
    }
    const auto buffer = std::make_unique_for_overwrite<char[]>(kVisitedLineSizeBytesMax);
    std::size_t kept = 0;  // of a line whose end wasn't read yet
    for (bool is_at_end = false; !is_at_end;) {
        const std::span room{buffer.get() + kept, kVisitedLineSizeBytesMax - kept};
        const std::size_t got = read_all(file.get(), std::as_writable_bytes(room));
        if (got < room.size() && errno != 0) {
            return error_from_errno(errno, "can't read '" + path + "'");
        }
        is_at_end = got < room.size();
        std::string_view rest{buffer.get(), kept + got};
        for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
            visitor(rest.substr(0, end));
            rest.remove_prefix(end + 1);
        }
        if (!rest.empty() && (is_at_end || rest.size() == kVisitedLineSizeBytesMax)) {
            visitor(rest);
            rest = {};
        }
        kept = rest.size();
        std::copy(rest.begin(), rest.end(), buffer.get());
    }
    return Done{};
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
