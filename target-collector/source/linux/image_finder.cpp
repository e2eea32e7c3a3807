#include "target-collector/source/linux/image_finder.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "schemas/columns/layout.h"
#include "target-collector/source/linux/elf_note.h"
#include "target-collector/source/linux/proc_reader.h"

namespace perfleet {
namespace {

constexpr std::string_view kVdsoPath = "[vdso]";
constexpr std::string_view kAnonymousPath = "//anon";

ImageContentId content_of_own_vdso() {
    const auto start = static_cast<std::uint64_t>(::getauxval(AT_SYSINFO_EHDR));
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (start != 0 && mapping.start == start) {
            const auto* const bytes = reinterpret_cast<const std::byte*>(start);
            return ImageContentId::from(
                build_id_in_memory({bytes, static_cast<std::size_t>(mapping.end - mapping.start)}), false);
        }
    }
    return {};
}

// Opens a regular file without harm to what it may be instead (a device, a pipe); -1 when it can't.
int open_regular(const std::string& path, struct stat& status) {
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return -1;
    }
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        ::close(fd);
        return -1;
    }
    return fd;
}

// The very file that is mapped; where we may not follow the mapping, by its path as its process sees it.
int open_mapped(const MappedFile& file, struct stat& status) {
    const std::string process = "/proc/" + std::to_string(file.pid);
    char range[64];
    std::snprintf(range, sizeof(range), "/map_files/%llx-%llx", static_cast<unsigned long long>(file.start),
                  static_cast<unsigned long long>(file.end));
    int fd = open_regular(process + range, status);
    if (fd < 0) {
        fd = open_regular(process + "/root" + std::string(file.path), status);
    }
    if (fd < 0) {
        // The process is gone: the path may mean something else to us.
        fd = open_regular(std::string(file.path), status);
        if (fd >= 0 && file.inode != 0 && status.st_ino != file.inode) {
            ::close(fd);
            fd = -1;
        }
    }
    return fd;
}

}  // namespace

ImageFinder::ImageFinder(ImageTable& table) : table_{table}, vdso_{content_of_own_vdso()} {}

bool ImageFinder::is_without_file(std::string_view path) {
    return path != kVdsoPath && (path.empty() || path.front() == '[' || path == kAnonymousPath);
}

std::optional<ImageIndex> ImageFinder::find(const MappedFile& file) {
    Image image;
    image.name = file.path;
    if (is_without_file(file.path)) {
        if (file.path.empty() || file.path.starts_with("[anon")) {
            image.name = kAnonymousPath;
        }
        image.flags = image_flags::kAnonymous;
        image.address = file.start;
    } else if (file.path == kVdsoPath) {
        image.flags = image_flags::kVdso | image_flags::kFileOffset;
        image.content = vdso_;
    } else {
        image.flags = image_flags::kFileOffset;
        image.content = file.build_id.empty() ? content_of(file) : ImageContentId::from(file.build_id, false);
        if (image.content.is_hash) {
            image.flags |= image_flags::kContentHash;
        }
    }
    return table_.intern(std::move(image));
}

ImageContentId ImageFinder::content_of(const MappedFile& file) {
    struct stat status {};
    const int fd = open_mapped(file, status);
    if (fd < 0) {
        return {};
    }
    const FileVersion version{status.st_dev, status.st_ino,
                              (std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000) + status.st_mtim.tv_nsec,
                              static_cast<std::uint64_t>(status.st_size)};
    auto found = contents_.find(version);
    if (found == contents_.end()) {
        if (contents_.size() == kFilesMax) {
            contents_.clear();
        }
        found = contents_.emplace(version, content_id_of_file(fd, static_cast<std::uint64_t>(status.st_size))).first;
    }
    ::close(fd);
    return found->second;
}

}  // namespace perfleet
