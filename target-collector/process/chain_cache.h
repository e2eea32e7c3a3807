// Maps a raw call chain to its stack number: most samples of a running program repeat an earlier chain.
//
// The key is a 128-bit hash with random seeds for each cache: a collision in a full cache has a probability below
// 10^-27, and can't be provoked. Memory is allocated once; a full cache is cleared.
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
    std::uint16_t unmapped_count = 0;  // frames that were dropped
    std::uint16_t truncated_count : 15 = 0;
    std::uint16_t has_unnamed : 1 = 0;  // has frames of interpreted code without names
};

class ChainCache {
public:
    explicit ChainCache(std::uint32_t entry_count_max);

    // A chain's words are only valid for its process's mappings, and for the names of its JIT code (0: none).
    struct Meaning {
        std::uint64_t mappings = 0;  // generations
        std::uint64_t code = 0;
    };
    struct Key {
        std::uint64_t slot_hash = 0;
        std::uint64_t check = 0;  // never 0
    };
    [[nodiscard]] Key key_of(Meaning meaning, std::span<const std::uint64_t> words) const;

    // Null if it isn't cached. Valid until the next insert().
    [[nodiscard]] const CachedStack* find(Key key) const;
    void insert(Key key, const CachedStack& stack);
    void clear();

private:
    struct Entry {
        Key key;  // check 0: free
        CachedStack stack;
    };

    // The key's slot, or the first free one.
    [[nodiscard]] std::size_t slot_of(Key key) const;

    std::array<std::uint64_t, 4> seeds_;
    ZeroedArray<Entry> entries_;  // open addressing
    std::uint32_t entry_count_max_;
    std::uint32_t entry_count_ = 0;
};

}  // namespace perfleet
