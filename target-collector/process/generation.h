// Generation numbers of changing objects, compared for equality only: every state in the program has its own number.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfleet {

[[nodiscard]] inline std::uint64_t next_generation() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace perfleet
