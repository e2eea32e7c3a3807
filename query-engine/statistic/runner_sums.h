// Sums of rows by (runner, stack) while they are counted.
//
// One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/rollup/flat_table.h"

namespace perfleet {

// Sums by (runner, stack): arrays where they fit, for neighbouring stacks are seen together, else a hash table.
class RunnerSums {
public:
    explicit RunnerSums(std::size_t size_bytes_max) : page_count_max_{size_bytes_max / sizeof(PageArray)} {}

    void add(std::uint32_t runner, std::uint32_t stack, std::uint64_t value) {
        if (runner >= pages_.size()) {
            pages_.resize(runner + 1);
        }
        std::vector<Page>& pages = pages_[runner];
        const std::size_t page_index = stack / kPageStacks;
        if (page_index >= pages.size() || pages[page_index] == nullptr) {
            if (page_count_ == page_count_max_) {
                others_[std::uint64_t{runner} << 32U | stack] += value;
                return;
            }
            pages.resize(std::max(pages.size(), page_index + 1));
            pages[page_index] = std::make_unique<PageArray>();
            ++page_count_;
        }
        (*pages[page_index])[stack % kPageStacks] += value;
    }

    // As add() for each of the stacks, with its weight, or 1 where `weights` is empty.
    void add_all(std::uint32_t runner, std::span<const std::uint64_t> stacks, std::span<const std::uint64_t> weights) {
        if (weights.empty()) {
            add_each(runner, stacks, [](std::size_t) { return std::uint64_t{1}; });
        } else {
            add_each(runner, stacks, [weights](std::size_t i) { return weights[i]; });
        }
    }

    // Ascending by stack; then, in any order, those that had no array: a stack may come twice.
    template <class Function>
    void for_each(std::uint32_t runner, Function function) const {
        if (runner >= pages_.size()) {
            return;
        }
        const std::vector<Page>& pages = pages_[runner];
        for (std::size_t page_index = 0; page_index < pages.size(); ++page_index) {
            if (pages[page_index] == nullptr) {
                continue;
            }
            for (std::size_t i = 0; i < kPageStacks; ++i) {
                if (const std::uint64_t value = (*pages[page_index])[i]; value != 0) {
                    function(static_cast<std::uint32_t>(page_index * kPageStacks + i), value);
                }
            }
        }
    }
    [[nodiscard]] const FlatTable<std::uint64_t>& others() const { return others_; }

    [[nodiscard]] std::size_t size_bytes() const {
        return page_count_ * sizeof(PageArray) + pages_.capacity() * sizeof(pages_.front()) + others_.size_bytes();
    }

private:
    static constexpr std::size_t kPageStacks = 512;  // 4 KiB
    using PageArray = std::array<std::uint64_t, kPageStacks>;
    using Page = std::unique_ptr<PageArray>;

    template <class kValueOf>
    void add_each(std::uint32_t runner, std::span<const std::uint64_t> stacks, kValueOf value_of) {
        for (std::size_t i = 0; i < stacks.size(); ++i) {
            if (runner < pages_.size()) {
                // As long as there is a page for each.
                const std::span<Page> pages{pages_[runner]};
                for (; i < stacks.size(); ++i) {
                    const std::size_t page_index = stacks[i] / kPageStacks;
                    if (page_index >= pages.size() || pages[page_index] == nullptr) {
                        break;
                    }
                    (*pages[page_index])[stacks[i] % kPageStacks] += value_of(i);
                }
            }
            if (i < stacks.size() && value_of(i) != 0) {
                add(runner, static_cast<std::uint32_t>(stacks[i]), value_of(i));
            }
        }
    }

    std::size_t page_count_max_;
    std::vector<std::vector<Page>> pages_;
    std::size_t page_count_ = 0;
    FlatTable<std::uint64_t> others_;
};

}  // namespace perfleet
