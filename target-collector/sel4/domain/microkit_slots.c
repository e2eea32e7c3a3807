#include <microkit.h>

const unsigned long microkit_slot_of_own_tcb = TCB_CAP;
const unsigned long microkit_slot_of_first_child_tcb = BASE_TCB_CAP;
const unsigned long microkit_slot_of_first_interrupt = BASE_IRQ_CAP;
