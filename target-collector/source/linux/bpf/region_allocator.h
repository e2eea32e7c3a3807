// Allocates parts of a range of numbers: first fit; free neighbours are merged.
//
// A value. The unit of the numbers (bytes, elements) is the caller's.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace perfleet {

class RegionAllocator {
public:
    // Empty: no free part is large enough.
    [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t size) {
        for (auto free = free_.begin(); free != free_.end(); ++free) {
            if (free->second >= size) {
                const std::uint32_t at = free->first;
                const std::uint32_t rest = free->second - size;
                free_.erase(free);
                if (rest > 0) {
                    free_.emplace(at + size, rest);
                }
                return at;
            }
        }
        return std::nullopt;
    }

    // Frees a part, or extends the range. The part must not be free.
    void give(std::uint32_t at, std::uint32_t size) {
        if (size == 0) {
            return;
        }
        auto here = free_.emplace(at, size).first;
        if (const auto next = std::next(here); next != free_.end() && at + size == next->first) {
            here->second += next->second;
            free_.erase(next);
        }
        if (here != free_.begin()) {
            const auto before = std::prev(here);
            if (before->first + before->second == here->first) {
                before->second += here->second;
                free_.erase(here);
            }
        }
    }

    [[nodiscard]] std::uint32_t free_size() const {
        std::uint32_t sum = 0;
        for (const auto& [at, size] : free_) {
            sum += size;
        }
        return sum;
    }

private:
    std::map<std::uint32_t, std::uint32_t> free_;  // start, size
};

}  // namespace perfleet
