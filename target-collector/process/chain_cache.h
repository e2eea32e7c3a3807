// From a raw call chain to the stack that it became: most samples of a running program repeat one that was seen before.
//
// Exact: a found entry has the same words in the same mappings, whatever their hashes. Memory is taken once; a full
// cache is emptied and filled anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "target-collector/process/zeroed_array.h"

namespace perfleet {

struct CachedStack {
    StackNumber stack;
    std::uint16_t unmapped_count = 0;  // frames that were dropped on the way
    std::uint16_t truncated_count = 0;
};

class ChainCache {
public:
    // `entry_count_max` chains with `word_count_max` words in all.
    ChainCache(std::uint32_t entry_count_max, std::uint32_t word_count_max);

    // A chain's words mean something only in its process's mappings, and with the names of the code that it made at run
    // time (0: none).
    struct Meaning {
        std::uint64_t mappings = 0;  // generations
        std::uint64_t code = 0;
        bool operator==(const Meaning&) const = default;
    };
    struct Key {
        Meaning meaning;
        std::span<const std::uint64_t> words;
        std::uint64_t hash = 0;
    };
    [[nodiscard]] static Key key_of(Meaning meaning, std::span<const std::uint64_t> words);

    // Null when it isn't there. Valid until the next insert().
    [[nodiscard]] const CachedStack* find(const Key& key) const;
    void insert(const Key& key, const CachedStack& stack);
    void clear();

private:
    struct Entry {
        std::uint64_t hash = 0;
        Meaning meaning;
        std::uint32_t words_at = 0;
        std::uint32_t word_count = 0;
        CachedStack stack;
    };

    [[nodiscard]] bool holds(const Entry& entry, const Key& key) const;

    ZeroedArray<Entry> entries_;  // open addressing; word_count 0: free, for no chain is empty
    ZeroedArray<std::uint64_t> words_;
    std::uint32_t entry_count_max_;
    std::uint32_t entry_count_ = 0;
    std::uint32_t words_used_ = 0;
};

}  // namespace perfleet
