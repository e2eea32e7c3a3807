// From a raw call chain to the stack that it became: most samples of a running program repeat one that was seen before.
//
// A chain is known by 128 bits of a hash whose seeds are drawn when the cache is made: that two of a full cache share
// them has a chance below 10^-27, and nobody can look for such chains. Memory is taken once; a full cache is emptied
// and filled anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "target-collector/process/zeroed_array.h"

namespace perfleet {

struct CachedStack {
    StackNumber stack;
    std::uint16_t unmapped_count = 0;  // frames that were dropped on the way
    std::uint16_t truncated_count : 15 = 0;
    std::uint16_t has_unnamed : 1 = 0;  // frames of interpreted code without their names
};

class ChainCache {
public:
    explicit ChainCache(std::uint32_t entry_count_max);

    // A chain's words mean something only in its process's mappings, and with the names of the code that it made at run
    // time (0: none).
    struct Meaning {
        std::uint64_t mappings = 0;  // generations
        std::uint64_t code = 0;
    };
    struct Key {
        std::uint64_t slot_hash = 0;
        std::uint64_t check = 0;  // never 0
    };
    [[nodiscard]] Key key_of(Meaning meaning, std::span<const std::uint64_t> words) const;

    // Null when it isn't there. Valid until the next insert().
    [[nodiscard]] const CachedStack* find(Key key) const;
    void insert(Key key, const CachedStack& stack);
    void clear();

private:
    struct Entry {
        Key key;  // check 0: free
        CachedStack stack;
    };

    // The first free slot where it isn't there.
    [[nodiscard]] std::size_t slot_of(Key key) const;

    std::array<std::uint64_t, 4> seeds_;
    ZeroedArray<Entry> entries_;  // open addressing
    std::uint32_t entry_count_max_;
    std::uint32_t entry_count_ = 0;
};

}  // namespace perfleet
