// This process's limit on open descriptors. Linux gives most programs 1,024 and allows them to raise it.
#pragma once

#include <cstddef>

namespace perfleet {

// Raises the limit as far as possible.
void raise_descriptor_limit();

[[nodiscard]] std::size_t descriptor_limit();

// How many more descriptors can be opened now.
[[nodiscard]] std::size_t descriptors_left();

}  // namespace perfleet
