// Finds the timed operation in which a thread was at a given time.
//
// Operations may nest and overlap: a time belongs to a slow operation before others, and among equals to the shortest,
// so that each sample counts once. Pure, plain values. Times are ticks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perfleet {

struct Operation {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // included; at least `start`
    bool is_slow = false;
};

// The operations of one thread. Threads: any, after construction.
class OperationTimes {
public:
    OperationTimes() = default;
    explicit OperationTimes(std::span<const Operation> operations);

    // Index of the operation at this time; nothing if the thread was in none.
    [[nodiscard]] std::optional<std::uint32_t> at(std::uint64_t ticks) const;
    [[nodiscard]] std::size_t size_bytes() const { return parts_.capacity() * sizeof(Part); }

private:
    static constexpr std::uint32_t kNone = ~0U;
    struct Part {
        std::uint64_t first = 0;  // until the next part's first
        std::uint32_t operation = kNone;
    };
    std::vector<Part> parts_;  // ascending
};

}  // namespace perfleet
