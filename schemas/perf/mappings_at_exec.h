// As in perf, the mappings of a process stay behind an exec until others come there: the caller of execve still runs in
// them.
#pragma once

#include <cstddef>

namespace perfleet::perf {

inline constexpr std::size_t kMappingsAtExecMax = 4'096;  // a process with more forgets them

}  // namespace perfleet::perf
