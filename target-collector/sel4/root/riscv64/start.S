// Entry of the root task: seL4 gives it the boot information in a0, and no stack.

    .section .text.start, "ax"
    .global _start
_start:
    la sp, root_stack_end
    li s0, 0
    li ra, 0
    // Thread-local variables stand at the base: libsel4 keeps the address of the IPC buffer in one.
    la tp, root_local
    call root_main
1:  j 1b
