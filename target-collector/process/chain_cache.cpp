#include "target-collector/process/chain_cache.h"

#include <bit>
#include <cstring>

#include "target-collector/process/word_hash.h"

namespace perfleet {

ChainCache::ChainCache(std::uint32_t entry_count_max, std::uint32_t word_count_max)
    : entries_(std::bit_ceil(std::size_t{entry_count_max} * 2)),
      words_(word_count_max),
      entry_count_max_{entry_count_max} {}

ChainCache::Key ChainCache::key_of(Meaning meaning, std::span<const std::uint64_t> words) {
    return {meaning, words, hash_words(words, hash_words(meaning.mappings, meaning.code))};
}

bool ChainCache::holds(const Entry& entry, const Key& key) const {
    return entry.hash == key.hash && entry.meaning == key.meaning && entry.word_count == key.words.size() &&
           std::memcmp(words_.data() + entry.words_at, key.words.data(), key.words.size_bytes()) == 0;
}

const CachedStack* ChainCache::find(const Key& key) const {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t slot = static_cast<std::size_t>(key.hash) & mask; entries_[slot].word_count != 0;
         slot = (slot + 1) & mask) {
        if (holds(entries_[slot], key)) {
            return &entries_[slot].stack;
        }
    }
    return nullptr;
}

void ChainCache::insert(const Key& key, const CachedStack& stack) {
    if (key.words.empty() || key.words.size() > words_.size()) {
        return;
    }
    if (entry_count_ == entry_count_max_ || key.words.size() > words_.size() - words_used_) {
        clear();
    }
    const std::size_t mask = entries_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(key.hash) & mask;
    while (entries_[slot].word_count != 0) {
        slot = (slot + 1) & mask;
    }
    std::memcpy(words_.data() + words_used_, key.words.data(), key.words.size_bytes());
    entries_[slot] = {key.hash, key.meaning, words_used_, static_cast<std::uint32_t>(key.words.size()), stack};
    words_used_ += static_cast<std::uint32_t>(key.words.size());
    ++entry_count_;
}

void ChainCache::clear() {
    entries_.clear();
    entry_count_ = 0;
    words_used_ = 0;
}

}  // namespace perfleet
