// The table files of a store's folder, each checked alone: every block of them against its checksum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct TableFileCheck {
    std::string file;  // its name in the folder
    std::uint64_t size_bytes = 0;
    std::string damage;  // what is wrong; empty when nothing is
};

// Those that the store consists of now; where that can't be told because it doesn't open, all that are there. Reads
// their content only with `verify`. Works beside a live writer. Errors: kIo (the folder can't be listed).
[[nodiscard]] Result<std::vector<TableFileCheck>> check_table_files(const std::string& directory, bool verify);

}  // namespace perfleet
