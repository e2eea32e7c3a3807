// The state of an interrupted thread of the load. start.S depends on the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfleet::bare_metal {

struct Context {
    std::array<std::uint64_t, 31> x{};
    std::uint64_t sp = 0;
    std::uint64_t pc = 0;
    std::uint64_t state = 0;  // SPSR: 0 is EL0 with interrupts
};
static_assert(offsetof(Context, sp) == 248 && offsetof(Context, pc) == 256 && offsetof(Context, state) == 264);

}  // namespace perfleet::bare_metal

// Continues this thread at EL0. Defined in start.S.
extern "C" [[noreturn]] void enter_user(perfleet::bare_metal::Context* context);
