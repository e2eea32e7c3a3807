// Finds images that nothing in the store names any more.
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

// Reads the image definitions of all sessions. If some can't be read, finds none. Errors: those of reads, except
// damage.
[[nodiscard]] Result<UnusedImages> unused_images(const KeyedReads& reads);

}  // namespace perfleet
