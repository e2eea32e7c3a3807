#include "target-collector/sel4/root/threads.h"

namespace perfleet::sel4 {
namespace {

// For the thread's own variables: libsel4 has some. The load uses none of its calls that need them.
constexpr std::size_t kLocalSizeBytes = 64;

}  // namespace

StockKernel::ThreadCaps start_thread(Objects& objects, const seL4_BootInfo& info, void (*entry)(), ThreadStack& stack,
                                     seL4_Word priority, const char* name) {
    const auto stack_end = reinterpret_cast<seL4_Word>(stack.bytes.data() + stack.bytes.size());
#if defined(__x86_64__)
    // The address of its own local variables stands at their end.
    const seL4_Word base = stack_end - sizeof(seL4_Word);
    *reinterpret_cast<seL4_Word*>(base) = base;
#endif
    return start_thread_in(objects, info, entry, seL4_CapInitThreadVSpace, stack_end, priority, name);
}

StockKernel::ThreadCaps start_thread_in(Objects& objects, const seL4_BootInfo& info, void (*entry)(), seL4_CPtr vspace,
                                        std::uint64_t stack_end, seL4_Word priority, const char* name) {
    StockKernel::ThreadCaps caps{.tcb = objects.make(seL4_TCBObject)};
    constexpr seL4_Word kNoBuffer = 0;
#ifdef CONFIG_KERNEL_MCS
    constexpr seL4_Time kWholePeriodUs = 10'000;  // budget and period alike: it may run as long as no thread of higher
                                                  // priority does
    caps.scheduling_context = objects.make(seL4_SchedContextObject, seL4_MinSchedContextBits);
    require(static_cast<seL4_Word>(seL4_SchedControl_ConfigureFlags(info.schedcontrol.start, caps.scheduling_context,
                                                                    kWholePeriodUs, kWholePeriodUs, 0, 0, 0)),
            "a scheduling context");
    require(static_cast<seL4_Word>(
                seL4_TCB_Configure(caps.tcb, seL4_CapInitThreadCNode, 0, vspace, 0, kNoBuffer, seL4_CapNull)),
            "a thread");
    require(static_cast<seL4_Word>(seL4_TCB_SetSchedParams(caps.tcb, seL4_CapInitThreadTCB, priority, priority,
                                                           caps.scheduling_context, seL4_CapNull)),
            "a thread's priority");
#else
    (void)info;
    require(static_cast<seL4_Word>(seL4_TCB_Configure(caps.tcb, seL4_CapNull, seL4_CapInitThreadCNode, 0, vspace, 0,
                                                      kNoBuffer, seL4_CapNull)),
            "a thread");
    require(static_cast<seL4_Word>(seL4_TCB_SetPriority(caps.tcb, seL4_CapInitThreadTCB, priority)),
            "a thread's priority");
#endif
#ifdef CONFIG_DEBUG_BUILD
    seL4_DebugNameThread(caps.tcb, name);
#else
    (void)name;
#endif
    seL4_UserContext context{};
#if defined(__aarch64__)
    context.pc = reinterpret_cast<seL4_Word>(entry);
    context.tpidr_el0 = stack_end - kLocalSizeBytes;
    context.sp = stack_end - kLocalSizeBytes;
#elif defined(__riscv)
    context.pc = reinterpret_cast<seL4_Word>(entry);
    context.tp = stack_end - kLocalSizeBytes;
    context.sp = stack_end - kLocalSizeBytes;
#elif defined(__x86_64__)
    context.rip = reinterpret_cast<seL4_Word>(entry);
    context.fs_base = stack_end - sizeof(seL4_Word);
    // As behind a call: a return address lies on the stack, none.
    context.rsp = stack_end - 2 * kLocalSizeBytes - sizeof(seL4_Word);
#endif
    constexpr seL4_Bool kRuns = 1;
    require(static_cast<seL4_Word>(
                seL4_TCB_WriteRegisters(caps.tcb, kRuns, 0, sizeof context / sizeof(seL4_Word), &context)),
            "a thread's registers");
    return caps;
}

}  // namespace perfleet::sel4
