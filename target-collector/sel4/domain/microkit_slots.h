// Where a protection domain's capabilities lie, as the SDK has them. Its header is C and no C++.
#pragma once

#include <cstdint>

extern "C" {
extern const std::uint64_t microkit_slot_of_own_tcb;
extern const std::uint64_t microkit_slot_of_first_child_tcb;
extern const std::uint64_t microkit_slot_of_first_interrupt;
}
