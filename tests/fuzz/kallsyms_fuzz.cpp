// The kernel's own lists: /proc/kallsyms and /proc/modules. The snapshot that is made of the first goes to the gateway,
// and the query engine must parse every line of it.
#include <algorithm>
#include <string>

#include "query-engine/symbol/kernel_symbols.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/process/kernel_images.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view text = input.rest_text();
    const KernelLayout layout = read_kernel_layout(text);
    const std::string of_kernel = read_kernel_symbols(text, {{{}, layout.start, ~0ULL - layout.start}})[{}];
    PERFLEET_ASSERT(of_kernel.size() <= text.size() + 1);
    if (!of_kernel.empty()) {
        std::uint64_t bad_lines = 0;
        const auto symbols = symbols_of_kernel(of_kernel, bad_lines);
        PERFLEET_ASSERT(symbols.ok() && bad_lines == 0);
    }
    const auto modules = read_kernel_modules(text);
    PERFLEET_ASSERT(std::is_sorted(modules.begin(), modules.end(),
                                   [](const auto& left, const auto& right) { return left.start < right.start; }));
    return 0;
}
