// The board that the root task runs on, by its architecture. All boards have the same members:
//
//   Board(objects, info)     its devices are mapped: from here on print() prints
//   words(), session()       what the run is to be like; 128 random bits, or none where there is no entropy
//   find_clock()             the cycle counter's rate, and what UTC it is: takes up to two seconds
//   open_stream()            what leads to the gateway
//   start_machine(clock, …)  what wakes the root task, and the processor's counters
//   pmu()                    what the processor's counters are
//   wait()                   for the next interrupt, whatever it comes from
//   kTarget, kName, kArchitecture, kClockName
#pragma once

#if defined(__aarch64__)
#include "target-collector/sel4/root/aarch64/virt_board.h"
namespace perfleet::sel4 {
using Board = VirtBoard;
}
#elif defined(__x86_64__)
#include "target-collector/sel4/root/x86_64/pc_board.h"
namespace perfleet::sel4 {
using Board = PcBoard;
}
#elif defined(__riscv)
#include "target-collector/sel4/root/riscv64/riscv_board.h"
namespace perfleet::sel4 {
using Board = RiscvBoard;
}
#endif
