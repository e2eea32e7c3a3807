// The device tree that a bare-metal target finds: random bytes and the options of its run are taken from it. The found
// fields lie in the input; the input itself serves as options, too.
#include <string>
#include <string_view>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/run_options.h"
#include "tests/fuzz/expect_within.h"

namespace perfleet {
namespace {

// One more blank on either side changes nothing except where a word isn't an option.
void check_options(std::string_view text) {
    const auto options = bare_metal::parse_run_options(text);
    const auto spaced = bare_metal::parse_run_options(" " + std::string{text} + " ");
    PERFLEET_ASSERT(options.ok() == spaced.ok());
    if (!options.ok()) {
        PERFLEET_ASSERT(options.error().where + options.error().value <= text.size());
        PERFLEET_ASSERT(spaced.error().where == options.error().where + 1);
        return;
    }
    PERFLEET_ASSERT(options->seconds > 0 && options->samples_min > 0 && options->turns > 0);
    PERFLEET_ASSERT(options->session == spaced->session);
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    const auto tree = std::as_bytes(std::span{data, size_bytes});
    if (const auto seed = bare_metal::find_seed(tree); seed.ok()) {
        PERFLEET_ASSERT(seed->size() >= 16);
        expect_within(*seed, tree);
    }
    if (const auto words = bare_metal::find_chosen(tree, "bootargs", 1); words.ok()) {
        PERFLEET_ASSERT(!words->empty());
        expect_within(*words, tree);
        check_options({reinterpret_cast<const char*>(words->data()), words->size()});
    }
    check_options({reinterpret_cast<const char*>(data), size_bytes});
    return 0;
}
