#include "target-collector/sel4/kernel/stock_kernel.h"

#include <cstring>

#include "target-collector/small/tick_time.h"

// Entries of several cores aren't in order, each core has a cycle counter and an idle thread of its own, and a sample
// says core 0: such rows would be wrong without a warning.
#if CONFIG_MAX_NUM_NODES > 1
#error "this kernel is for several cores, the collector for one: configure it with -DKernelMaxNumNodes=1"
#endif
#if defined(__aarch64__)
#ifndef CONFIG_EXPORT_PTMR_USER
#error "this kernel keeps the EL0 physical timer to itself: configure it with -DKernelArmExportPTMRUser=ON"
#endif
#ifndef CONFIG_EXPORT_PCNT_USER
#error "this kernel keeps the physical counter to itself: configure it with -DKernelArmExportPCNTUser=ON"
#endif
#if !defined(CONFIG_EXPORT_PMU_USER) && !defined(CONFIG_ENABLE_BENCHMARKS)
#error "this kernel keeps the cycle counter to itself: configure it with -DKernelArmExportPMUUser=ON"
#endif
#elif defined(__x86_64__)
#ifndef CONFIG_IRQ_IOAPIC
#error "this kernel has the interrupts of the PIC: configure it with -DKernelIRQController=IOAPIC"
#endif
#endif

