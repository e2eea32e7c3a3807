#include "target-collector/source/linux/cgroup_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kTextSizeBytesMax = 256U << 10U;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr int kHandleOfKernfs = 0xfe;  // FILEID_KERNFS

// The mount point of the hierarchy with perf_event: a version 1 hierarchy if there is one, otherwise version 2. Empty
// if none is mounted as a whole.
std::string root_in_text(std::string_view mounts) {
    std::string root;
    while (!mounts.empty()) {
        // ID, parent, device, root, where, options …, -, type, source, options
        std::string_view line = take_part(mounts, '\n');
        std::array<std::string_view, 5> words;
        for (std::string_view& word : words) {
            word = take_part(line, ' ');
        }
        const std::size_t type = line.find(" - cgroup");
        if (words[3] != "/" || type == std::string_view::npos) {
            continue;
        }
        if (line.find("perf_event", type) != std::string_view::npos) {
            return std::string{words[4]};
        }
        if (line.find(" - cgroup2 ") == type) {
            root = words[4];
        }
    }
    return root;
}

}  // namespace

std::optional<std::string> cgroup_in_text(std::string_view text) {
    std::string_view best;
    int best_rank = -1;
    while (!text.empty()) {
        const std::string_view line = take_part(text, '\n');
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string_view::npos ? first : line.find(":/", first + 1);
        if (second == std::string_view::npos) {
            continue;
        }
        const std::string_view hierarchy = line.substr(first + 1, second - first - 1);
        const std::string_view path = line.substr(second + 1);
        const int rank = hierarchy.empty() ? 2 : hierarchy == "name=systemd" ? 1 : 0;
        if (path.size() > best.size() || (path.size() == best.size() && rank > best_rank)) {
            best = path;
            best_rank = rank;
        }
    }
    constexpr std::string_view kDeleted{" (deleted)"};
    if (best.ends_with(kDeleted)) {
        best.remove_suffix(kDeleted.size());
    }
    return best.empty() || best.size() > limits::kStringSizeBytesMax ? std::nullopt : std::optional{std::string{best}};
}

CgroupWatch::CgroupWatch() {
    const auto mounts = read_small_file("/proc/self/mountinfo", kTextSizeBytesMax);
    root_ = mounts.ok() ? root_in_text(*mounts) : "";
    root_fd_.reset(root_.empty() ? -1 : ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void CgroupWatch::add(std::uint64_t id, std::string_view path) {
    if (path.size() > limits::kStringSizeBytesMax) {
        return;
    }
    if (paths_.size() >= kPathsMax) {
        paths_.clear();
    }
    paths_[id] = std::make_shared<const std::string>(path);
}

CgroupWatch::Path CgroupWatch::path_of(std::uint64_t id) {
    if (const auto found = paths_.find(id); found != paths_.end() || id == 0 || root_fd_.get() < 0) {
        return found != paths_.end() ? found->second : nullptr;
    }
    // The id is the content of the folder's file handle.
    alignas(file_handle) std::array<std::byte, sizeof(file_handle) + sizeof(id)> bytes{};
    auto* const handle = reinterpret_cast<file_handle*>(bytes.data());
    handle->handle_bytes = sizeof(id);
    handle->handle_type = kHandleOfKernfs;
    std::memcpy(bytes.data() + offsetof(file_handle, f_handle), &id, sizeof(id));
    const FileDescriptor folder{::open_by_handle_at(root_fd_.get(), handle, O_PATH | O_CLOEXEC)};
    std::string path(root_.size() + limits::kStringSizeBytesMax + 1, '\0');
    const ssize_t size = folder.get() < 0 ? -1
                                          : ::readlink(("/proc/self/fd/" + std::to_string(folder.get())).c_str(),
                                                       path.data(), path.size());
    if (size < 0 || static_cast<std::size_t>(size) == path.size() || !path.starts_with(root_)) {
        return nullptr;
    }
    const std::string_view below =
        std::string_view{path}.substr(root_.size(), static_cast<std::size_t>(size) - root_.size());
    add(id, below.empty() ? "/" : below);
    return paths_[id];
}

bool CgroupWatch::may_read(std::uint64_t now_ns) {
    if (now_ns - second_began_ns_ >= kSecondNs) {
        second_began_ns_ = now_ns;
        read_count_ = 0;
    }
    return read_count_ < kReadsPerSecondMax && ++read_count_ > 0;
}

bool CgroupWatch::look(Process& process, std::uint64_t id, std::uint64_t now_ns) {
    Path path = path_of(id);
    process.cgroup_id = id;
    process.cgroup_read_ns = now_ns;
    if (!may_read(now_ns)) {
        process.cgroup_read_ns = 0;
    } else {
        // The cgroup of perf_event may be a parent: controllers may not be enabled further down.
        const auto text = read_small_file("/proc/" + std::to_string(process.pid) + "/cgroup", kTextSizeBytesMax);
        auto cgroup = text.ok() ? cgroup_in_text(*text) : std::nullopt;
        if (cgroup && (path == nullptr || cgroup->size() > path->size())) {
            path = std::make_shared<const std::string>(*std::move(cgroup));
        }
    }
    if (path == nullptr || (process.cgroup != nullptr && *process.cgroup == *path)) {
        return false;
    }
    process.cgroup = std::move(path);
    return true;
}

}  // namespace perfleet
