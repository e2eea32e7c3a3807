#include "target-collector/source/linux/image/process_file.h"

#include <fcntl.h>

#include <utility>

#include "target-collector/process/proc_reader.h"

namespace perfleet {
namespace {

constexpr std::int64_t kClockSlackS = 1;  // file times have the kernel's tick resolution

}  // namespace

ProcessFile::ProcessFile(std::uint32_t pid, std::string_view path) {
    const auto uid = proc_uid(pid);
    const auto began = proc_start(pid);
    if (!uid || !began) {
        return;
    }
    uid_ = *uid;
    process_began_s_ = began->value / kNsPerSecond;
    path_ = "/proc/" + std::to_string(pid) + "/root" + std::string{path};
}

FileDescriptor ProcessFile::open(struct stat& status) const {
    FileDescriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)};
    const bool is_good = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         (status.st_uid == uid_ || status.st_uid == 0) &&
                         status.st_mtim.tv_sec + kClockSlackS >= process_began_s_;
    return is_good ? std::move(file) : FileDescriptor{};
}

}  // namespace perfleet
