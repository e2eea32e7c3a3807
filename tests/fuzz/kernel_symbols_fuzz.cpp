// The text of a kernel's symbols that a collector sent, and mangled names.
#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/kernel_symbols.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view text = input.rest_text();
    [[maybe_unused]] static volatile std::uint64_t sink;
    sink = demangled_name(text).size();
    std::uint64_t bad_lines = 0;
    const auto symbols = symbols_of_kernel(text, bad_lines);
    if (symbols.ok()) {
        SymbolTable::Hit hit;
        for (const std::uint64_t offset : {0ULL, 1ULL, 0x1000ULL, 0xffff'ffffULL, ~0ULL}) {
            if (symbols->find(offset, hit)) {
                PERFLEET_ASSERT(hit.start <= offset);
                sink = hit.name.size();
            }
        }
    }
    return 0;
}