namespace perfleet::sel4 {
namespace {

#if defined(CONFIG_BENCHMARK_TRACK_KERNEL_ENTRIES) || defined(CONFIG_DEBUG_BUILD)
// Version 14 put `Entry_Unknown` in front.
constexpr PathNumbering kNumbering = Entry_Interrupt == 0 ? PathNumbering::kBefore14 : PathNumbering::kSince14;
#else
constexpr PathNumbering kNumbering = PathNumbering::kSince14;  // nothing in this kernel has such numbers
#endif

// The instruction of a system call.
#if defined(__aarch64__)
using SyscallCode = std::uint32_t;
constexpr SyscallCode kSyscall = 0xd400'0001;  // svc #0
#elif defined(__riscv)
using SyscallCode = std::uint32_t;
constexpr SyscallCode kSyscall = 0x73;  // ecall
#elif defined(__x86_64__)
using SyscallCode = std::uint16_t;
#ifdef CONFIG_SYSCALL
constexpr SyscallCode kSyscall = 0x050f;  // syscall
#else
constexpr SyscallCode kSyscall = 0x340f;  // sysenter
#endif
#endif

[[maybe_unused]] constexpr seL4_Word kNobodysCycles = ~seL4_Word{0};  // no system has run so long

constexpr KernelFeatures kBuiltFor {
#if defined(CONFIG_BENCHMARK_TRACK_UTILISATION)
    .mode = BenchmarkMode::kUtilisation,
#elif defined(CONFIG_BENCHMARK_TRACK_KERNEL_ENTRIES)
    .mode = BenchmarkMode::kKernelEntries,
#elif defined(CONFIG_BENCHMARK_TRACEPOINTS)
    .mode = BenchmarkMode::kTracepoints,
#else
    .mode = BenchmarkMode::kNone,
#endif
#if defined(__aarch64__)
    .architecture = Architecture::kAarch64, .architecture_name = "aarch64",
#elif defined(__x86_64__)
    .architecture = Architecture::kX86_64, .architecture_name = "x86_64",
#elif defined(__riscv)
    .architecture = Architecture::kRiscv64, .architecture_name = "riscv64",
#endif
    .numbering = kNumbering, .version = PERFLEET_SEL4_VERSION,
#ifdef CONFIG_KERNEL_MCS
    .is_mcs = true,
#endif
    .tracepoint_count = CONFIG_MAX_NUM_TRACE_POINTS,
};

}  // namespace

const KernelFeatures& StockKernel::built_for() { return kBuiltFor; }

std::uint64_t StockKernel::set_log_buffer() {
    // 12.1.0 defines CONFIG_KERNEL_LOG_BUFFER in a header that libsel4 doesn't include.
#if defined(CONFIG_BENCHMARK_TRACK_KERNEL_ENTRIES) || defined(CONFIG_BENCHMARK_TRACEPOINTS)
    return static_cast<std::uint64_t>(seL4_BenchmarkSetLogBuffer(log_.frame));
#else
    return kIllegalOperation;
#endif
}

std::uint64_t StockKernel::reset_log() {
#ifdef CONFIG_ENABLE_BENCHMARKS
    return static_cast<std::uint64_t>(seL4_BenchmarkResetLog());
#else
    return seL4_InvalidCapability;
#endif
}

std::uint64_t StockKernel::finalize_log() {
#ifdef CONFIG_ENABLE_BENCHMARKS
    return seL4_BenchmarkFinalizeLog();
#else
    return 0;
#endif
}

void StockKernel::reset_utilisation(ThreadNumber thread) {
#ifdef CONFIG_BENCHMARK_TRACK_UTILISATION
    if (const seL4_CPtr tcb = caps_of(thread).tcb; tcb != seL4_CapNull) {
        seL4_BenchmarkResetThreadUtilisation(tcb);
    }
#else
    (void)thread;
#endif
}

std::span<const std::byte> StockKernel::utilisation(ThreadNumber thread) {
#ifdef CONFIG_BENCHMARK_TRACK_UTILISATION
    const seL4_CPtr tcb = caps_of(thread).tcb;
    if (tcb == seL4_CapNull) {
        return {};  // a kernel with printing would print a warning
    }
    // For a capability that is no longer a thread's, the kernel reports nothing: the message keeps its old contents.
    seL4_Word* const message = seL4_GetIPCBuffer()->msg;
    constexpr std::size_t kTotal = static_cast<std::size_t>(UtilisationIndex::kTotalUtilisation);
    message[kTotal] = kNobodysCycles;
    seL4_BenchmarkGetThreadUtilisation(tcb);
    if (message[kTotal] == kNobodysCycles) {
        return {};
    }
    return {reinterpret_cast<const std::byte*>(message), kUtilisationWords * sizeof(std::uint64_t)};
#else
    (void)thread;
    return {};
#endif
}

bool StockKernel::read_registers(ThreadNumber thread, ThreadRegisters& into) {
    seL4_UserContext context{};
#if defined(__aarch64__)
    constexpr seL4_Word kCount = offsetof(seL4_UserContext, x9) / sizeof(seL4_Word);  // up to x30
#elif defined(__x86_64__)
    constexpr seL4_Word kCount = offsetof(seL4_UserContext, r8) / sizeof(seL4_Word);  // up to rbp
#elif defined(__riscv)
    constexpr seL4_Word kCount = offsetof(seL4_UserContext, s1) / sizeof(seL4_Word);  // up to s0
#endif
    constexpr seL4_Bool kGoesOn = 0;
    if (seL4_TCB_ReadRegisters(caps_of(thread).tcb, kGoesOn, 0, kCount, &context) != seL4_NoError) {
        return false;
    }
#if defined(__aarch64__)
    into = {{context.pc, context.x29}, is_syscall(context.pc) || is_syscall(context.pc - sizeof(SyscallCode))};
#elif defined(__riscv)
    into = {{context.pc, context.s0, context.ra},
            is_syscall(context.pc) || is_syscall(context.pc - sizeof(SyscallCode))};
#elif defined(__x86_64__)
    into = {{context.rip, context.rbp}, is_syscall(context.rip) || is_syscall(context.rip - sizeof(SyscallCode))};
#endif
    return true;
}

bool StockKernel::is_syscall(std::uint64_t address) const {
    const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(code_.data());
    SyscallCode instruction = 0;
    if (code_.size() < sizeof instruction || offset > code_.size() - sizeof instruction) {
        return false;
    }
    std::memcpy(&instruction, code_.data() + offset, sizeof instruction);
    return instruction == kSyscall;
}

std::optional<std::uint64_t> StockKernel::consumed_ticks(ThreadNumber thread) {
#ifdef CONFIG_KERNEL_MCS
    const seL4_SchedContext_Consumed_t answer = seL4_SchedContext_Consumed(caps_of(thread).scheduling_context);
    if (answer.error != seL4_NoError) {
        return std::nullopt;
    }
    constexpr std::uint64_t kNsPerMicrosecond = 1'000;
    return ticks_of_ns(answer.consumed * kNsPerMicrosecond, cycles_per_second_);
#else
    (void)thread;
    return std::nullopt;
#endif
}

}  // namespace perfleet::sel4
