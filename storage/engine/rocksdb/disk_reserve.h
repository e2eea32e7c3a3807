// Disk space reserved for drops: a file of that size beside the store, deleted when the disk is full so that a drop can
// write its changes. Until the file exists again nothing else is stored.
//
// One thread at a time. Borrows the environment.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/vocabulary/error.h"

namespace rocksdb {
class Env;
}

namespace perfleet {

class DiskReserve {
public:
    static constexpr const char* kFileName = "perfleet-reserve";

    // Looks for the file; doesn't create it. 0 bytes: no reserve is wanted.
    DiskReserve(rocksdb::Env& env, const std::string& directory, std::uint64_t size_bytes);

    // Whether a reserve is wanted and doesn't exist.
    [[nodiscard]] bool is_missing() const { return size_bytes_ != 0 && !is_there_; }

    // The space that make() needs; 0 if the file exists or isn't wanted.
    [[nodiscard]] std::uint64_t missing_size_bytes() const { return is_missing() ? size_bytes_ : 0; }

    // Creates the file with all its space, or deletes it if it isn't wanted. Errors: kFull (it and `more_size_bytes`
    // don't fit), kIo.
    [[nodiscard]] Result<Done> make(std::uint64_t more_size_bytes);

    // Deletes the file. False if there was none.
    [[nodiscard]] bool give_up();

private:
    [[nodiscard]] Result<Done> write_file();

    rocksdb::Env& env_;
    std::string directory_;
    std::string path_;
    std::uint64_t size_bytes_;
    bool is_there_ = false;
};

}  // namespace perfleet
