// Entry of the loader in supervisor mode with translation off, and its way into seL4's kernel. The firmware gives the
// hart's number in a0 and the device tree in a1.

    .section .text.start, "ax"
    .global _start
_start:
    la sp, loader_stack_end
    la t0, bss_begin
    la t1, bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  mv a0, a1
    call load_and_start
3:  wfi
    j 3b

// enter_kernel(entry, arguments, translation), as seL4 expects it: the user image's physical begin and end, its physical
// less its virtual address, its entry, the device tree and its size.
    .global enter_kernel
enter_kernel:
    mv t0, a0
    mv t1, a1
    csrw satp, a2
    sfence.vma
    fence.i
    ld a0, 0(t1)
    ld a1, 8(t1)
    ld a2, 16(t1)
    ld a3, 24(t1)
    ld a4, 32(t1)
    ld a5, 40(t1)
    jr t0
