// `symbols`: the images that sessions name, and the symbols of them in the store.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// One row for each image and build-id, ascending by both. `symbols` is `all` (the build's .symtab, the kernel's
// symbols), `dynamic` (of a stripped file alone), `damaged` or null. Images without a file (memory, JIT code) are left
// out.
// Errors: those of the store.
[[nodiscard]] Result<Answer> make_symbol_inventory(const Scan& scan);

}  // namespace perfleet
