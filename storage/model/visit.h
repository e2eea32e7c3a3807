// What visitors return, and what cursors come to.
#pragma once

#include <cstdint>

namespace perfleet {

// Whether they want more.
enum class Visit : std::uint8_t { kContinue, kStop };

// A gap is what can't be read: the cursor goes on behind it.
enum class CursorStep : std::uint8_t { kItem, kGap, kEnd };

}  // namespace perfleet
