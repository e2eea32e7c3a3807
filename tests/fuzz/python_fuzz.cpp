// A profiled Python interpreter's file and memory: symbols of an ELF file, lines of a code object.
#include "schemas/vocabulary/assert.h"
#include "target-collector/source/linux/image/python_frames.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto bytes = input.rest();
    const auto read = [bytes](std::uint64_t offset, std::span<std::byte> into) {
        if (offset > bytes.size() || into.size() > bytes.size() - offset) {
            return false;
        }
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    };
    if (const auto symbols = python_symbols_of(read)) {
        PERFLEET_ASSERT(symbols->runtime != 0);
    }
    const auto lines = python_lines(bytes.first(std::min(bytes.size(), PythonFrames::kLineTableSizeMax)), 7);
    PERFLEET_ASSERT(lines.size() <= bytes.size());
    for (std::size_t i = 1; i < lines.size(); ++i) {
        PERFLEET_ASSERT(lines[i - 1].first < lines[i].first);
    }
    return 0;
}
