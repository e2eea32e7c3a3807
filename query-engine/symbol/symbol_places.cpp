#include "query-engine/symbol/symbol_places.h"

#include <algorithm>
#include <set>

namespace perfleet {
namespace {

constexpr std::uint64_t kPageSizeBytes = 4'096;

// A question to the tree: the first place on the way down that covers `address`.
struct Probe {
    std::uint64_t address = 0;
    mutable const SymbolPlace* hit = nullptr;
};

struct ByStart {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library asks for this name
    bool operator()(const SymbolPlace* a, const SymbolPlace* b) const { return a->start < b->start; }
    // Whether the way goes to the right of `place`.
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

}  // namespace

// The places inserted and erased as perf does, so that the tree has the shape of perf's.
class SymbolPlaces::Finder::Tree {
public:
    explicit Tree(const SymbolPlaces& places) {
        std::vector<Nodes::iterator> nodes;
        nodes.reserve(places.places_.size());
        const auto insert_up_to = [&](std::size_t count) {
            while (nodes.size() < count) {
                nodes.push_back(nodes_.insert(&places.places_[nodes.size()]));
            }
        };
        std::size_t dropped_count = 0;
        for (const Settled& settled : places.settled_) {
            insert_up_to(settled.place_count);
            for (; dropped_count < settled.dropped_count; ++dropped_count) {
                nodes_.erase(nodes[places.dropped_[dropped_count]]);
            }
        }
        insert_up_to(places.places_.size());
    }

    [[nodiscard]] const SymbolPlace* find(std::uint64_t address) const {
        const Probe probe{address};
        static_cast<void>(nodes_.lower_bound(probe));
        return probe.hit;
    }

private:
    using Nodes = std::multiset<const SymbolPlace*, ByStart>;
    Nodes nodes_;
};

std::vector<std::uint32_t> SymbolPlaces::sorted() const {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return places_[a].start != places_[b].start ? places_[a].start < places_[b].start : a < b;
    };
    std::vector<std::uint32_t> all = sorted_;
    all.reserve(size());
    const std::size_t known_count = settled_.empty() ? 0 : settled_.back().place_count;
    for (std::size_t i = known_count; i < places_.size(); ++i) {
        all.push_back(static_cast<std::uint32_t>(i));
    }
    const auto fresh = all.begin() + static_cast<std::ptrdiff_t>(sorted_.size());
    std::sort(fresh, all.end(), before);
    std::inplace_merge(all.begin(), fresh, all.end(), before);
    return all;
}

void SymbolPlaces::settle(const FirstIsBetter& first_is_better) {
    const std::vector<std::uint32_t> all = sorted();
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
    settled_.push_back({places_.size(), dropped_.size()});
}

void SymbolPlaces::add_borders(std::vector<std::uint64_t>& borders) const {
    for (const std::uint32_t index : sorted()) {
        const SymbolPlace& place = places_[index];
        borders.push_back(place.start);
        borders.push_back(place.end > place.start ? place.end : place.start + 1);
    }
}

SymbolPlaces::Finder::Finder(const SymbolPlaces& places) : places_{places}, sorted_{places.sorted()} {
    bool overlap = false;
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const SymbolPlace& place = places_.places_[sorted_[i]];
        const SymbolPlace* next = i + 1 < sorted_.size() ? &places_.places_[sorted_[i + 1]] : nullptr;
        overlap = overlap || place.end < place.start ||
                  (next != nullptr && (next->start == place.start || next->start < place.end));
    }
    if (overlap) {
        tree_ = std::make_unique<Tree>(places);
    }
}

SymbolPlaces::Finder::~Finder() = default;

const SymbolPlace* SymbolPlaces::Finder::find(std::uint64_t address) {
    if (tree_ != nullptr) {
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
