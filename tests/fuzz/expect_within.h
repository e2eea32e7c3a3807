// A parser's borrowed parts lie in its input.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

template <class Part>
void expect_within(const Part& part, std::span<const std::byte> whole) {
    const auto bytes = std::as_bytes(std::span{part});
    PERFLEET_ASSERT(bytes.empty() ||
                    (bytes.data() >= whole.data() && bytes.data() + bytes.size() <= whole.data() + whole.size()));
}

}  // namespace perfleet
