// Return values of visitors and cursors.
#pragma once

#include <cstdint>

namespace perfleet {

// Whether a visitor wants more items.
enum class Visit : std::uint8_t { kContinue, kStop };

// kGap: something can't be read; the cursor continues after it.
enum class CursorStep : std::uint8_t { kItem, kGap, kEnd };

}  // namespace perfleet
