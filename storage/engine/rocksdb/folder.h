// The folder that a store stands in, and the temporary one of a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// What stacks and command lines tell is for the store's owner; an existing folder keeps the mode that it was given.
inline constexpr unsigned kStoreFolderMode = 0700;
inline constexpr unsigned kStoreFileMode = 0600;

// Creates the folder, durably, or checks that it can be a store's: writable, and empty or with a database in it.
// Errors: kInvalid (not a folder, or other things in it), kPermission, kIo.
[[nodiscard]] Result<Done> prepare_writer_folder(const std::string& directory);

// Whether another process has the store open for writing: much cheaper than to try it. Not for the process that has it
// itself, which would lose its lock.
[[nodiscard]] bool has_writer(const std::string& directory);

// Errors: kNotFound (no folder, or no database in it), kInvalid (not a folder), kPermission.
[[nodiscard]] Result<Done> check_reader_folder(const std::string& directory);

// A store's folder, held open: so nobody else gets its inode number, and it can be told from one put in its place.
class HeldFolder {
public:
    explicit HeldFolder(const std::string& directory);

    // Whether this one stands there, with a database in it; true where it could not be opened.
    [[nodiscard]] bool is_still_at(const std::string& directory) const;

    // So that its disk can be unmounted.
    void let_go();
    // Holds the folder that stands there now, if it is the same one: also where its disk was mounted again.
    [[nodiscard]] bool take_up(const std::string& directory);

private:
    FileDescriptor held_;
    std::string identity_;
};

// For reading; nothing where it isn't a regular file: a folder or a pipe in its place counts as a missing file, and a
// pipe must not block.
[[nodiscard]] FileDescriptor open_regular_file(const std::filesystem::path& path);

// The content of a regular file, up to this size.
inline constexpr std::size_t kReadFileSizeBytesMax = 128U << 20;
[[nodiscard]] std::optional<std::string> read_regular_file(const std::filesystem::path& path);

// Whether something else than a regular file has this name.
[[nodiscard]] bool is_no_regular_file(const std::filesystem::path& path);

// Renames it to its name with `.damaged` behind it; nothing is done where it isn't there. Errors: those of rename(2).
[[nodiscard]] Result<Done> set_aside(const std::string& directory, const std::string& name);

// Names of the write-ahead logs, in the order of writing.
[[nodiscard]] std::set<std::string> log_files(const std::string& directory);

// A new folder under the system's place for temporary files, removed with everything in it at the end. It is locked as
// long as it is used, so that one whose process was killed can be told.
class TemporaryFolder {
public:
    // Errors name TMPDIR: kPermission, kFull, kIo (also where that folder isn't there; never kNotFound, which readers
    // of a store take for a store that isn't there).
    [[nodiscard]] static Result<std::unique_ptr<TemporaryFolder>> make(const std::string& prefix);

    // Removes those of this prefix that nobody uses any more. Very new ones are left: they may not be locked yet.
    static void remove_abandoned(const std::string& prefix);

    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    TemporaryFolder(std::string path, FileDescriptor lock) : path_{std::move(path)}, lock_{std::move(lock)} {}

    std::string path_;
    FileDescriptor lock_;
};

}  // namespace perfleet
