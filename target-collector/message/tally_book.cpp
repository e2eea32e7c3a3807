#include "target-collector/message/tally_book.h"

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr bool stands_before(const Tally& tally, Series series, TallyName name) {
    return tally.series != series ? tally.series < series : tally.name < name;
}

}  // namespace

TallyTable::TallyTable(std::span<Tally> memory) : entries_{memory} {
    PERFLEET_ASSERT(memory.size() > kOverflowEntriesMax);
}

void TallyTable::take(const TallyTable& other) {
    clear();
    for (const Tally& tally : other.entries()) {
        add(tally.series, tally.name, tally.value);
    }
}

std::size_t TallyTable::lower_bound(Series series, TallyName name) const {
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

void TallyTable::add(Series series, TallyName name, std::uint64_t value) {
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
    entries_[index] = Tally{series, name, value};
    ++count_;
}

std::uint64_t TallyTable::get(Series series, TallyName name) const {
    const std::size_t index = lower_bound(series, name);
    if (index < count_ && entries_[index].series == series && entries_[index].name == name) {
        return entries_[index].value;
    }
    return 0;
}

}  // namespace perfleet
