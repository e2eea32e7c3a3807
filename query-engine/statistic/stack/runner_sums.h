// Sums of rows by (runner, stack) during counting.
//
// One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/number/flat_table.h"

namespace perfleet {

// Sums by (runner, stack). Uses arrays of neighbouring stacks while they fit, because neighbours occur together, then a
// hash table. If an epoch has few stacks, one array holds all of a runner's.
class RunnerSums {
public:
    RunnerSums(std::size_t size_bytes_max, std::size_t stack_count)
        : page_shift_{page_shift_of(size_bytes_max, stack_count)},
          page_count_max_{size_bytes_max / page_size_bytes()} {}

    void add(std::uint32_t runner, std::uint32_t stack, std::uint64_t value) {
        if (std::uint64_t* page = page_of(runner, stack >> page_shift_)) {
            page[stack & page_mask()] += value;
        } else if (value != 0) {
            others_[std::uint64_t{runner} << 32U | stack] += value;
        }
    }

    // Calls add() for each of the stacks, with its weight, or 1 if `weights` is empty. `bits`: no stack has other bits
    // set.
    void add_all(std::uint32_t runner, std::span<const std::uint32_t> stacks, std::uint32_t bits,
                 std::span<const std::uint64_t> weights) {
        if (weights.empty()) {
            add_each(runner, stacks, bits, [](std::size_t) { return std::uint64_t{1}; });
        } else {
            add_each(runner, stacks, bits, [weights](std::size_t i) { return weights[i]; });
        }
    }

    // Ascending by stack; then those without an array, in any order: a stack may occur twice.
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
            for (std::size_t i = 0; i <= page_mask(); ++i) {
                if (const std::uint64_t value = pages[page_index][i]; value != 0) {
                    function(static_cast<std::uint32_t>((page_index << page_shift_) + i), value);
                }
            }
        }
    }
    [[nodiscard]] const FlatTable<std::uint64_t>& others() const { return others_; }

    // An upper limit of the number of pairs with a sum.
    [[nodiscard]] std::size_t pair_count() const {
        std::size_t count = 0;
        others_.for_each([&](std::uint64_t, std::uint64_t) { ++count; });
        for (const std::vector<Page>& pages : pages_) {
            for (const Page& page : pages) {
                count += page == nullptr
                             ? 0
                             : static_cast<std::size_t>(std::count_if(page.get(), page.get() + page_mask() + 1,
                                                                      [](std::uint64_t value) { return value != 0; }));
            }
        }
        return count;
    }

    [[nodiscard]] std::size_t size_bytes() const {
        return page_count_ * page_size_bytes() + pages_.capacity() * sizeof(std::vector<Page>) + others_.size_bytes();
    }

private:
    using Page = std::unique_ptr<std::uint64_t[]>;
    static constexpr unsigned kPageShiftMin = 9;  // 4 KiB
    static constexpr unsigned kPageShiftMax = 13;
    static constexpr std::size_t kWholeRunners = 256;  // whose arrays of all stacks must fit

    static unsigned page_shift_of(std::size_t size_bytes_max, std::size_t stack_count) {
        const auto shift = static_cast<unsigned>(std::bit_width(std::max<std::size_t>(stack_count, 1) - 1));
        const bool fits = shift <= kPageShiftMax && (sizeof(std::uint64_t) << shift) <= size_bytes_max / kWholeRunners;
        return fits ? std::max(shift, kPageShiftMin) : kPageShiftMin;
    }
    [[nodiscard]] std::size_t page_size_bytes() const { return sizeof(std::uint64_t) << page_shift_; }
    [[nodiscard]] std::size_t page_mask() const { return (std::size_t{1} << page_shift_) - 1; }

    // Null if there is no page and no memory for one.
    std::uint64_t* page_of(std::uint32_t runner, std::size_t page_index) {
        if (runner >= pages_.size()) {
            pages_.resize(runner + 1);
        }
        std::vector<Page>& pages = pages_[runner];
        if (page_index >= pages.size() || pages[page_index] == nullptr) {
            if (page_count_ == page_count_max_) {
                return nullptr;
            }
            pages.resize(std::max(pages.size(), page_index + 1));
            pages[page_index] = std::make_unique<std::uint64_t[]>(page_mask() + 1);
            ++page_count_;
        }
        return pages[page_index].get();
    }

    template <class ValueOf>
    void add_each(std::uint32_t runner, std::span<const std::uint32_t> stacks, std::uint32_t bits, ValueOf value_of) {
        if (bits >> page_shift_ == 0) {
            if (std::uint64_t* page = page_of(runner, 0)) {
                for (std::size_t i = 0; i < stacks.size(); ++i) {
                    page[stacks[i]] += value_of(i);
                }
                return;
            }
        }
        for (std::size_t i = 0; i < stacks.size(); ++i) {
            if (runner < pages_.size()) {
                // As long as there is a page for each.
                const std::span<Page> pages{pages_[runner]};
                for (; i < stacks.size(); ++i) {
                    const std::size_t page_index = stacks[i] >> page_shift_;
                    if (page_index >= pages.size() || pages[page_index] == nullptr) {
                        break;
                    }
                    pages[page_index][stacks[i] & page_mask()] += value_of(i);
                }
            }
            if (i < stacks.size()) {
                add(runner, stacks[i], value_of(i));
            }
        }
    }

    unsigned page_shift_;
    std::size_t page_count_max_;
    std::vector<std::vector<Page>> pages_;
    std::size_t page_count_ = 0;
    FlatTable<std::uint64_t> others_;
};

}  // namespace perfleet
