// Entry of the image at EL1, its exception vectors, and the way to EL0 and back. The running thread's Context
// (context.h) is in TPIDR_EL1; interrupts stay masked at EL1.

#define CONTEXT_SP 248
#define CONTEXT_PC 256
#define CONTEXT_STATE 264

    .section .text.start, "ax"
    .global _start
_start:
    ldr x1, =kernel_stack_end
    mov sp, x1
    ldr x1, =bss_begin
    ldr x2, =bss_end
1:  cmp x1, x2
    b.hs 2f
    stp xzr, xzr, [x1], #16
    b 1b
2:  ldr x1, =vectors
    msr vbar_el1, x1
    isb
    bl kernel_main
3:  wfi
    b 3b

    .macro unexpected number
    .balign 128
    mov x0, #\number
    b 4f
    .endm

    .macro from_user number
    .balign 128
    stp x0, x1, [sp, #-16]!
    mov x1, #\number
    b save_context
    .endm

    .balign 2048
vectors:
    unexpected 0
    unexpected 1
    unexpected 2
    unexpected 3
    unexpected 4
    unexpected 5
    unexpected 6
    unexpected 7
    from_user 0     // synchronous
    from_user 1     // interrupt
    unexpected 10
    unexpected 11
    unexpected 12
    unexpected 13
    unexpected 14
    unexpected 15
    .balign 128
4:  mrs x1, esr_el1
    mrs x2, elr_el1
    mrs x3, far_el1
    bl handle_unexpected

// x0 and x1 are on the stack; x1 is the number of the exception.
save_context:
    mrs x0, tpidr_el1
    stp x2, x3, [x0, #16]
    stp x4, x5, [x0, #32]
    stp x6, x7, [x0, #48]
    stp x8, x9, [x0, #64]
    stp x10, x11, [x0, #80]
    stp x12, x13, [x0, #96]
    stp x14, x15, [x0, #112]
    stp x16, x17, [x0, #128]
    stp x18, x19, [x0, #144]
    stp x20, x21, [x0, #160]
    stp x22, x23, [x0, #176]
    stp x24, x25, [x0, #192]
    stp x26, x27, [x0, #208]
    stp x28, x29, [x0, #224]
    str x30, [x0, #240]
    ldp x2, x3, [sp], #16
    stp x2, x3, [x0]
    mrs x2, sp_el0
    mrs x3, elr_el1
    mrs x4, spsr_el1
    str x2, [x0, #CONTEXT_SP]
    str x3, [x0, #CONTEXT_PC]
    str x4, [x0, #CONTEXT_STATE]
    bl handle_exception

// Continues with the context in x0, at EL0.
    .global enter_user
enter_user:
    msr tpidr_el1, x0
    ldr x2, [x0, #CONTEXT_SP]
    ldr x3, [x0, #CONTEXT_PC]
    ldr x4, [x0, #CONTEXT_STATE]
    msr sp_el0, x2
    msr elr_el1, x3
    msr spsr_el1, x4
    ldp x2, x3, [x0, #16]
    ldp x4, x5, [x0, #32]
    ldp x6, x7, [x0, #48]
    ldp x8, x9, [x0, #64]
    ldp x10, x11, [x0, #80]
    ldp x12, x13, [x0, #96]
    ldp x14, x15, [x0, #112]
    ldp x16, x17, [x0, #128]
    ldp x18, x19, [x0, #144]
    ldp x20, x21, [x0, #160]
    ldp x22, x23, [x0, #176]
    ldp x24, x25, [x0, #192]
    ldp x26, x27, [x0, #208]
    ldp x28, x29, [x0, #224]
    ldr x30, [x0, #240]
    ldp x0, x1, [x0]
    eret
