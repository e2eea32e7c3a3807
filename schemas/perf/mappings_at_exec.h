// As in perf, a process keeps its mappings after an exec until new ones replace them: the caller of execve still runs
// in them.
#pragma once

#include <cstddef>

namespace perfleet::perf {

inline constexpr std::size_t kMappingsAtExecMax = 4'096;  // the mappings of a process with more are dropped

}  // namespace perfleet::perf
