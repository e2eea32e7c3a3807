// The collector's own reader of unwind information, and a step by each rule that it finds.
#include <algorithm>
#include <array>

#include "schemas/vocabulary/assert.h"
#include "target-collector/process/unwind/unwind_step.h"
#include "target-collector/process/unwind/unwind_table.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto bytes = input.rest();
    const ReadImage read = [&](std::uint64_t offset, std::span<std::byte> into) {
        PERFLEET_ASSERT(offset <= bytes.size() && into.size() <= bytes.size() - offset);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    };
    const auto table = UnwindTable::of_image(read, bytes.size());
    if (!table.ok()) {
        return 0;
    }
    constexpr std::uint64_t kStackAddress = 0x7fff'0000;
    const std::array<std::uint64_t, 4> stack{kStackAddress + 8, kStackAddress + 24, 0x1234, 0};
    for (std::size_t row = 0; row < table->row_count(); ++row) {
        PERFLEET_ASSERT(row == 0 || table->place(row) >= table->place(row - 1));
        PERFLEET_ASSERT(row + 1 == table->row_count() || table->place(row + 1) == table->place(row) ||
                        table->find(table->place(row)) == table->rule(row));
        UnwindRegisters registers{table->place(row), kStackAddress, kStackAddress + 16, 0x1234};
        const StackCopy copy{kStackAddress, std::as_bytes(std::span{stack}), (row & 1U) != 0};
        (void)unwind_step(table->machine(), table->rule(row), copy, registers);
    }
    return 0;
}
