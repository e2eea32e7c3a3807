// .gnu_debugdata of profiled programs: an ELF file compressed by xz in an ELF file.
#include "query-engine/symbol/elf_symbols.h"
#include "query-engine/symbol/mini_debug_info.h"
#include "schemas/vocabulary/assert.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto file = ElfFile::from_memory(std::string{input.rest_text()}, "fuzzed");
    if (!file.ok()) {
        return 0;
    }
    const auto inner = open_mini_debug_info(**file);
    if (!inner.ok()) {
        PERFLEET_ASSERT(!inner.error().message.empty());
        return 0;
    }
    const SymbolTable symbols = symbols_of_elf(**inner, **file, true);
    SymbolTable::Hit hit;
    for (std::uint64_t offset = 0; offset <= size_bytes; offset += 64) {
        (void)symbols.find(offset, hit);
    }
    return 0;
}
