// Which images nothing in the store names any more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/engine/engine.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

struct UnusedImages {
    std::vector<std::string> keys;
    std::uint64_t size_bytes = 0;  // keys and values
};

// Reads the definitions of images of all sessions. Of a store in which some can't be read: none. Errors: those of reads
// but for damage.
[[nodiscard]] Result<UnusedImages> unused_images(const Engine& engine, const KeyedReads& reads);

}  // namespace perfleet
