// Numbers for states of things that change, compared for equality only: no two states of the program have the same.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfleet {

[[nodiscard]] inline std::uint64_t next_generation() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace perfleet
