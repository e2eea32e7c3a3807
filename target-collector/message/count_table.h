// The cumulative counts of a session, by (series, name). Sorted, so that equal tables give equal bytes.
//
// Freestanding; in memory of fixed size. Counts without space are added to the entry with the same name of (kTask,
// kNoEvent), so that no count is lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

// The series for counts without an entry of their own.
inline constexpr Series kOverflowSeries{Kind::kTask, kNoEvent};

class CountTable : NonCopyable {
public:
    // Reserved for (kTask, kNoEvent): one entry for each name.
    static constexpr std::size_t kOverflowEntriesMax = 32;

    // `memory`: more entries than kOverflowEntriesMax. Borrowed.
    explicit CountTable(std::span<CountEntry> memory);

    void add(Series series, CountName name, std::uint64_t value);
    [[nodiscard]] std::uint64_t get(Series series, CountName name) const;  // 0 if it was never counted
    [[nodiscard]] std::span<const CountEntry> entries() const { return entries_.first(count_); }
    [[nodiscard]] std::size_t entry_count_max() const { return entries_.size(); }
    void clear() { count_ = 0; }
    // Copies the entries of `other`, replacing its own.
    void take(const CountTable& other);

private:
    [[nodiscard]] std::size_t lower_bound(Series series, CountName name) const;

    std::span<CountEntry> entries_;
    std::size_t count_ = 0;
};

// A table of `kEntries` entries with memory of its own.
template <std::size_t kEntries>
class SizedCountTable final : public CountTable {
public:
    SizedCountTable() : CountTable{memory_} {}
    SizedCountTable(const SizedCountTable& other) : CountTable{memory_} { take(other); }
    SizedCountTable& operator=(const SizedCountTable& other) {
        take(other);
        return *this;
    }

private:
    std::array<CountEntry, kEntries> memory_{};
};

// With as many entries as a batch may carry.
using SessionCounts = SizedCountTable<limits::kCountsMax>;

}  // namespace perfleet
