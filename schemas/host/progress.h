// Progress of a long operation.
//
// Hosts only.
#pragma once

#include <cstdint>
#include <functional>

namespace perfleet {

// `done` of `total`, in a unit that the caller of the function states; total 0: unknown. Called often, on any thread
// but one at a time: it must be cheap. May be empty.
using ProgressReport = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace perfleet
