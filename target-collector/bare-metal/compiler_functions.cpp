// The four functions that the compiler may call on its own, for targets without a libc.
#include <cstddef>
#include <cstdint>

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
    const std::uint64_t word = static_cast<unsigned char>(value) * 0x0101'0101'0101'0101;
    // Whole words where they belong: without translation memory is a device's, which wants that.
    for (; size_bytes > 0 && reinterpret_cast<std::uintptr_t>(target) % sizeof word != 0; --size_bytes) {
        *target++ = static_cast<unsigned char>(value);
    }
    for (; size_bytes >= sizeof word; size_bytes -= sizeof word, target += sizeof word) {
        __builtin_memcpy(target, &word, sizeof word);
    }
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

}  // extern "C"
