// Symbols as they travel to the store: one zstd frame with its content's size (schemas/wire/README.md).
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

// Empty: out of memory.
[[nodiscard]] std::string packed_symbols(std::string_view bytes);

}  // namespace perfleet
