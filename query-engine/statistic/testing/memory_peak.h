// What operator new has given and didn't get back. A program that is linked with this counts all of it, so such tests
// stand by themselves. Threads: any.
#pragma once

#include <cstddef>

namespace perfleet {

// Since it was made, at the most.
class MemoryPeak {
public:
    MemoryPeak();
    [[nodiscard]] std::size_t taken_bytes() const;

private:
    std::size_t before_bytes_;
};

}  // namespace perfleet
