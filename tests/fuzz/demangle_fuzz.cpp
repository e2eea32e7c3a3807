// Names out of foreign symbol tables. The result is bounded, and a name that isn't mangled is returned unchanged.
#include "query-engine/symbol/demangle.h"
#include "schemas/vocabulary/assert.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view name = input.rest_text();
    const std::string shown = demangled_name(name);
    PERFLEET_ASSERT(shown == name || shown.size() <= kDemangledNameSizeBytesMax);
    PERFLEET_ASSERT(shown == demangled_name(name));
    if (!name.starts_with('_')) {
        PERFLEET_ASSERT(shown == name);
    }
    return 0;
}
