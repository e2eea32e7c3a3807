// 64-bit keys that were seen, each with a number. Bounded: at `count_max` (rounded down to a power of two) the older
// half is forgotten.
//
// One thread. The number 0 means that a key isn't known.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "storage/number/flat_table.h"

namespace perfleet {

class KnownKeys {
public:
    // Greatest memory per key: two slots, one of them free.
    static constexpr std::size_t kKeySizeBytes = 32;

    explicit KnownKeys(std::size_t count_max)
        : half_count_max_{std::bit_floor(std::max<std::size_t>(count_max, 2) / 2)} {}

    void add(std::uint64_t key, std::uint64_t number) {
        if (number == 0) {
            return;
        }
        if (newer_.count() >= half_count_max_ && newer_.find(key) == 0) {
            older_ = std::exchange(newer_, {});
        }
        newer_[key] = number;
    }

    [[nodiscard]] std::uint64_t find(std::uint64_t key) const {
        const std::uint64_t number = newer_.find(key);
        return number != 0 ? number : older_.find(key);
    }

private:
    std::size_t half_count_max_;
    FlatTable<std::uint64_t> newer_;
    FlatTable<std::uint64_t> older_;
};

}  // namespace perfleet
