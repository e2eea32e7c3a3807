// The four functions that the compiler may call on its own, for targets without a libc.
#include <cstddef>
#include <cstdint>

namespace {

// Not by __builtin_memcpy(), which the compiler may turn into a call of the very function that is defined here: GCC
// does, for RISC-V and -Os.
struct [[gnu::may_alias]] Word {
    std::uint64_t value;
};
#if defined(__riscv)
// Unaligned ones are traps there, or slow.
constexpr std::uintptr_t kWordAlignment = sizeof(Word);
using AnyWord = Word;
#else
constexpr std::uintptr_t kWordAlignment = 1;
struct [[gnu::may_alias, gnu::packed]] AnyWord {
    std::uint64_t value;
};
#endif

}  // namespace

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size_bytes) {
    auto* target = static_cast<unsigned char*>(to);
    const auto* source = static_cast<const unsigned char*>(from);
    if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % kWordAlignment == 0) {
        for (; size_bytes >= 8; size_bytes -= 8, target += 8, source += 8) {
            reinterpret_cast<AnyWord*>(target)->value = reinterpret_cast<const AnyWord*>(source)->value;
        }
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
    // Aligned whole words: without translation, memory counts as a device's, which requires them.
    for (; size_bytes > 0 && reinterpret_cast<std::uintptr_t>(target) % sizeof word != 0; --size_bytes) {
        *target++ = static_cast<unsigned char>(value);
    }
    for (; size_bytes >= sizeof word; size_bytes -= sizeof word, target += sizeof word) {
        reinterpret_cast<Word*>(target)->value = word;
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
