// ELF files of profiled programs: headers, notes, symbol tables, relocations, and the names in them; and the parts of
// such files that were kept with a session.
#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/elf_symbols.h"
#include "query-engine/symbol/kept_symbols.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view bytes = input.rest_text();
    if (const auto parts = open_kept_symbols(bytes, "fuzzed"); parts.ok()) {
        const auto debug_file = debug_file_of(bytes, parts->file->build_id(), "fuzzed");
        const auto section = debug_file.ok() ? section_of(*debug_file, ".symtab", "fuzzed") : Result<std::string>{""};
        PERFLEET_ASSERT(!debug_file.ok() || !section.ok() || debug_file->size() >= section->size());
    }
    auto kept = open_kept_symbols(bytes, "fuzzed");
    auto file = kept.ok() ? Result<std::unique_ptr<ElfFile>>{std::move(kept->file)}
                          : ElfFile::from_memory(std::string{bytes}, "fuzzed");
    if (!file.ok()) {
        PERFLEET_ASSERT(!file.error().message.empty());
        return 0;
    }
    std::uint64_t sum = (*file)->build_id().size();
    for (std::size_t section = 0; section < (*file)->sections().size(); ++section) {
        for (const char byte : (*file)->section_bytes(section)) {
            sum += static_cast<unsigned char>(byte);
        }
        sum += (*file)->relocations(section).size();
    }
    const SymbolTable symbols = symbols_of_elf(**file, **file);
    SymbolTable::Hit hit;
    for (std::uint64_t offset = 0; offset <= size_bytes; offset += 64) {
        if (symbols.find(offset, hit)) {
            sum += demangled_name(hit.name).size();
        }
    }
    [[maybe_unused]] static volatile std::uint64_t sink;
    sink = sum;
    return 0;
}
