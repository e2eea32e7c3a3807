#include "target-collector/linux/fallback_link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace perfleet {
namespace {

std::string unfinished(const std::string& file) { return file + ".part"; }

std::string folder_of(const std::string& file) { return std::filesystem::path{file}.parent_path().string(); }

}  // namespace

bool FallbackLink::fall_back() {
    if (file_ != nullptr) {
        return false;
    }
    (void)::mkdir(folder_of(file_path_).c_str(), S_IRWXU);
    auto link = FileLink::create(unfinished(file_path_), true);
    if (!link.ok()) {
        return false;
    }
    file_ = std::move(*link);
    return true;
}

Result<Done> FallbackLink::finish(const std::string& file, bool is_whole) {
    if (!is_whole) {
        ::unlink(unfinished(file).c_str());
        ::rmdir(folder_of(file).c_str());  // where there is nothing else in it
        return Done{};
    }
    if (::rename(unfinished(file).c_str(), file.c_str()) != 0) {
        return error_from_errno(errno, file);
    }
    const int folder = ::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_synced = folder >= 0 && ::fsync(folder) == 0;
    const int failed = errno;
    if (folder >= 0) {
        ::close(folder);
    }
    return is_synced ? Result<Done>{Done{}} : error_from_errno(failed, file);
}

}  // namespace perfleet
