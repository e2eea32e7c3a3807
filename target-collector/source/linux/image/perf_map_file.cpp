#include "target-collector/source/linux/image/perf_map_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "target-collector/process/proc_reader.h"

namespace perfleet {
namespace {

constexpr std::size_t kLineSizeBytesMax = 65'536;

}  // namespace

PerfMapFile::PerfMapFile(std::uint32_t pid) {
    if (const auto own_pid = proc_innermost_pid(pid)) {
        file_ = ProcessFile{pid, "/tmp/perf-" + std::to_string(*own_pid) + ".map"};
    }
}

bool PerfMapFile::open_what_is_there() {
    struct stat status {};
    if (file_.path().empty() || ::lstat(file_.path().c_str(), &status) != 0) {
        return false;  // no file, or the process has ended: reading continues in the open file
    }
    if (open_ && status.st_dev == device_ && status.st_ino == inode_) {
        if (static_cast<std::uint64_t>(status.st_size) >= offset_) {
            return false;
        }
    } else {
        FileDescriptor file = file_.open(status);
        if (!file) {
            return false;
        }
        open_ = std::move(file);
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }
    offset_ = 0;
    buffer_.clear();
    given_size_bytes_ = 0;
    return true;
}

std::optional<PerfMapFile::News> PerfMapFile::read() {
    News news;
    news.is_anew = open_what_is_there();
    if (!open_) {
        return std::nullopt;
    }
    buffer_.erase(0, given_size_bytes_);
    given_size_bytes_ = 0;
    if (buffer_.size() > kLineSizeBytesMax) {
        buffer_.clear();  // not a map's line: its remains are discarded, too
    }
    const std::size_t kept = buffer_.size();
    buffer_.resize(kReadSizeBytesMax + kept);
    const ssize_t count = ::pread(open_.get(), buffer_.data() + kept, kReadSizeBytesMax, static_cast<off_t>(offset_));
    buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    offset_ += static_cast<std::uint64_t>(std::max<ssize_t>(count, 0));
    const std::size_t last_end = buffer_.rfind('\n');
    given_size_bytes_ = last_end == std::string::npos ? 0 : last_end + 1;
    news.text = std::string_view{buffer_}.substr(0, given_size_bytes_);
    return news.is_anew || !news.text.empty() ? std::optional{news} : std::nullopt;
}

}  // namespace perfleet
