// For tests: a BPF program of another user that takes time in each getppid() of one process, until it is destroyed.
#pragma once

#include <cstdint>
#include <memory>

#include "schemas/vocabulary/error.h"

namespace perfleet {

class BusyCalls {
public:
    // Errors: the kernel refuses the program, or this build has none.
    [[nodiscard]] static Result<std::unique_ptr<BusyCalls>> start(std::uint32_t pid, std::uint32_t round_count);
    virtual ~BusyCalls() = default;
};

}  // namespace perfleet
