// What visitors return.
#pragma once

#include <cstdint>

namespace perfleet {

// Whether they want more.
enum class Visit : std::uint8_t { kContinue, kStop };

}  // namespace perfleet
