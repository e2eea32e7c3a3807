// What is written into the domain's ELF file after it was linked. Apart from all other code, and not optimised with it:
// no compiler sees that nobody writes it.
#pragma once

#include <cstdint>

#include "target-collector/sel4/domain/domain_table.h"

extern "C" {
// By tools/microkit-domain.
extern perfleet::sel4::DomainTable perfleet_domain_table;
// By Microkit's own tool, where the system description says so (`setvar`): the physical address of the memory that the
// virtio port shares with its device.
extern std::uint64_t perfleet_port_paddr;
}
