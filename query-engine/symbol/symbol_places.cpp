#include "query-engine/symbol/symbol_places.h"

#include <algorithm>
#include <memory_resource>
#include <span>
#include <utility>

namespace perfleet {
namespace {

constexpr std::uint64_t kPageSizeBytes = 4'096;

}  // namespace

// Inserts and erases places as perf does, so that the tree has the same shape as perf's.
class SymbolPlaces::Finder::Tree {
public:
    // `sorted` are the remaining places.
    Tree(const SymbolPlaces& places, std::span<const std::uint32_t> sorted) : places_{places.places_} {
        inserted_.reserve(places_.size());
        next_.resize(places_.size());
        previous_.resize(places_.size());
        std::size_t dropped_count = 0;
        for (const ResolvedTable& resolved : places.resolved_) {
            insert(resolved.sorted, resolved.place_count);
            for (; dropped_count < resolved.dropped_count; ++dropped_count) {
                nodes_.erase(inserted_[places.dropped_[dropped_count]]);
            }
        }
        insert(sorted, places_.size());
    }

    [[nodiscard]] const SymbolPlace* find(std::uint64_t address) const {
        const Probe probe{address};
        static_cast<void>(nodes_.lower_bound(probe));
        return probe.hit;
    }

private:
    // A lookup: finds the first place on the way down that covers `address`.
    struct Probe {
        std::uint64_t address = 0;
        mutable const SymbolPlace* hit = nullptr;
    };

    struct ByStart {
        using is_transparent = void;  // NOLINT(readability-identifier-naming): the library asks for this name
        bool operator()(const SymbolPlace* a, const SymbolPlace* b) const { return a->start < b->start; }
        // Whether the lookup continues to the right of `place`.
        bool operator()(const SymbolPlace* place, const Probe& probe) const {
            if (probe.hit != nullptr || probe.address < place->start) {
                return false;
            }
            if (probe.address > place->end || (probe.address == place->end && probe.address != place->start)) {
                return true;
            }
            probe.hit = place;
            return false;
        }
    };

    static constexpr std::uint32_t kNone = ~0U;

    // Inserts the next places in order of arrival, up to the `count`th; `sorted` are these and those in the tree. A
    // node becomes a leaf between its neighbours, wherever its search begins: each gets its successor as a hint, from a
    // list of all places that drops the last arrivals first.
    void insert(std::span<const std::uint32_t> sorted, std::size_t count) {
        std::uint32_t last = kNone;
        for (const std::uint32_t place : sorted) {
            previous_[place] = last;
            (last == kNone ? first_ : next_[last]) = place;
            last = place;
        }
        if (last != kNone) {
            next_[last] = kNone;
        }
        for (std::size_t place = count; place-- > inserted_.size();) {
            const std::uint32_t next = next_[place];
            const std::uint32_t previous = previous_[place];
            (previous == kNone ? first_ : next_[previous]) = next;
            if (next != kNone) {
                previous_[next] = previous;
            }
        }
        while (inserted_.size() < count) {
            const std::uint32_t next = next_[inserted_.size()];
            inserted_.push_back(
                nodes_.insert(next == kNone ? nodes_.end() : inserted_[next], &places_[inserted_.size()]));
        }
    }

    using Nodes = std::pmr::multiset<const SymbolPlace*, ByStart>;

    const std::vector<SymbolPlace>& places_;
    std::pmr::monotonic_buffer_resource memory_;
    Nodes nodes_{&memory_};
    std::vector<Nodes::iterator> inserted_;  // by place, as next_ and previous_
    std::vector<std::uint32_t> next_;
    std::vector<std::uint32_t> previous_;
    std::uint32_t first_ = kNone;
};

std::vector<std::uint32_t> SymbolPlaces::sorted() const {
    const std::size_t known_count = resolved_.empty() ? 0 : resolved_.back().place_count;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> fresh;
    fresh.reserve(places_.size() - known_count);
    for (std::size_t i = known_count; i < places_.size(); ++i) {
        fresh.emplace_back(places_[i].start, static_cast<std::uint32_t>(i));
    }
    std::sort(fresh.begin(), fresh.end());
    std::vector<std::uint32_t> all;
    all.reserve(size());
    auto known = sorted_.begin();
    for (const auto& [start, place] : fresh) {
        for (; known != sorted_.end() && places_[*known].start <= start; ++known) {
            all.push_back(*known);
        }
        all.push_back(place);
    }
    all.insert(all.end(), known, sorted_.end());
    return all;
}

void SymbolPlaces::resolve(const FirstIsBetter& first_is_better) {
    std::vector<std::uint32_t> all = sorted();
    for (std::size_t i = 0; i < all.size(); ++i) {
        SymbolPlace& place = places_[all[i]];
        if (place.end == place.start) {
            place.end = i + 1 < all.size()
                            ? places_[all[i + 1]].start
                            : (place.start + kPageSizeBytes - 1) / kPageSizeBytes * kPageSizeBytes + kPageSizeBytes;
        }
    }
    sorted_.clear();
    for (const std::uint32_t next : all) {
        if (sorted_.empty() || places_[sorted_.back()].start != places_[next].start) {
            sorted_.push_back(next);
        } else if (first_is_better(places_[sorted_.back()], places_[next])) {
            dropped_.push_back(next);
        } else {
            dropped_.push_back(sorted_.back());
            sorted_.back() = next;
        }
    }
    resolved_.push_back({places_.size(), dropped_.size(), std::move(all)});
}

void SymbolPlaces::add_borders(std::vector<std::uint64_t>& borders) const {
    for (const std::uint32_t index : sorted()) {
        const SymbolPlace& place = places_[index];
        borders.push_back(place.start);
        borders.push_back(place.end > place.start ? place.end : place.start + 1);
    }
}

SymbolPlaces::Finder::Finder(const SymbolPlaces& places) : places_{places}, sorted_{places.sorted()} {
    find_overlaps();
    if (!overlaps_.empty()) {
        tree_ = std::make_unique<Tree>(places, sorted_);
    }
}

SymbolPlaces::Finder::~Finder() = default;

void SymbolPlaces::Finder::find_overlaps() {
    for (std::size_t i = 0; i < sorted_.size();) {
        const std::uint64_t first = places_.places_[sorted_[i]].start;
        std::uint64_t end = first;
        std::uint64_t last_start = first;
        std::size_t count = 0;
        for (; i < sorted_.size(); ++i, ++count) {
            const SymbolPlace& place = places_.places_[sorted_[i]];
            if (place.end < place.start) {  // beyond the last address
                overlaps_ = {{0, ~0ULL}};
                return;
            }
            if (count != 0 && place.start >= end && place.start != last_start) {
                break;
            }
            last_start = place.start;
            end = std::max({end, place.end, place.start + 1});
        }
        if (count > 1) {
            overlaps_.push_back({first, end - 1});
        }
    }
}

const SymbolPlace* SymbolPlaces::Finder::find(std::uint64_t address) {
    while (overlap_ < overlaps_.size() && overlaps_[overlap_].last < address) {
        ++overlap_;
    }
    if (overlap_ < overlaps_.size() && overlaps_[overlap_].first <= address) {
        return tree_->find(address);
    }
    while (at_ < sorted_.size() && places_.places_[sorted_[at_]].start <= address) {
        ++at_;
    }
    if (at_ == 0) {
        return nullptr;
    }
    const SymbolPlace& place = places_.places_[sorted_[at_ - 1]];
    return address < place.end || address == place.start ? &place : nullptr;
}

}  // namespace perfleet
