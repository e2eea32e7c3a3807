// The collector's own small readers of ELF files: build-ids in notes and in whole images, and the part with the
// symbols.
#include "schemas/vocabulary/assert.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/symbol_part.h"
#include "tests/fuzz/expect_within.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto bytes = input.rest();
    expect_within(build_id_in_notes(bytes), bytes);
    expect_within(build_id_in_memory(bytes), bytes);
    for (const PartKind kind : {PartKind::kSymbols, PartKind::kLines}) {
        if (const auto part = symbol_part_of(bytes, kind); part.ok()) {
            PERFLEET_ASSERT(part->bytes.size() <= kSymbolPartSizeBytesMax);
        }
    }
    return 0;
}
