// Names for people: a mangled C++ or Rust name without parameters and return type, as `perf report` shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfleet {

// The name itself when it isn't mangled, can't be read, or is past a limit. Untrusted input.
[[nodiscard]] std::string demangled_name(std::string_view name);

inline constexpr std::size_t kMangledNameSizeBytesMax = 8'192;
inline constexpr std::size_t kDemangledNameSizeBytesMax = 65'536;

}  // namespace perfleet
