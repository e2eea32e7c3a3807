#include "query-engine/statistic/number/operation_times.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace perfleet {

OperationTimes::OperationTimes(std::span<const Operation> operations) {
    struct Change {
        std::uint64_t ticks = 0;
        bool is_end = false;
        std::uint32_t operation = 0;
    };
    std::vector<Change> changes;
    changes.reserve(2 * operations.size());
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
        changes.push_back({operations[i].start, false, i});
        if (operations[i].end != ~0ULL) {
            changes.push_back({operations[i].end + 1, true, i});
        }
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return std::tie(a.ticks, a.operation, a.is_end) < std::tie(b.ticks, b.operation, b.is_end);
    });
    const auto comes_first = [&](std::uint32_t a, std::uint32_t b) {
        const auto rank = [&](std::uint32_t i) {
            return std::tuple{!operations[i].is_slow, operations[i].end - operations[i].start, i};
        };
        return rank(a) < rank(b);
    };
    std::set<std::uint32_t, decltype(comes_first)> running{comes_first};
    for (std::size_t i = 0; i < changes.size();) {
        const std::uint64_t ticks = changes[i].ticks;
        for (; i < changes.size() && changes[i].ticks == ticks; ++i) {
            if (changes[i].is_end) {
                running.erase(changes[i].operation);
            } else {
                running.insert(changes[i].operation);
            }
        }
        const std::uint32_t now = running.empty() ? kNone : *running.begin();
        if (parts_.empty() || parts_.back().operation != now) {
            parts_.push_back({ticks, now});
        }
    }
}

std::optional<std::uint32_t> OperationTimes::at(std::uint64_t ticks) const {
    const auto next = std::upper_bound(parts_.begin(), parts_.end(), ticks,
                                       [](std::uint64_t value, const Part& part) { return value < part.first; });
    if (next == parts_.begin() || (next - 1)->operation == kNone) {
        return std::nullopt;
    }
    return (next - 1)->operation;
}

}  // namespace perfleet
