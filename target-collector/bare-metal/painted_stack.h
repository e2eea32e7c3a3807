// Measures how much of a stack was ever used: it is painted first, and later searched for remaining paint.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace perfleet::bare_metal {

inline constexpr std::uint64_t kStackPaint = 0x5ca1'ab1e'0ddb'a115;

// Paints everything below the caller's frame; `stack` is the one that it runs on.
[[gnu::always_inline]] inline void paint_stack(std::span<std::uint64_t> stack) {
    const auto* const frame = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
    constexpr std::size_t kOwnWords = 64;  // for the caller's frame
    for (std::uint64_t* word = stack.data(); word + kOwnWords < frame; ++word) {
        *const_cast<volatile std::uint64_t*>(word) = kStackPaint;
    }
}

// From the stack's upper end to the deepest word that was written.
[[nodiscard]] inline std::size_t used_stack_bytes(std::span<const std::uint64_t> stack) {
    std::size_t unused = 0;
    while (unused < stack.size() && stack[unused] == kStackPaint) {
        ++unused;
    }
    return (stack.size() - unused) * sizeof(std::uint64_t);
}

}  // namespace perfleet::bare_metal
