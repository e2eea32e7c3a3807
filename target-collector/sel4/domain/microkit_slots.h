// The slots of a protection domain's capabilities, as in the SDK, whose header is C and not C++.
#pragma once

#include <cstdint>

extern "C" {
extern const std::uint64_t microkit_slot_of_own_tcb;
extern const std::uint64_t microkit_slot_of_first_child_tcb;
extern const std::uint64_t microkit_slot_of_first_interrupt;
}
