// Arithmetic of seL4's tracepoint pairs: which START and STOP make an entry, the overhead of a pair, and measurements
// corrected for it.
//
// Pure functions and plain values. Times are cycles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace perfleet {

struct TracepointEntry {
    std::uint64_t key = 0;
    std::uint64_t duration = 0;

    friend bool operator==(const TracepointEntry&, const TracepointEntry&) = default;
};

// Pairs events as the kernel does: a STOP makes an entry only if its key was started since its last STOP; a repeated
// START restarts it. Entries are in the order of their STOPs, even if pairs are nested or interleaved.
class TracepointLog {
public:
    void start(std::uint64_t key, std::uint64_t time) { started_[key] = time; }
    void stop(std::uint64_t key, std::uint64_t time) {
        if (const auto started = started_.find(key); started != started_.end()) {
            entries_.push_back({key, time - started->second});
            started_.erase(started);
        }
    }
    [[nodiscard]] std::span<const TracepointEntry> entries() const { return entries_; }

private:
    std::map<std::uint64_t, std::uint64_t> started_;
    std::vector<TracepointEntry> entries_;
};

// From nested empty pairs: `effective` is what a pair adds to its own measurement (the inner pair's value), `total`
// what it adds to the program around it (outer − inner).
struct PairOverhead {
    long double effective = 0;
    long double total = 0;
};

// Corrects a measurement with `inner_pairs` complete pairs inside it: raw − effective − inner pairs × total. May be
// below 0 if the overhead exceeds the measurement; callers show it as it is.
[[nodiscard]] constexpr long double corrected(long double raw, const PairOverhead& overhead,
                                              std::uint64_t inner_pairs) {
    return raw - overhead.effective - static_cast<long double>(inner_pairs) * overhead.total;
}

// A pair with its times.
struct TimedPair {
    std::uint64_t thread = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool is_outer = false;
    std::uint64_t duration = 0;
};

// How many inner pairs of its thread lie within each outer pair; outer pairs are in the order of (thread, end). Sorts
// `pairs`.
[[nodiscard]] inline std::vector<std::uint64_t> pairs_within(std::vector<TimedPair>& pairs) {
    std::sort(pairs.begin(), pairs.end(), [](const TimedPair& a, const TimedPair& b) {
        return std::tie(a.thread, a.end, a.is_outer) < std::tie(b.thread, b.end, b.is_outer);
    });
    std::vector<std::pair<std::uint64_t, std::uint64_t>> begins;  // thread, begin
    for (const TimedPair& pair : pairs) {
        begins.emplace_back(pair.thread, pair.begin);
    }
    std::sort(begins.begin(), begins.end());
    // Counts inner pairs that ended so far by the rank of their begin: a Fenwick tree.
    std::vector<std::uint64_t> tree(pairs.size() + 1);
    std::vector<std::uint64_t> within;
    std::uint64_t ended = 0;
    for (const TimedPair& pair : pairs) {
        auto rank = static_cast<std::size_t>(
            std::lower_bound(begins.begin(), begins.end(), std::pair{pair.thread, pair.begin}) - begins.begin());
        if (pair.is_outer) {
            std::uint64_t before = 0;  // began before this one, or in another thread
            for (; rank > 0; rank -= rank & -rank) {
                before += tree[rank];
            }
            within.push_back(ended - before);
        } else {
            ++ended;
            for (++rank; rank < tree.size(); rank += rank & -rank) {
                ++tree[rank];
            }
        }
    }
    return within;
}

// Sums paths that were measured in parts: a path begins with an entry of `keys.front()`, and entries of the other keys
// are added to it. Ignores entries of other keys and parts before the first path.
[[nodiscard]] inline std::vector<std::uint64_t> combined_paths(std::span<const TracepointEntry> entries,
                                                               std::span<const std::uint64_t> keys) {
    std::vector<std::uint64_t> paths;
    for (const TracepointEntry& entry : entries) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (entry.key == keys[i] && i == 0) {
                paths.push_back(entry.duration);
            } else if (entry.key == keys[i] && !paths.empty()) {
                paths.back() += entry.duration;
            }
        }
    }
    return paths;
}

}  // namespace perfleet
