#include "target-collector/intake/perf-data/record_order.h"

#include <algorithm>
#include <cstring>

namespace perfleet {

void RecordOrder::add(const RecordBytes& record, std::uint64_t time) {
    is_sorted_ = is_sorted_ && (entries_.empty() || entries_.back().time <= time);
    entries_.push_back({time, record.file_offset, bytes_.size(), record.type, record.misc,
                        static_cast<std::uint16_t>(record.bytes.size())});
    bytes_.insert(bytes_.end(), record.bytes.begin(), record.bytes.end());
    newest_ = std::max(newest_, time);
}

void RecordOrder::sort() {
    if (!is_sorted_) {
        // Each CPU's records are already sorted; of equal times the first in the file comes first.
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.time < b.time; });
        is_sorted_ = true;
    }
}

void RecordOrder::keep_from(std::size_t first) {
    if (first == 0) {
        return;
    }
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first));
    // In file order, so that each moves to the front without touching those after it.
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
    std::size_t end = 0;
    for (Entry& entry : entries_) {
        std::memmove(bytes_.data() + end, bytes_.data() + entry.at, entry.size_bytes);
        entry.at = end;
        end += entry.size_bytes;
    }
    bytes_.resize(end);
    is_sorted_ = entries_.empty();
}

}  // namespace perfleet
