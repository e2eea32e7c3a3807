// How small readers of files get their bytes: from a file or from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace perfleet {

// Fills `into` from an offset of the file; false: it has fewer bytes.
using ReadFile = std::function<bool(std::uint64_t offset, std::span<std::byte> into)>;

}  // namespace perfleet
