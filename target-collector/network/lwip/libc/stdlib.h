/* The functions of <stdlib.h> that lwIP calls, for numbers in names of network interfaces: never linked. */
#pragma once

/* libsodium calls it in functions that are never linked. */
_Noreturn static inline void abort(void) { __builtin_trap(); }

static inline int atoi(const char* text) {
    int number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        number = number * 10 + (*text - '0');
    }
    return number;
}
