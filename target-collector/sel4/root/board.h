// The board that the root task runs on, by its architecture. All boards have the same members:
//
//   Board(objects, info)     maps its devices: from here on print() prints
//   words(), session()       the run's options; 128 random bits, or none without entropy
//   find_clock()             the cycle counter's rate, and the UTC time: takes up to two seconds
//   open_stream(words, …)    the stream to the gateway
//   open_keys()              by which board and gateway know each other; stops with a message if there are none
//   start_machine(clock, …)  starts the alarm that wakes the root task, and the processor's counters
//   pmu()                    describes the processor's counters
//   wait()                   for the next interrupt of any device
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
