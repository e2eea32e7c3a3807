/* The functions of <string.h> that lwIP calls: four that the compiler itself needs, and two for names of network
   interfaces, which are never linked. */
#pragma once

#include <stddef.h>

void* memcpy(void* to, const void* from, size_t size_bytes);
void* memmove(void* to, const void* from, size_t size_bytes);
void* memset(void* to, int value, size_t size_bytes);
int memcmp(const void* left, const void* right, size_t size_bytes);

static inline size_t strlen(const char* text) {
    size_t length = 0;
    while (text[length] != 0) {
        ++length;
    }
    return length;
}

static inline int strncmp(const char* left, const char* right, size_t length) {
    for (; length > 0; --length, ++left, ++right) {
        if (*left != *right || *left == 0) {
            return (unsigned char)*left - (unsigned char)*right;
        }
    }
    return 0;
}
