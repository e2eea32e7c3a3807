// What a board measures of its clock at start.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/time.h"

namespace perfleet::sel4 {

struct BoardClock {
    std::uint64_t cycles_per_second = 0;
    ClockPoint start;
};

}  // namespace perfleet::sel4
