// Sums of rows by (runner, stack) during counting.
//
// One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/sum.h"
#include "storage/number/flat_table.h"

namespace perfleet {

// The weights of neighbouring rows.
struct RowWeights {
    std::span<const std::uint64_t> each;  // empty: all have the same
    std::uint64_t same = 1;
};

// Sums by (runner, stack). Uses arrays of neighbouring stacks while they fit, because neighbours occur together, then a
// hash table. If an epoch has few stacks, one array holds all of a runner's. While all rows have the same weight, as
// those of most events, only rows are counted.
class RunnerSums {
public:
    RunnerSums(std::size_t size_bytes_max, std::size_t stack_count)
        : page_shift_{page_shift_of(size_bytes_max, stack_count)},
          page_count_max_{size_bytes_max / page_size_bytes()} {}

    void add(std::uint32_t runner, std::uint32_t stack, const Sum& sum) {
        use_amounts();
        if (const Page* const page = page_of(runner, stack >> page_shift_)) {
            page->add(stack & page_mask(), sum);
        } else if (sum.rows != 0) {
            others_[std::uint64_t{runner} << 32U | stack] += sum;
        }
    }

    // Adds a row for each of the stacks. `bits`: no stack has other bits set.
    void add_all(std::uint32_t runner, std::span<const std::uint32_t> stacks, std::uint32_t bits,
                 const RowWeights& weights) {
        if (!weights.each.empty()) {
            use_amounts();
            add_each(runner, stacks, bits, [&](const Page& page, std::size_t place, std::size_t i) {
                page.add(place, Sum::of_rows(1, weights.each[i]));
            });
        } else if (has_amounts_ || (weight_ && *weight_ != weights.same)) {
            use_amounts();
            add_each(runner, stacks, bits,
                     [sum = Sum::of_rows(1, weights.same)](const Page& page, std::size_t place, std::size_t) {
                         page.add(place, sum);
                     });
        } else {
            weight_ = weights.same;
            add_each(runner, stacks, bits,
                     [](const Page& page, std::size_t place, std::size_t) { ++page.rows[place]; });
        }
        // Those without a page.
        for (const std::size_t i : rest_) {
            others_[std::uint64_t{runner} << 32U | stacks[i]] +=
                Sum::of_rows(1, weights.each.empty() ? weights.same : weights.each[i]);
        }
        rest_.clear();
    }

    // Ascending by stack; then those without an array, in any order: a stack may occur twice.
    template <class Function>
    void for_each(std::uint32_t runner, Function function) const {
        if (runner >= pages_.size()) {
            return;
        }
        const std::vector<Page>& pages = pages_[runner];
        for (std::size_t page_index = 0; page_index < pages.size(); ++page_index) {
            for (std::size_t i = 0; pages[page_index].rows && i <= page_mask(); ++i) {
                if (const Sum sum = sum_at(pages[page_index], i); sum.rows != 0) {
                    function(static_cast<std::uint32_t>((page_index << page_shift_) + i), sum);
                }
            }
        }
    }
    [[nodiscard]] const FlatTable<Sum>& others() const { return others_; }

    // An upper limit of the number of pairs with a sum.
    [[nodiscard]] std::size_t pair_count() const {
        std::size_t count = 0;
        others_.for_each([&](std::uint64_t, const Sum&) { ++count; });
        for (const std::vector<Page>& pages : pages_) {
            for (const Page& page : pages) {
                count +=
                    !page.rows
                        ? 0
                        : static_cast<std::size_t>(std::count_if(page.rows.get(), page.rows.get() + page_mask() + 1,
                                                                 [](std::uint64_t rows) { return rows != 0; }));
            }
        }
        return count;
    }

    [[nodiscard]] std::size_t size_bytes() const {
        return page_count_ * page_size_bytes() + pages_.capacity() * sizeof(std::vector<Page>) + others_.size_bytes();
    }

private:
    struct Page {
        std::unique_ptr<std::uint64_t[]> rows;
        std::unique_ptr<std::int64_t[]> amounts;  // null while all rows have the same weight

