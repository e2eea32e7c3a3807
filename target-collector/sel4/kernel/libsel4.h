// Includes libsel4 in the way that C++ needs.
#pragma once

extern "C" {
#ifdef PERFLEET_MICROKIT
// A protection domain has one thread, and Microkit has no thread-local memory.
#define __thread
#endif
#include <sel4/sel4.h>
#ifdef PERFLEET_MICROKIT
#undef __thread
#endif
// After sel4.h: this header doesn't include what it needs.
#include <sel4/benchmark_track_types.h>
#if defined(__x86_64__) || defined(seL4_ARM_VSpaceObject)
#include <sel4/arch/mapping.h>
#endif
}
