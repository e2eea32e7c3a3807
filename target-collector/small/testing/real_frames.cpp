// Walks its own frames, as the compilers of AArch64, RISC-V and x86-64 make them: of a call, and of a leaf that a
// signal interrupts. Prints what is wrong, and exits with 1.
#include <sys/time.h>
#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <span>

#include "target-collector/small/frame_chain.h"

namespace {

using perfleet::FrameRegisters;

std::array<std::uint64_t, 3> returns;  // of inner, middle, outer: to their callers
std::uint64_t stack_top = 0;
std::array<std::uint64_t, 16> walked{};
std::size_t walked_count = 0;
volatile bool is_over = false;

std::uint64_t return_address(void* address) { return reinterpret_cast<std::uint64_t>(address); }

void walk(const FrameRegisters& registers, std::uint64_t stack_pointer) {
    const std::uint64_t begin = stack_pointer & ~std::uint64_t{15};
    walked_count = walk_frames(registers, {reinterpret_cast<const std::byte*>(begin), stack_top - begin}, walked);
}

FrameRegisters registers_of(const ucontext_t& context, std::uint64_t& stack_pointer) {
    const auto& machine = context.uc_mcontext;
#if defined(__riscv)
    stack_pointer = machine.__gregs[REG_SP];
    return {machine.__gregs[REG_PC], machine.__gregs[REG_S0], machine.__gregs[REG_RA]};
#elif defined(__x86_64__)
    stack_pointer = static_cast<std::uint64_t>(machine.gregs[REG_RSP]);
    return {static_cast<std::uint64_t>(machine.gregs[REG_RIP]), static_cast<std::uint64_t>(machine.gregs[REG_RBP])};
#else
    stack_pointer = machine.sp;
    return {machine.pc, machine.regs[29], machine.regs[30]};
#endif
}

void on_signal(int /*signal*/, siginfo_t* /*info*/, void* context) {
    if (!is_over) {
        std::uint64_t stack_pointer = 0;
        const FrameRegisters registers = registers_of(*static_cast<const ucontext_t*>(context), stack_pointer);
        walk(registers, stack_pointer);
        is_over = true;
    }
}

[[gnu::noinline, gnu::noclone]] void spin() {
    while (!is_over) {
    }
}

[[gnu::noinline, gnu::noclone]] void inner(bool is_leaf_below) {
    returns[0] = return_address(__builtin_return_address(0));
    if (is_leaf_below) {
        spin();
    } else {
        const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
        walk({0, here, 0}, here - 64);
    }
    asm volatile("");  // no tail call
}
[[gnu::noinline, gnu::noclone]] void middle(bool is_leaf_below) {
    returns[1] = return_address(__builtin_return_address(0));
    inner(is_leaf_below);
    asm volatile("");
}
[[gnu::noinline, gnu::noclone]] void outer(bool is_leaf_below) {
    returns[2] = return_address(__builtin_return_address(0));
    middle(is_leaf_below);
    asm volatile("");
}

// `returns` stand behind so many frames.
bool is_chain(const char* what, std::size_t before) {
    for (std::size_t i = 0; i < returns.size(); ++i) {
        if (before + i >= walked_count || walked[before + i] != returns[i]) {
            std::printf("%s: frame %zu of %zu isn't the caller's\n", what, before + i, walked_count);
            return false;
        }
    }
    return true;
}

}  // namespace

int main() {
    stack_top = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) & ~std::uint64_t{15};
    outer(false);
    bool is_right = is_chain("a call", 1);

    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval soon{{0, 10'000}, {0, 10'000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    outer(true);
    // A leaf of AArch64 and x86-64 has no record: its caller is passed over.
#if defined(__riscv)
    is_right = is_chain("a leaf", 2) && is_right;
#else
    is_right = is_chain("a leaf", 1) && is_right;
#endif
    return is_right ? 0 : 1;
}
