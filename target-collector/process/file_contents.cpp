#include "target-collector/process/file_contents.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "schemas/host/host_clock.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

std::int64_t nanoseconds(const timespec& time) {
    return (std::int64_t{time.tv_sec} * 1'000'000'000) + std::int64_t{time.tv_nsec};
}

// Some file systems (btrfs, overlays) report different devices in stat() and in mappings: maps the file to compare.
bool is_mapped_on_device(int fd, std::uint64_t device) {
    const auto size_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const place = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (place == MAP_FAILED) {
        return false;
    }
    const auto mapping =
        proc_mapping_at(static_cast<std::uint32_t>(::getpid()), reinterpret_cast<std::uintptr_t>(place));
    ::munmap(place, size_bytes);
    return mapping && ::makedev(mapping->device_major, mapping->device_minor) == device;
}

// Empty: the file system doesn't report it.
std::optional<std::uint64_t> generation_of(int fd) {
    std::uint64_t generation = 0;  // declared for a long, but most file systems write an int
    if (::ioctl(fd, FS_IOC_GETVERSION, &generation) != 0) {
        return std::nullopt;
    }
    return generation & 0xffff'ffffU;
}

// Opens the path if it is the mapped file; otherwise empty.
FileDescriptor open_same(const std::string& path, const MappedFile& file, struct stat& status) {
    FileDescriptor fd = open_regular_file(path, status);
    if (!fd) {
        return fd;
    }
    const std::uint64_t device = ::makedev(file.device_major, file.device_minor);
    const auto generation = generation_of(fd.get());
    if (status.st_ino != file.inode || (status.st_dev != device && !is_mapped_on_device(fd.get(), device)) ||
        (generation && file.generation && *generation != *file.generation)) {
        fd.reset();
    }
    return fd;
}

std::string root_path_of(const MappedFile& file) {
    return "/proc/" + std::to_string(file.pid) + "/root" + std::string{file.path};
}

std::string map_file_of(const MappedFile& file) {
    char range[96];
    std::snprintf(range, sizeof(range), "/proc/%u/map_files/%llx-%llx", static_cast<unsigned>(file.pid),
                  static_cast<unsigned long long>(file.start), static_cast<unsigned long long>(file.end));
    return range;
}

}  // namespace

FileDescriptor FileContents::open(const MappedFile& file) {
    struct stat status {};
    FileDescriptor fd;
    for (const auto& path : {std::string{file.path}, root_path_of(file), map_file_of(file)}) {
        if (!fd && file.inode != 0) {
            fd = open_same(path, file, status);
        }
    }
    return fd;
}

FileContents::Version FileContents::version_of(const struct stat& status) {
    // Removing a file changes its ctime, but not its content.
    return {status.st_dev, status.st_ino, nanoseconds(status.st_nlink > 0 ? status.st_ctim : status.st_mtim),
            static_cast<std::uint64_t>(status.st_size)};
}

ImageContentId FileContents::content_when_mapped(const KnownFile& known, const MappedFile& file) {
    if (file.mapped_ns == 0) {
        return known.content;
    }
    const std::int64_t now = utc_now().value;
    const std::int64_t mapped = now - static_cast<std::int64_t>(monotonic_now_ns() - file.mapped_ns);
    const std::int64_t changed = known.content_since_ns;
    // A time in the future is from a clock that was set meanwhile.
    return changed > mapped && changed <= now ? ImageContentId{} : known.content;
}

FileContents::KnownFile* FileContents::find(const MappedFile& file) {
    const auto found = known_.find({::makedev(file.device_major, file.device_minor), file.inode});
    if (found == known_.end() ||
        (file.generation && found->second.generation && *file.generation != *found->second.generation)) {
        return nullptr;
    }
    return &found->second;
}

std::optional<ImageContentId> FileContents::look(const std::string& path, std::uint32_t root_pid,
                                                 const MappedFile& file) {
    const auto before = monotonic_now_ns();
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != file.inode) {
        return std::nullopt;
    }
    KnownFile* known = find(file);
    if (known == nullptr || known->version != version_of(status)) {
        known = read(path, file);
    }
    if (known == nullptr) {
        return std::nullopt;
    }
    known->pid = root_pid;
    known->seen_ns = before;
    return content_when_mapped(*known, file);
}

FileContents::KnownFile* FileContents::read(const std::string& path, const MappedFile& file) {
    struct stat status {};
    const FileDescriptor opened = open_same(path, file, status);
    if (opened.get() < 0) {
        return nullptr;
    }
    const std::uint64_t device = ::makedev(file.device_major, file.device_minor);
    const auto generation = generation_of(opened.get());
    if (known_.size() == kFilesMax) {
        known_.clear();
    }
    ++read_count_;
    KnownFile& known = known_[{device, file.inode}];
    known.generation = file.generation ? file.generation : generation;
    known.is_generation_sure = generation.has_value() || known.generation.value_or(0) != 0;
    known.version = version_of(status);
    known.modified_ns = static_cast<std::uint64_t>(nanoseconds(status.st_mtim));
    const ImageContentId before =
        std::exchange(known.content, content_id_of_file(opened.get(), known.version.size_bytes));
    if (known.content.size_bytes == 0 || before != known.content) {
        known.content_since_ns = known.version.changed_ns;
    }
    return &known;
}

MappedFile FileContents::as_read(MappedFile file) {
    if (const KnownFile* const known = file.inode != 0 ? find(file) : nullptr) {
        file.modified_ns = known->modified_ns;
        file.generation = file.generation || !known->is_generation_sure ? file.generation : known->generation;
    }
    return file;
}

ImageContentId FileContents::of(const MappedFile& file) {
    if (file.inode == 0) {
        return {};
    }
    if (const KnownFile* const known = find(file);
        known != nullptr && file.mapped_ns != 0 && file.mapped_ns <= known->seen_ns) {
        return content_when_mapped(*known, file);
    }
    const std::string path{file.path};
    auto content = look(path, 0, file);
    if (const KnownFile* const known = find(file); !content && known != nullptr && known->pid != 0) {
        content = look("/proc/" + std::to_string(known->pid) + "/root" + path, known->pid, file);
    }
    if (!content) {
        content = look(root_path_of(file), file.pid, file);
    }
    if (!content) {
        content = look(map_file_of(file), 0, file);
    }
    if (const KnownFile* const known = find(file); !content && known != nullptr && known->is_generation_sure) {
        return known->content;  // it can't be opened any more, but its inode wasn't reused
    }
    return content.value_or(ImageContentId{});
}

}  // namespace perfleet
