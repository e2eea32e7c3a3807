// DWARF of profiled programs: units, line programs, inlined functions; read by libdw, within this project's bounds.
#include <sys/mman.h>
#include <unistd.h>

#include "query-engine/symbol/debug_lines.h"
#include "query-engine/symbol/demangle.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static const int file = ::memfd_create("fuzzed", 0);
    PERFLEET_ASSERT(::ftruncate(file, 0) == 0 &&
                    ::pwrite(file, data, size_bytes, 0) == static_cast<ssize_t>(size_bytes));
    const auto lines =
        DebugLines::open("/proc/self/fd/" + std::to_string(file),
                         [](const std::string& /*name*/, std::string_view /*build_id*/) { return std::string{}; });
    if (!lines.ok()) {
        PERFLEET_ASSERT(!lines.error().message.empty());
        return 0;
    }
    std::size_t sum = 0;
    for (std::uint64_t address = 0; address < 0x3000; address += 16) {
        const std::vector<SourceFrame> frames = (*lines)->frames_at(address);
        PERFLEET_ASSERT(frames.size() <= kInlineDepthMax);
        for (const SourceFrame& frame : frames) {
            sum += demangled_name(frame.function).size() + frame.file.size();
        }
    }
    [[maybe_unused]] static volatile std::size_t sink;
    sink = sum;
    return 0;
}
