// libsel4, as C++ wants it included.
#pragma once

extern "C" {
#ifdef PERFLEET_MICROKIT
// A protection domain has one thread, and Microkit no memory for variables of each.
#define __thread
#endif
#include <sel4/sel4.h>
#ifdef PERFLEET_MICROKIT
#undef __thread
#endif
// Behind it: this one includes nothing that it needs.
#include <sel4/benchmark_track_types.h>
#if defined(__x86_64__) || defined(seL4_ARM_VSpaceObject)
#include <sel4/arch/mapping.h>
#endif
}
