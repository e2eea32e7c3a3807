/* What lwIP calls of <stdlib.h>, for numbers in names of network interfaces: never linked. */
#pragma once

static inline int atoi(const char* text) {
    int number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        number = number * 10 + (*text - '0');
    }
    return number;
}
