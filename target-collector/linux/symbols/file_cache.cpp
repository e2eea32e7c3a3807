#include "target-collector/linux/symbols/file_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "schemas/columns/crc32c.h"
#include "schemas/host/content_hash.h"
#include "schemas/host/file_io.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/hex.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/source/linux/image/debug_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kCheckBytes = 8;
constexpr std::size_t kVersionBytes = 8;  // of the hash

std::int64_t nanoseconds(const timespec& time) {
    return (std::int64_t{time.tv_sec} * 1'000'000'000) + std::int64_t{time.tv_nsec};
}

void add_version(ContentHash& hash, int fd) {
    struct stat status {};
    (void)::fstat(fd, &status);  // zeros of what isn't there
    const std::array<std::uint64_t, 5> version{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                                               static_cast<std::uint64_t>(nanoseconds(status.st_mtim)),
                                               static_cast<std::uint64_t>(nanoseconds(status.st_ctim))};
    hash.add(std::as_bytes(std::span{version}));
}

// Empty: none. Not in the home of another user (sudo may leave HOME as it was), who would get folders of this one.
std::string default_folder() {
    const auto folder_of = [](const char* variable) {
        const char* const folder = std::getenv(variable);
        return folder != nullptr && *folder == '/' ? std::string{folder} : std::string{};
    };
    if (std::string given = folder_of("CACHE_DIRECTORY"); !given.empty()) {
        return given;
    }
    if (const std::string given = folder_of("XDG_CACHE_HOME"); !given.empty()) {
        return given + "/perfleet";
    }
    const std::string home = folder_of("HOME");
    struct stat status {};
    const bool is_own = !home.empty() && ::stat(home.c_str(), &status) == 0 && status.st_uid == ::geteuid();
    return is_own ? home + "/.cache/perfleet" : std::string{};
}

}  // namespace

Result<std::shared_ptr<FileCache>> FileCache::open(const std::string& folder) {
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
                         ": others than this user may write to it, so what it keeps can't be trusted; name a folder of "
                         "its own (chmod go-w)"};
    }
    return std::shared_ptr<FileCache>{new FileCache{std::move(opened)}};
}

std::shared_ptr<FileCache> FileCache::open_default() {
    const std::string folder = default_folder();
    if (folder.empty()) {
        return nullptr;
    }
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path{folder}.parent_path(), ignored);
    auto cache = open(folder);
    return cache.ok() ? std::move(*cache) : nullptr;
}

std::string FileCache::name_of(int fd, std::string_view kind) {
    const ImageContentId build_id = build_id_of_file(fd);
    if (build_id.size_bytes == 0) {
        return {};
    }
    ContentHash hash;
    add_version(hash, fd);
    add_version(hash, open_debug_file({0, {}, build_id.view(), {}}).get());
    const auto value = hash.value();
    const auto hex = [](std::span<const std::byte> bytes) {
        return hex_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    return hex(build_id.view()) + "-" + hex(std::span{value}.first(kVersionBytes)) + "." + std::string{kind};
}

FileCache::FileCache(FileDescriptor folder) : folder_{std::move(folder)} {
    list();
    make_room(0);
}

void FileCache::list() {
    const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const entries = copy >= 0 ? ::fdopendir(copy) : nullptr;
    if (entries == nullptr) {
        return;
    }
    while (const dirent* const entry = ::readdir(entries)) {
        struct stat status {};
        const std::string_view name{entry->d_name};
        const bool is_ours =
            name.ends_with(std::string{"."}.append(kUnwindTable)) || name.ends_with(std::string{"."}.append(kSymbols));
        if (is_ours && ::fstatat(folder_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
            files_[std::string{name}] = {size_bytes, nanoseconds(status.st_mtim)};
            size_bytes_ += size_bytes;
        }
    }
    ::closedir(entries);
}

std::optional<std::string> FileCache::read(const std::string& name, std::size_t size_bytes_max) {
    const FileDescriptor file{::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_size) > size_bytes_max + kCheckBytes) {
        return std::nullopt;
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    if (bytes.size() < kCheckBytes ||
        read_all_at(file.get(), 0, std::as_writable_bytes(std::span{bytes})) != bytes.size()) {
        return std::nullopt;
    }
    std::uint32_t check = 0;
    std::memcpy(&check, bytes.data(), sizeof(check));
    bytes.erase(0, kCheckBytes);
    if (crc32c(0, std::as_bytes(std::span{bytes})) != check) {
        return std::nullopt;
    }
    (void)::futimens(file.get(), nullptr);
    const std::lock_guard lock{mutex_};
    ++hit_count_;
    if (const auto known = files_.find(name); known != files_.end()) {
        known->second.used_ns = utc_now().value;
    }
    return bytes;
}

void FileCache::keep(const std::string& name, std::string_view content) {
    const std::uint64_t size_bytes = kCheckBytes + content.size();
    if (size_bytes > kSizeBytesMax / 2) {
        return;
    }
    std::array<std::byte, kCheckBytes> head{};
    const std::uint32_t check = crc32c(0, std::as_bytes(std::span{content}));
    std::memcpy(head.data(), &check, sizeof(check));
    const std::lock_guard lock{mutex_};
    remove(name);
    make_room(size_bytes);
    const std::string temporary = name + "." + std::to_string(::getpid());
    const FileDescriptor file{
        ::openat(folder_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!file) {
        return;
    }
    if (!write_all(file.get(), head) || !write_all(file.get(), std::as_bytes(std::span{content})) ||
        ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) != 0) {
        ::unlinkat(folder_.get(), temporary.c_str(), 0);
        return;
    }
    files_[name] = {size_bytes, utc_now().value};
    size_bytes_ += size_bytes;
}

void FileCache::make_room(std::uint64_t size_bytes) {
    while (!files_.empty() && (size_bytes_ + size_bytes > kSizeBytesMax || files_.size() >= kFilesMax)) {
        const auto oldest = std::ranges::min_element(files_, {}, [](const auto& file) { return file.second.used_ns; });
        remove(std::string{oldest->first});
    }
}

void FileCache::remove(const std::string& name) {
    if (const auto known = files_.find(name); known != files_.end()) {
        ::unlinkat(folder_.get(), name.c_str(), 0);
        size_bytes_ -= known->second.size_bytes;
        files_.erase(known);
    }
}

std::uint64_t FileCache::size_bytes() const {
    const std::lock_guard lock{mutex_};
    return size_bytes_;
}

std::uint64_t FileCache::hit_count() const {
    const std::lock_guard lock{mutex_};
    return hit_count_;
}

}  // namespace perfleet
