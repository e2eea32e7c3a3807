#include "query-engine/scan/rows_left.h"

#include <algorithm>

namespace perfleet {

Side side_of(Ticks first, Ticks last, TickRange range) {
    if (first >= range.first && last < range.second) {
        return Side::kInside;
    }
    return last >= range.first && first < range.second ? Side::kAcross : Side::kOutside;
}

void RowsLeft::cover(std::span<const SeqRange> seqs, std::vector<TickRange> ranges) {
    for (const SeqRange& range : seqs) {
        covers_[range.first] = {range.last, groups_.size()};
    }
    groups_.push_back(std::move(ranges));
}

bool RowsLeft::is_covered(std::span<const SeqRange> seqs) const {
    return std::any_of(seqs.begin(), seqs.end(), [this](const SeqRange& range) {
        const auto behind = covers_.upper_bound(range.last);
        return behind != covers_.begin() && std::prev(behind)->second.last >= range.first;
    });
}

std::size_t RowsLeft::group_of(Seq seq) const {
    const auto behind = covers_.upper_bound(seq);
    return behind != covers_.begin() && std::prev(behind)->second.last >= seq ? std::prev(behind)->second.group : 0;
}

bool RowsLeft::may_have(std::size_t group, Ticks first, Ticks last) const {
    return std::any_of(groups_[group].begin(), groups_[group].end(),
                       [&](const TickRange& range) { return first < range.second && last >= range.first; });
}

}  // namespace perfleet
