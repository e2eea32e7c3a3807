// Names for people: a mangled C++ or Rust name without parameters and return type, as `perf report` shows it.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

// The name itself when it isn't mangled, or can't be read. Untrusted input; names longer than
// kDemangledNameSizeBytesMax are given back as they are.
[[nodiscard]] std::string demangled_name(std::string_view name);

inline constexpr std::size_t kDemangledNameSizeBytesMax = 8'192;

}  // namespace perfleet
