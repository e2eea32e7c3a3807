// Column codecs. Input: codec, value count (2 bytes), the column's bytes. Whatever decodes must survive being encoded
// again, its bounds must be those that are found without decoding, and the bytes taken as values must come back from
// their own encoding.
#include <algorithm>
#include <vector>

#include "schemas/columns/bounds.h"
#include "schemas/columns/codec.h"
#include "schemas/vocabulary/batch_limits.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

void expect_round_trip(const std::vector<std::uint64_t>& values) {
    std::vector<std::byte> encoded(encoded_size_bytes_max(values.size()));
    for (const Codec newest : {kCommonCodec, kNewestCodec}) {
        const auto done = encode_integers(values, encoded, newest);
        PERFLEET_ASSERT(done.ok() && done->size_bytes <= encoded.size() && done->codec <= newest);
        std::vector<std::uint64_t> decoded(values.size());
        PERFLEET_ASSERT(decode_integers(done->codec, std::span{encoded}.first(done->size_bytes), decoded).ok());
        PERFLEET_ASSERT(decoded == values);
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto codec = static_cast<Codec>(input.byte());
    const std::size_t value_count = input.integer(2) % (limits::kBatchRowsMax + 1);
    std::vector<std::uint64_t> values(value_count);
    const bool decodes = decode_integers(codec, input.rest(), values).ok();
    const auto bounds = bounds_of_integers(codec, input.rest(), value_count);
    PERFLEET_ASSERT(bounds.ok() == decodes);
    if (decodes) {
        const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
        PERFLEET_ASSERT(values.empty() || (bounds->min == *least && bounds->max == *greatest));
        expect_round_trip(values);
    }
    std::vector<std::uint64_t> raw;
    while (!input.empty()) {
        raw.push_back(input.integer());
    }
    expect_round_trip(raw);
    return 0;
}
