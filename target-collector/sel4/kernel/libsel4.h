// libsel4, as C++ wants it included.
#pragma once

extern "C" {
#include <sel4/sel4.h>
// Behind it: this one includes nothing that it needs.
#include <sel4/benchmark_track_types.h>
#if defined(__x86_64__)
#include <sel4/arch/mapping.h>
#endif
}
