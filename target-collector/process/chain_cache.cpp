#include "target-collector/process/chain_cache.h"

#include <bit>
#include <random>

#include "target-collector/process/word_hash.h"

namespace perfleet {
namespace {

std::uint64_t random_word() {
    std::random_device random;
    return std::uint64_t{random()} << 32U | random();
}

}  // namespace

ChainCache::ChainCache(std::uint32_t entry_count_max)
    : seeds_{random_word(), random_word(), random_word(), random_word()},
      entries_(std::bit_ceil(std::size_t{entry_count_max} * 2)),
      entry_count_max_{entry_count_max} {}

ChainCache::Key ChainCache::key_of(Meaning meaning, std::span<const std::uint64_t> words) const {
    std::uint64_t a = fold_multiply(meaning.mappings ^ seeds_[0], meaning.code ^ seeds_[2]);
    std::uint64_t b = fold_multiply(meaning.mappings ^ seeds_[1], meaning.code ^ seeds_[3]);
    const auto add = [&](std::uint64_t first, std::uint64_t second) {
        a = fold_multiply(first ^ a, second ^ seeds_[2]);
        b = fold_multiply(first ^ b, second ^ seeds_[3]);
    };
    std::size_t i = 0;
    for (; i + 2 <= words.size(); i += 2) {
        add(words[i], words[i + 1]);
    }
    add(i < words.size() ? words[i] : 0, words.size());
    return {fold_multiply(a ^ seeds_[0], seeds_[3]), fold_multiply(b ^ seeds_[1], seeds_[2]) | 1U};
}

std::size_t ChainCache::slot_of(Key key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(key.slot_hash) & mask;
    while (entries_[slot].key.check != 0 &&
           (entries_[slot].key.check != key.check || entries_[slot].key.slot_hash != key.slot_hash)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

const CachedStack* ChainCache::find(Key key) const {
    const Entry& entry = entries_[slot_of(key)];
    return entry.key.check != 0 ? &entry.stack : nullptr;
}

void ChainCache::insert(Key key, const CachedStack& stack) {
    if (entry_count_ == entry_count_max_) {
        clear();
    }
    entries_[slot_of(key)] = {key, stack};
    ++entry_count_;
}

void ChainCache::clear() {
    entries_.clear();
    entry_count_ = 0;
}

}  // namespace perfleet
