// Memory that operator new has given and not got back. A program that is linked with this counts all of it, so such
// tests stand by themselves. Threads: any.
#pragma once

#include <cstddef>

namespace perfleet {

// The peak since it was made.
class MemoryPeak {
public:
    MemoryPeak();
    [[nodiscard]] std::size_t taken_bytes() const;

private:
    std::size_t before_bytes_;
};

}  // namespace perfleet
