// Entry of the root task: seL4 gives it the boot information in rdi, and no stack.
#include <sel4/config.h>

#ifndef CONFIG_FSGSBASE_INST
#error "threads of this kernel can't set their own base of local variables: configure it with -DKernelFSGSBase=inst"
#endif

    .section .text.start, "ax"
    .global _start
_start:
    movq $root_stack_end, %rsp
    xorl %ebp, %ebp
    // Thread-local variables end at the base, where its own address stands: libsel4 keeps the address of the IPC buffer
    // in one.
    movq $root_local + 0x80, %rax
    movq %rax, (%rax)
    wrfsbase %rax
    call root_main
1:  jmp 1b
    .section .note.GNU-stack, "", @progbits
