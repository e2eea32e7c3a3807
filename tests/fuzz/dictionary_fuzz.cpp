// Dictionaries of an epoch. Input: blocks, each behind its size (2 bytes); their checksums are put right first.
// Whatever was accepted, every number can be looked up, and every chain ends.
#include "schemas/vocabulary/batch_limits.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "tests/fuzz/checksums.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr int kBlocksMax = 8;

std::uint64_t read_all(const EpochDictionary& dictionary) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < dictionary.stack_count() + 2; ++i) {
        StackNumber at{static_cast<std::uint32_t>(i)};
        for (std::size_t steps = 0; at != kEmptyStack; ++steps) {
            PERFLEET_ASSERT(steps <= limits::kStackChainMax);
            const StackNode& node = dictionary.stack(at);
            sum += node.frame.offset + dictionary.image(node.frame.image).name.size();
            at = node.parent;
        }
    }
    for (std::size_t i = 0; i < dictionary.image_count() + 2; ++i) {
        const ImageDefinition& image = dictionary.image(ImageNumber{static_cast<std::uint32_t>(i)});
        PERFLEET_ASSERT(image.build_id.size() <= limits::kBuildIdSizeBytesMax);
        sum += image.flags + image.name.size();
    }
    for (std::size_t i = 0; i < dictionary.string_count() + 2; ++i) {
        sum += dictionary.string(StringNumber{static_cast<std::uint32_t>(i)}).size();
    }
    return sum;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    EpochDictionary dictionary;
    for (int count = 0; count < kBlocksMax && !input.empty(); ++count) {
        std::string bytes{input.text(input.integer(2))};
        put_block_checksums_right(bytes);
        const auto block = parse_block_untrusted(bytes);
        if (block.ok() && is_definition(block->header.series.kind) && !dictionary.add(*block).ok()) {
            return 0;
        }
    }
    static_cast<void>(dictionary.finish());
    [[maybe_unused]] static volatile std::uint64_t sink;
    sink = read_all(dictionary);
    return 0;
}
