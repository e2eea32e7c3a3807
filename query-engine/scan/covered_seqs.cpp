#include "query-engine/scan/covered_seqs.h"

#include <iterator>

namespace perfleet {

Side side_of(Ticks first, Ticks last, TickRange range) {
    if (first >= range.first && last < range.second) {
        return Side::kInside;
    }
    return last >= range.first && first < range.second ? Side::kAcross : Side::kOutside;
}

void CoveredSeqs::add(std::span<const SeqRange> seqs) {
    for (const SeqRange& range : seqs) {
        ranges_[range.first] = range.last;
    }
}

bool CoveredSeqs::has_any_of(const SeqRange& range) const {
    const auto behind = ranges_.upper_bound(range.last);
    return behind != ranges_.begin() && std::prev(behind)->second >= range.first;
}

}  // namespace perfleet
