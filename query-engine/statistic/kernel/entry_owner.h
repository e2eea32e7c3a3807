// Attributes the entries of a kernel's log to threads. The log names no thread, but samples of the same clock do. A
// timer wakes a collector of the highest priority, which samples, at one moment, all threads that ran since the moment
// before. An entry belongs to the collector        from a moment to the first entry in which the collector waits again,
// because no other thread can run; and the interrupt right before the moment, which woke the collector a moment
// the next moment after the entry, if it is at most kReachDistances times the median distance between moments away
// nobody               otherwise: no sample covers it
//
// Pure functions and plain values. Times are ticks of one clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace perfleet {

struct EntryMoment {
    std::uint64_t start_ticks = 0;
    bool is_interrupt = false;
    bool is_wait = false;  // a system call in which the collector blocks until it is called
};

inline constexpr std::uint32_t kOwnedByCollector = ~0U;
inline constexpr std::uint32_t kOwnedByNobody = ~0U - 1;
inline constexpr std::uint64_t kReachDistances = 2;

// The longest time, in ticks, between an entry and the next moment for the entry to belong to it. `moments` ascend
// without repetition; a single moment covers nothing.
[[nodiscard]] inline std::uint64_t reach_of(std::span<const std::uint64_t> moments) {
    if (moments.size() < 2) {
        return 0;
    }
    std::vector<std::uint64_t> distances;
    for (std::size_t i = 1; i < moments.size(); ++i) {
        distances.push_back(moments[i] - moments[i - 1]);
    }
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    return *middle > ~0ULL / kReachDistances ? ~0ULL : *middle * kReachDistances;
}

// For each entry the index of its moment, or one of the two constants above. Both lists ascend; an entry at a moment
// counts as after it.
[[nodiscard]] inline std::vector<std::uint32_t> owners_of(std::span<const EntryMoment> entries,
                                                          std::span<const std::uint64_t> moments) {
    const std::uint64_t reach = reach_of(moments);
    std::vector<std::uint32_t> owners(entries.size(), kOwnedByNobody);
    std::size_t entry = 0;
    for (std::size_t moment = 0; moment < moments.size(); ++moment) {
        const std::uint64_t from = moments[moment] - std::min(reach, moments[moment]);
        const std::size_t first = entry;
        for (; entry < entries.size() && entries[entry].start_ticks < moments[moment]; ++entry) {
            if (owners[entry] != kOwnedByCollector && entries[entry].start_ticks >= from) {
                owners[entry] = static_cast<std::uint32_t>(moment);
            }
        }
        if (entry != first && entries[entry - 1].is_interrupt) {
            owners[entry - 1] = kOwnedByCollector;
        }
        // It waits before the next moment, or it is unknown until when it ran.
        const std::uint64_t until = moment + 1 < moments.size() ? moments[moment + 1] : ~0ULL;
        std::size_t wait = entry;
        while (wait < entries.size() && entries[wait].start_ticks < until && !entries[wait].is_wait) {
            ++wait;
        }
        if (wait < entries.size() && entries[wait].start_ticks < until) {
            std::fill(owners.begin() + static_cast<std::ptrdiff_t>(entry),
                      owners.begin() + static_cast<std::ptrdiff_t>(wait) + 1, kOwnedByCollector);
        }
    }
    return owners;
}

}  // namespace perfleet
