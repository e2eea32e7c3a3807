// The device tree that a bare-metal target finds: random bytes are taken from it. What is found lies in the input.
#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/device_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    const auto tree = std::as_bytes(std::span{data, size_bytes});
    if (const auto seed = bare_metal::find_seed(tree); seed.ok()) {
        PERFLEET_ASSERT(seed->size() >= 16);
        PERFLEET_ASSERT(seed->data() >= tree.data() && seed->data() + seed->size() <= tree.data() + tree.size());
    }
    return 0;
}
