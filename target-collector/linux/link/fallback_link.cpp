#include "target-collector/linux/link/fallback_link.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "schemas/host/file_io.h"

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
    auto link = SinkLink::to_file(unfinished(file_path_), true);
    if (!link.ok()) {
        return false;
    }
    file_ = std::move(*link);
    return true;
}

Result<Done> FallbackLink::finish(const std::string& file, bool is_whole) {
    if (!is_whole) {
        ::unlink(unfinished(file).c_str());
        ::rmdir(folder_of(file).c_str());  // removed only if it is empty
        return Done{};
    }
    if (::rename(unfinished(file).c_str(), file.c_str()) != 0) {
        return error_from_errno(errno, file);
    }
    return sync_folder(folder_of(file));
}

}  // namespace perfleet
