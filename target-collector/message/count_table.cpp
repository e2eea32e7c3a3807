#include "target-collector/message/count_table.h"

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr bool stands_before(const CountEntry& entry, Series series, CountName name) {
    return entry.series != series ? entry.series < series : entry.name < name;
}

}  // namespace

CountTable::CountTable(std::span<CountEntry> memory) : entries_{memory} {
    PERFLEET_ASSERT(memory.size() > kOverflowEntriesMax);
}

void CountTable::take(const CountTable& other) {
    clear();
    for (const CountEntry& entry : other.entries()) {
        add(entry.series, entry.name, entry.value);
    }
}

std::size_t CountTable::lower_bound(Series series, CountName name) const {
    std::size_t begin = 0;
    std::size_t end = count_;
    while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        if (stands_before(entries_[middle], series, name)) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

void CountTable::add(Series series, CountName name, std::uint64_t value) {
    if (value == 0) {
        return;
    }
    const std::size_t index = lower_bound(series, name);
    if (index < count_ && entries_[index].series == series && entries_[index].name == name) {
        entries_[index].value += value;
        return;
    }
    if (series != kOverflowSeries && count_ >= entries_.size() - kOverflowEntriesMax) {
        add(kOverflowSeries, name, value);
        return;
    }
    PERFLEET_ASSERT(count_ < entries_.size());
    for (std::size_t i = count_; i > index; --i) {
        entries_[i] = entries_[i - 1];
    }
    entries_[index] = CountEntry{series, name, value};
    ++count_;
}

std::uint64_t CountTable::get(Series series, CountName name) const {
    const std::size_t index = lower_bound(series, name);
    if (index < count_ && entries_[index].series == series && entries_[index].name == name) {
        return entries_[index].value;
    }
    return 0;
}

}  // namespace perfleet
