// ELF files of profiled programs, as the target cuts their symbols and lines out of them, and as queries open the
// result.
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/elf_symbols.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/process/symbol_part.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    for (const PartKind kind : {PartKind::kSymbols, PartKind::kLines}) {
        const auto part = symbol_part_of(input.rest(), kind);
        if (!part.ok()) {
            PERFLEET_ASSERT(!part.error().message.empty());
            continue;
        }
        PERFLEET_ASSERT(part->bytes.size() <= kSymbolPartSizeBytesMax);
        PERFLEET_ASSERT(part->debug_link.find('\0') == std::string::npos);
        const auto file = ElfFile::from_memory(part->bytes, "cut");
        if (file.ok()) {
            (void)symbols_of_elf(**file, **file);
        }
    }
    return 0;
}
