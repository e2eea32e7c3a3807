// How many descriptors this process may have. Linux gives most programs 1,024 and lets them take more.
#pragma once

#include <cstddef>

namespace perfleet {

// Takes all that it may have.
void raise_descriptor_limit();

[[nodiscard]] std::size_t descriptor_limit();

// How many more it can open now.
[[nodiscard]] std::size_t descriptors_left();

}  // namespace perfleet
