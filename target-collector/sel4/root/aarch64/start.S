// Entry of the root task: seL4 gives it the boot information in x0, and no stack.

    .section .text.start, "ax"
    .global _start
_start:
    ldr x1, =root_stack_end
    mov sp, x1
    mov x29, xzr
    mov x30, xzr
    // Thread-local variables stand 16 bytes behind the base: libsel4 keeps the address of the IPC buffer in one.
    ldr x1, =root_local
    msr tpidr_el0, x1
    bl root_main
1:  b 1b
