// Unwind tables as bytes: the answers of the process that reads foreign files, and the tables that are kept on disk.
// Whatever is accepted comes back from its own bytes, and its rules can be applied.
#include <array>

#include "schemas/vocabulary/assert.h"
#include "target-collector/process/unwind/table_bytes.h"
#include "target-collector/process/unwind/unwind_step.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto table = unwind_table_of_bytes(input.rest());
    if (!table.ok()) {
        PERFLEET_ASSERT(!table.error().message.empty());
        return 0;
    }
    PERFLEET_ASSERT(unwind_table_bytes(*table) == input.rest_text());
    constexpr std::uint64_t kStackAddress = 0x7fff'0000;
    const std::array<std::uint64_t, 4> stack{kStackAddress + 8, kStackAddress + 24, 0x1234, 0};
    for (std::size_t row = 0; row < table->row_count(); ++row) {
        UnwindRegisters registers{table->place(row), kStackAddress, kStackAddress + 16, 0x1234};
        const StackCopy copy{kStackAddress, std::as_bytes(std::span{stack}), (row & 1U) != 0};
        (void)unwind_step(table->machine(), table->find(table->place(row)), copy, registers);
    }
    return 0;
}
