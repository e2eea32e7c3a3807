// Where bare-metal/console.h prints to on a PC.
#pragma once

#include "target-collector/sel4/root/x86_64/com_port.h"

namespace perfleet::sel4 {

// Borrowed for good. What was printed before is gone.
void open_console(ComPort& port);

}  // namespace perfleet::sel4
