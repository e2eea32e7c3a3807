#include "target-collector/sel4/domain/system_symbols.h"

extern "C" {
// None is initially 0, so that all are in the file.
perfleet::sel4::DomainTable perfleet_domain_table{.mark = perfleet::sel4::kDomainMark};
std::uint64_t perfleet_port_paddr = ~0ULL;
std::uint64_t perfleet_keys_vaddr = ~0ULL;
std::uint64_t perfleet_tree_vaddr = ~0ULL;
}
