// Room on the disk that is kept for dropping: a file of that size beside the store's own, deleted when the disk is full
// so that what a drop has to write finds room. Until it is there again nothing else is stored.
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

    // Looks for the file and makes none. Of 0 bytes: none is wanted.
    DiskReserve(rocksdb::Env& env, const std::string& directory, std::uint64_t size_bytes);

    // Wanted, and not there.
    [[nodiscard]] bool is_missing() const { return size_bytes_ != 0 && !is_there_; }

    // What make() takes; 0 where it is there, or isn't wanted.
    [[nodiscard]] std::uint64_t missing_size_bytes() const { return is_missing() ? size_bytes_ : 0; }

    // The file is there, with all its room, or isn't wanted and is gone. Errors: kFull when that and `more_size_bytes`
    // don't fit; kIo.
    [[nodiscard]] Result<Done> make(std::uint64_t more_size_bytes);

    // Deletes it. False when there was none.
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
