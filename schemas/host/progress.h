// How far something has come that may take long.
//
// Hosts only.
#pragma once

#include <cstdint>
#include <functional>

namespace perfleet {

// So much of so much is done, in a unit that the giver states; total 0: nobody knows. Called on any thread, by one at a
// time, and often: it must be cheap. May be empty.
using ProgressReport = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace perfleet
