// Entry in machine mode, and the timer's interrupt: registers that the handler may overwrite are saved on the stack, in
// the layout of `Interrupted` in main.cpp.

    .section .text.start, "ax"
    .global _start
_start:
    csrr t0, mhartid
    bnez t0, 3f
    la sp, stack_end
    la t0, bss_begin
    la t1, bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  la t0, interrupted
    csrw mtvec, t0
    li s0, 0
    call board_main
3:  wfi
    j 3b

    .balign 4
interrupted:
    addi sp, sp, -144
    sd ra, 0(sp)
    sd s0, 8(sp)
    sd t0, 24(sp)
    sd t1, 32(sp)
    sd t2, 40(sp)
    sd t3, 48(sp)
    sd t4, 56(sp)
    sd t5, 64(sp)
    sd t6, 72(sp)
    sd a0, 80(sp)
    sd a1, 88(sp)
    sd a2, 96(sp)
    sd a3, 104(sp)
    sd a4, 112(sp)
    sd a5, 120(sp)
    sd a6, 128(sp)
    sd a7, 136(sp)
    csrr t0, mepc
    sd t0, 16(sp)
    mv a0, sp
    call on_interrupt
    ld ra, 0(sp)
    ld t0, 24(sp)
    ld t1, 32(sp)
    ld t2, 40(sp)
    ld t3, 48(sp)
    ld t4, 56(sp)
    ld t5, 64(sp)
    ld t6, 72(sp)
    ld a0, 80(sp)
    ld a1, 88(sp)
    ld a2, 96(sp)
    ld a3, 104(sp)
    ld a4, 112(sp)
    ld a5, 120(sp)
    ld a6, 128(sp)
    ld a7, 136(sp)
    addi sp, sp, 144
    mret
