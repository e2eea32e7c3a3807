#include "storage/engine/rocksdb/disk_reserve.h"

#include <rocksdb/env.h>

#include <algorithm>
#include <memory>

namespace perfleet {
namespace {

constexpr std::size_t kWriteSizeBytes = 1U << 20;

// For file systems without fallocate().
rocksdb::Status write_zeros(rocksdb::WritableFile& file, std::uint64_t size_bytes) {
    const std::string zeros(kWriteSizeBytes, '\0');
    rocksdb::Status status;
    while (size_bytes > 0 && status.ok()) {
        const std::uint64_t next = std::min<std::uint64_t>(size_bytes, zeros.size());
        status = file.Append(rocksdb::Slice{zeros.data(), next});
        size_bytes -= next;
    }
    return status;
}

rocksdb::Status allocate(rocksdb::WritableFile& file, std::uint64_t size_bytes) {
    rocksdb::Status status = file.Allocate(0, size_bytes);
    if (status.ok()) {
        return file.Truncate(size_bytes);  // the size that marks a complete reserve
    }
    return status.IsNoSpace() ? status : write_zeros(file, size_bytes);
}

}  // namespace

DiskReserve::DiskReserve(rocksdb::Env& env, const std::string& directory, std::uint64_t size_bytes)
    : env_{env}, directory_{directory}, path_{directory + "/" + kFileName}, size_bytes_{size_bytes} {
    std::uint64_t found = 0;
    is_there_ = env_.GetFileSize(path_, &found).ok() && found == size_bytes_;
}

Result<Done> DiskReserve::make(std::uint64_t more_size_bytes) {
    if (size_bytes_ != 0 && is_there_) {
        return Done{};
    }
    if (env_.FileExists(path_).ok()) {  // of another size, incomplete, or not wanted any more
        (void)env_.DeleteFile(path_);
    }
    std::uint64_t free_size_bytes = 0;

    if (env_.GetFreeSpace(directory_, &free_size_bytes).ok() && is_missing() &&
        free_size_bytes < size_bytes_ + more_size_bytes) {
        return Error{ErrorCode::kFull, directory_ + ": nothing is stored while the disk has less than " +
                                           std::to_string((size_bytes_ + more_size_bytes) >> 20) +
                                           " MiB free, which are reserved for dropping expired data; " +
                                           std::to_string(free_size_bytes >> 20) + " MiB are"};
    }
    return is_missing() ? write_file() : Done{};
}

Result<Done> DiskReserve::write_file() {
    std::unique_ptr<rocksdb::WritableFile> file;
    rocksdb::Status status = env_.NewWritableFile(path_, &file, rocksdb::EnvOptions{});
    if (status.ok()) {
        status = allocate(*file, size_bytes_);
    }
    if (status.ok()) {
        status = file->Sync();
    }
    if (status.ok()) {
        status = file->Close();
    }
    if (!status.ok()) {
        file.reset();
        (void)env_.DeleteFile(path_);
        return Error{status.IsNoSpace() ? ErrorCode::kFull : ErrorCode::kIo, path_ + ": " + status.ToString()};
    }
    is_there_ = true;
    return Done{};
}

bool DiskReserve::give_up() {
    is_there_ = false;
    return env_.FileExists(path_).ok() && env_.DeleteFile(path_).ok();
}

}  // namespace perfleet
