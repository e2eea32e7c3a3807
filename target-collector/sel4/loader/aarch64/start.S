// Entry of the loader at EL1 with translation off, and its way into seL4's kernel.

    .section .text.start, "ax"
    .global _start
_start:
    ldr x1, =loader_stack_end
    mov sp, x1
    ldr x1, =bss_begin
    ldr x2, =bss_end
1:  cmp x1, x2
    b.hs 2f
    stp xzr, xzr, [x1], #16
    b 1b
    // QEMU has put the device tree at the beginning of the memory.
2:  ldr x0, =0x40000000
    bl load_and_start
3:  wfi
    b 3b

// enter_kernel(entry, arguments[6], control): with this control register (translation on), as seL4 expects it: the
// user image's physical begin and end, its physical less its virtual address, its entry, the device tree and its size.
    .global enter_kernel
enter_kernel:
    mov x16, x0
    mov x17, x2
    ldp x4, x5, [x1, #32]
    ldp x2, x3, [x1, #16]
    ldp x0, x1, [x1]
    dsb sy
    ic iallu
    tlbi vmalle1
    dsb sy
    isb
    msr sctlr_el1, x17
    isb
    br x16
