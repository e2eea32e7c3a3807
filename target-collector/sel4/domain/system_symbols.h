// Variables that are written into the domain's ELF file after linking. Defined apart from all other code and not
// optimised with it: no compiler can see that no code writes them.
#pragma once

#include <cstdint>

#include "target-collector/sel4/domain/domain_table.h"

extern "C" {
// Written by tools/microkit-domain.
extern perfleet::sel4::DomainTable perfleet_domain_table;
// Written by Microkit's own tool, if the system description says so (`setvar`): the physical address of the memory that
// the virtio port shares with its device.
extern std::uint64_t perfleet_port_paddr;
// Likewise, by `setvar_vaddr`: where 64 bytes of keys are mapped, and a device tree with random bytes; ~0: they aren't.
extern std::uint64_t perfleet_keys_vaddr;
extern std::uint64_t perfleet_tree_vaddr;
}
