#include "target-collector/linux/symbols/unwind_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "schemas/columns/crc32c.h"
#include "schemas/host/content_hash.h"
#include "schemas/host/file_io.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/hex.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/unwind/table_bytes.h"

namespace perfleet {
namespace {

constexpr std::string_view kSuffix = ".unwind";
constexpr std::size_t kCheckBytes = 8;
constexpr std::size_t kVersionBytes = 8;  // of the hash

std::int64_t nanoseconds(const timespec& time) {
    return (std::int64_t{time.tv_sec} * 1'000'000'000) + std::int64_t{time.tv_nsec};
}

// The name of the file's cache entry; empty if the file has no build-id.
std::string name_of(int fd) {
    struct stat status {};
    const ImageContentId build_id = build_id_of_file(fd);
    if (build_id.size_bytes == 0 || ::fstat(fd, &status) != 0) {
        return {};
    }
    const std::array<std::uint64_t, 5> version{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                                               static_cast<std::uint64_t>(nanoseconds(status.st_mtim)),
                                               static_cast<std::uint64_t>(nanoseconds(status.st_ctim))};
    ContentHash hash;
    hash.add(std::as_bytes(std::span{version}));
    const auto value = hash.value();
    const auto hex = [](std::span<const std::byte> bytes) {
        return hex_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    return hex(build_id.view()) + "-" + hex(std::span{value}.first(kVersionBytes)) + std::string{kSuffix};
}

Error damaged() { return {ErrorCode::kCorrupt, "a damaged unwind table"}; }

}  // namespace

Result<std::unique_ptr<UnwindCache>> UnwindCache::open(const std::string& folder, std::shared_ptr<ImageReader> reader) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return error_from_errno(errno, folder);
    }
    FileDescriptor opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    struct stat status {};
    if (!opened || ::fstat(opened.get(), &status) != 0) {
        return error_from_errno(errno, folder);
    }
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{ErrorCode::kPermission,
                     folder +
                         ": others than this user may write to it, so its unwind tables can't be trusted; name a "
                         "folder of its own (chmod go-w)"};
    }
    return std::unique_ptr<UnwindCache>{new UnwindCache{std::move(opened), std::move(reader)}};
}

UnwindCache::UnwindCache(FileDescriptor folder, std::shared_ptr<ImageReader> reader)
    : folder_{std::move(folder)}, reader_{std::move(reader)} {
    list();
    make_room(0);
}

void UnwindCache::list() {
    const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const entries = copy >= 0 ? ::fdopendir(copy) : nullptr;
    if (entries == nullptr) {
        return;
    }
    while (const dirent* const entry = ::readdir(entries)) {
        struct stat status {};
        const std::string_view name{entry->d_name};
        if (name.ends_with(kSuffix) && ::fstatat(folder_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
            files_[std::string{name}] = {size_bytes, nanoseconds(status.st_mtim)};
            size_bytes_ += size_bytes;
        }
    }
    ::closedir(entries);
}

Result<UnwindTable> UnwindCache::unwind_table(int fd) {
    const std::string name = name_of(fd);
    if (name.empty()) {
        return reader_->unwind_table(fd);
    }
    if (auto kept = read(name); kept.ok()) {
        ++hit_count_;
        return kept;
    }
    auto made = reader_->unwind_table(fd);
    if (made.ok() && name_of(fd) == name) {  // unchanged meanwhile
        keep(name, *made);
    }
    return made;
}

Result<UnwindTable> UnwindCache::read(const std::string& name) {
    const FileDescriptor file{::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return Error{ErrorCode::kNotFound, name};
    }
    std::string bytes(std::min(static_cast<std::size_t>(status.st_size), kUnwindTableBytesMax + kCheckBytes + 1), '\0');
    if (bytes.size() < kCheckBytes ||
        read_all_at(file.get(), 0, std::as_writable_bytes(std::span{bytes})) != bytes.size()) {
        return damaged();
    }
    std::uint32_t check = 0;
    std::memcpy(&check, bytes.data(), sizeof(check));
    const auto content = std::as_bytes(std::span{bytes}).subspan(kCheckBytes);
    if (crc32c(0, content) != check) {
        return damaged();
    }
    (void)::futimens(file.get(), nullptr);
    if (const auto known = files_.find(name); known != files_.end()) {
        known->second.used_ns = utc_now().value;
    }
    return unwind_table_of_bytes(content);
}

// Writes the table to the cache; errors are ignored.
void UnwindCache::keep(const std::string& name, const UnwindTable& table) {
    const std::string content = unwind_table_bytes(table);
    const std::uint32_t check = crc32c(0, std::as_bytes(std::span{content}));
    std::string bytes(kCheckBytes, '\0');
    std::memcpy(bytes.data(), &check, sizeof(check));
    bytes += content;
    if (bytes.size() > kSizeBytesMax / 2) {
        return;
    }
    remove(name);
    make_room(bytes.size());
    const std::string temporary = name + "." + std::to_string(::getpid());
    const FileDescriptor file{
        ::openat(folder_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!file) {
        return;
    }
    if (!write_all(file.get(), std::as_bytes(std::span{bytes})) ||
        ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) != 0) {
        ::unlinkat(folder_.get(), temporary.c_str(), 0);
        return;
    }
    files_[name] = {bytes.size(), utc_now().value};
    size_bytes_ += bytes.size();
}

void UnwindCache::make_room(std::uint64_t size_bytes) {
    while (!files_.empty() && (size_bytes_ + size_bytes > kSizeBytesMax || files_.size() >= kFilesMax)) {
        const auto oldest = std::min_element(files_.begin(), files_.end(), [](const auto& a, const auto& b) {
            return a.second.used_ns < b.second.used_ns;
        });
        remove(std::string{oldest->first});
    }
}

void UnwindCache::remove(const std::string& name) {
    if (const auto known = files_.find(name); known != files_.end()) {
        ::unlinkat(folder_.get(), name.c_str(), 0);
        size_bytes_ -= known->second.size_bytes;
        files_.erase(known);
    }
}

}  // namespace perfleet
