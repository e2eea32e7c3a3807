// Reads bytes for small file parsers, from a file or from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace perfleet {

// Fills `into` from an offset of the file; false: the file is too short.
using ReadFile = std::function<bool(std::uint64_t offset, std::span<std::byte> into)>;

}  // namespace perfleet
