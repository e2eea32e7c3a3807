// Demangles names of C++ and Rust, without parameters and return type, as `perf report` does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfleet {

// Returns the name itself if it isn't mangled, is malformed, or exceeds a limit. Untrusted input.
[[nodiscard]] std::string demangled_name(std::string_view name);

inline constexpr std::size_t kMangledNameSizeBytesMax = 8'192;
inline constexpr std::size_t kDemangledNameSizeBytesMax = 65'536;

}  // namespace perfleet
