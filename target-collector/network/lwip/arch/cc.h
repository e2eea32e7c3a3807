/* What lwIP has to know of the compiler: little-endian targets with GCC, without an operating system. */
#pragma once

#include <perfleet_hooks.h>

#ifndef BYTE_ORDER
#define BYTE_ORDER LITTLE_ENDIAN
#endif
#define LWIP_RAND() perfleet_lwip_random()

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_LIMITS_H 1
#define LWIP_NO_UNISTD_H 1
#define LWIP_NO_CTYPE_H 1
#ifndef INT_MAX
#define INT_MAX __INT_MAX__
#endif
#define X8_F "02x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "zu"

/* Nothing prints; what can't be is a bug. */
#ifdef __cplusplus
extern "C"
#endif
    void
    perfleet_lwip_stop(int line);
#define LWIP_PLATFORM_DIAG(message)
#define LWIP_PLATFORM_ASSERT(message) perfleet_lwip_stop(__LINE__)
