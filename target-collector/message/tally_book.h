// The cumulative counts of a session, by (series, name). Sorted, so that equal books give equal bytes.
//
// Freestanding; in memory of fixed size; what doesn't fit is added to the entry of the same name of (kTask, kNoEvent),
// so that no count is ever lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/kind.h"

namespace perfleet {

// Where counts go that have no room of their own.
inline constexpr Series kOverflowSeries{Kind::kTask, kNoEvent};

class TallyTable {
public:
    // Kept free for (kTask, kNoEvent): one entry for each name there is.
    static constexpr std::size_t kOverflowEntriesMax = 32;

    // `memory`: more entries than kOverflowEntriesMax. Borrowed.
    explicit TallyTable(std::span<Tally> memory);
    TallyTable(const TallyTable&) = delete;
    TallyTable& operator=(const TallyTable&) = delete;

    void add(Series series, TallyName name, std::uint64_t value);
    [[nodiscard]] std::uint64_t get(Series series, TallyName name) const;  // 0 when it never was counted
    [[nodiscard]] std::span<const Tally> entries() const { return entries_.first(count_); }
    [[nodiscard]] std::size_t entry_count_max() const { return entries_.size(); }
    void clear() { count_ = 0; }
    // Has what `other` has, and nothing else.
    void take(const TallyTable& other);

private:
    [[nodiscard]] std::size_t lower_bound(Series series, TallyName name) const;

    std::span<Tally> entries_;
    std::size_t count_ = 0;
};

// One with memory of its own: at most so many entries.
template <std::size_t kEntries>
class SizedTallyBook final : public TallyTable {
public:
    SizedTallyBook() : TallyTable{memory_} {}
    SizedTallyBook(const SizedTallyBook& other) : TallyTable{memory_} { take(other); }
    SizedTallyBook& operator=(const SizedTallyBook& other) {
        take(other);
        return *this;
    }

private:
    std::array<Tally, kEntries> memory_{};
};

// As large as a batch may carry.
using TallyBook = SizedTallyBook<limits::kTalliesMax>;

}  // namespace perfleet
