// The four functions that the compiler may call on its own, and the platform's way to stop.
#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/console.h"

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size_bytes) {
    auto* target = static_cast<unsigned char*>(to);
    const auto* source = static_cast<const unsigned char*>(from);
    for (; size_bytes >= 8; size_bytes -= 8, target += 8, source += 8) {
        std::uint64_t word = 0;
        __builtin_memcpy(&word, source, 8);
        __builtin_memcpy(target, &word, 8);
    }
    for (; size_bytes > 0; --size_bytes) {
        *target++ = *source++;
    }
    return to;
}

void* memmove(void* to, const void* from, std::size_t size_bytes) {
    auto* target = static_cast<unsigned char*>(to);
    const auto* source = static_cast<const unsigned char*>(from);
    if (target <= source) {
        return memcpy(to, from, size_bytes);
    }
    while (size_bytes > 0) {
        --size_bytes;
        target[size_bytes] = source[size_bytes];
    }
    return to;
}

void* memset(void* to, int value, std::size_t size_bytes) {
    auto* target = static_cast<unsigned char*>(to);
    for (; size_bytes > 0; --size_bytes) {
        *target++ = static_cast<unsigned char>(value);
    }
    return to;
}

int memcmp(const void* left, const void* right, std::size_t size_bytes) {
    const auto* a = static_cast<const unsigned char*>(left);
    const auto* b = static_cast<const unsigned char*>(right);
    for (; size_bytes > 0; --size_bytes, ++a, ++b) {
        if (*a != *b) {
            return *a < *b ? -1 : 1;
        }
    }
    return 0;
}

[[noreturn]] void perfleet_panic(const char* file, int line, const char* condition) {
    const auto print_text = [](const char* text) {
        for (; *text != 0; ++text) {
            perfleet::bare_metal::print({text, 1});
        }
    };
    print_text("panic: ");
    print_text(file);
    print_text(":");
    perfleet::bare_metal::print_number(static_cast<std::uint64_t>(line));
    print_text(": ");
    print_text(condition);
    print_text("\n");
    for (;;) {
        asm volatile("wfi");
    }
}

}  // extern "C"