        void add(std::size_t place, const Sum& sum) const {
            Sum all{amounts[place], rows[place]};
            all += sum;
            amounts[place] = all.amount;
            rows[place] = all.rows;
        }
    };
    static constexpr std::size_t kEntrySizeBytes = sizeof(Sum);
    static constexpr unsigned kPageShiftMin = 9;  // 8 KiB
    static constexpr unsigned kPageShiftMax = 13;
    static constexpr std::size_t kWholeRunners = 256;  // whose arrays of all stacks must fit

    static unsigned page_shift_of(std::size_t size_bytes_max, std::size_t stack_count) {
        const auto shift = static_cast<unsigned>(std::bit_width(std::max<std::size_t>(stack_count, 1) - 1));
        const bool fits = shift <= kPageShiftMax && (kEntrySizeBytes << shift) <= size_bytes_max / kWholeRunners;
        return fits ? std::max(shift, kPageShiftMin) : kPageShiftMin;
    }
    [[nodiscard]] std::size_t page_size_bytes() const { return kEntrySizeBytes << page_shift_; }
    [[nodiscard]] std::size_t page_mask() const { return (std::size_t{1} << page_shift_) - 1; }

    [[nodiscard]] Sum sum_at(const Page& page, std::size_t place) const {
        return has_amounts_ ? Sum{page.amounts[place], page.rows[place]}
                            : Sum::of_rows(page.rows[place], weight_.value_or(1));
    }

    // From here on each page has amounts.
    void use_amounts() {
        if (has_amounts_) {
            return;
        }
        for (std::vector<Page>& pages : pages_) {
            for (Page& page : pages) {
                if (page.rows) {
                    page.amounts = std::make_unique<std::int64_t[]>(page_mask() + 1);
                    for (std::size_t i = 0; i <= page_mask(); ++i) {
                        page.amounts[i] = sum_at(page, i).amount;
                    }
                }
            }
        }
        has_amounts_ = true;
    }

    // Null if there is no page and no memory for one.
    const Page* page_of(std::uint32_t runner, std::size_t page_index) {
        if (runner >= pages_.size()) {
            pages_.resize(runner + 1);
        }
        std::vector<Page>& pages = pages_[runner];
        if (page_index >= pages.size() || !pages[page_index].rows) {
            if (page_count_ == page_count_max_) {
                return nullptr;
            }
            pages.resize(std::max(pages.size(), page_index + 1));
            pages[page_index].rows = std::make_unique<std::uint64_t[]>(page_mask() + 1);
            if (has_amounts_) {
                pages[page_index].amounts = std::make_unique<std::int64_t[]>(page_mask() + 1);
            }
            ++page_count_;
        }
        return &pages[page_index];
    }

    // Calls add_row(page, place in it, i) for each stack that has a page; others go to rest_.
    template <class AddRow>
    void add_each(std::uint32_t runner, std::span<const std::uint32_t> stacks, std::uint32_t bits, AddRow add_row) {
        if (bits >> page_shift_ == 0) {
            if (const Page* const page = page_of(runner, 0)) {
                for (std::size_t i = 0; i < stacks.size(); ++i) {
                    add_row(*page, stacks[i], i);
                }
                return;
            }
        }
        for (std::size_t i = 0; i < stacks.size(); ++i) {
            if (runner < pages_.size()) {
                // As long as there is a page for each.
                const std::span<const Page> pages{pages_[runner]};
                for (; i < stacks.size(); ++i) {
                    const std::size_t page_index = stacks[i] >> page_shift_;
                    if (page_index >= pages.size() || !pages[page_index].rows) {
                        break;
                    }
                    add_row(pages[page_index], stacks[i] & page_mask(), i);
                }
            }
            if (i < stacks.size()) {
                if (const Page* const page = page_of(runner, stacks[i] >> page_shift_)) {
                    add_row(*page, stacks[i] & page_mask(), i);
                } else {
                    rest_.push_back(i);
                }
            }
        }
    }

    unsigned page_shift_;
    std::size_t page_count_max_;
    std::vector<std::vector<Page>> pages_;
    std::size_t page_count_ = 0;
    bool has_amounts_ = false;
    std::optional<std::uint64_t> weight_;  // of all rows so far, unless has_amounts_
    std::vector<std::size_t> rest_;        // rows of an add_all() without a page
    FlatTable<Sum> others_;
};

}  // namespace perfleet
