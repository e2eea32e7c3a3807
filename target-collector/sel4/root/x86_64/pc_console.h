// The output of bare-metal/console.h on a PC.
#pragma once

#include "target-collector/sel4/root/x86_64/com_port.h"

namespace perfleet::sel4 {

// Borrows `port` forever. Text printed earlier is lost.
void open_console(ComPort& port);

}  // namespace perfleet::sel4
