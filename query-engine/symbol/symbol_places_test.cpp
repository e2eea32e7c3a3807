#include "query-engine/symbol/symbol_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace perfleet::symbol_places_test {
namespace {

// perf's own way, step by step: a tree from the first symbol to the last question.
class PerfTree {
public:
    void add(SymbolPlace place) { nodes_.insert({place}); }

    void resolve(const SymbolPlaces::FirstIsBetter& first_is_better) {
        for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
            SymbolPlace& place = node->place;
            if (place.end == place.start) {
                const auto next = std::next(node);
                place.end = next != nodes_.end() ? next->place.start : (place.start + 4095) / 4096 * 4096 + 4096;
            }
        }
        for (auto node = nodes_.begin(); node != nodes_.end() && std::next(node) != nodes_.end();) {
            const auto next = std::next(node);
            if (node->place.start != next->place.start) {
                node = next;
            } else if (first_is_better(node->place, next->place)) {
                nodes_.erase(next);
            } else {
                nodes_.erase(node);
                node = next;
            }
        }
    }

    [[nodiscard]] std::uint32_t find(std::uint64_t address) const {
        Probe probe{address};
        static_cast<void>(nodes_.lower_bound(probe));
        return probe.hit;
    }

    static constexpr std::uint32_t kNone = ~0U;

private:
    struct Node {
        mutable SymbolPlace place;  // its end changes, which doesn't change the order
    };
    struct Probe {
        std::uint64_t address = 0;
        mutable std::uint32_t hit = kNone;
    };
    struct ByStart {
        using is_transparent = void;  // NOLINT(readability-identifier-naming)
        bool operator()(const Node& a, const Node& b) const { return a.place.start < b.place.start; }
        bool operator()(const Node& node, const Probe& probe) const {
            if (probe.hit != kNone || probe.address < node.place.start) {
                return false;
            }
            if (probe.address > node.place.end ||
                (probe.address == node.place.end && probe.address != node.place.start)) {
                return true;
            }
            probe.hit = node.place.name_number;
            return false;
        }
    };
    std::multiset<Node, ByStart> nodes_;
};

bool first_is_better(const SymbolPlace& first, const SymbolPlace& second) {
    return first.binding != second.binding ? first.binding > second.binding
                                           : first.end - first.start >= second.end - second.start;
}

// How many addresses something covers.
std::size_t compare(std::uint32_t seed, std::uint64_t address_count, std::uint64_t size_max) {
    std::mt19937 random{seed};
    SymbolPlaces places;
    PerfTree tree;
    std::uint32_t number = 0;
    for (int table = 0; table < 3; ++table) {
        for (std::uint64_t i = random() % 120; i > 0; --i) {
            const std::uint64_t start = random() % address_count;
            const std::uint64_t size = random() % 4 == 0 ? 0 : random() % (size_max + 1);
            const SymbolPlace place{start, start + size, static_cast<std::uint8_t>(random() % 3), number++};
            places.add(place);
            tree.add(place);
        }
        if (table < 2) {  // what comes last isn't resolved, as entries of the PLT aren't
            places.resolve(first_is_better);
            tree.resolve(first_is_better);
        }
    }
    SymbolPlaces::Finder finder{places};
    std::size_t covered_count = 0;
    for (std::uint64_t address = 0; address < address_count + size_max + 2; ++address) {
        const SymbolPlace* place = finder.find(address);
        EXPECT_EQ(place == nullptr ? PerfTree::kNone : place->name_number, tree.find(address))
            << "seed " << seed << " address " << address;
        covered_count += place == nullptr ? 0 : 1;
    }
    return covered_count;
}

TEST(SymbolPlaces, AreFoundAsInPerfsTreeHoweverTheyOverlap) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        EXPECT_GT(compare(seed, 1'000, 40), 0U);
    }
}

TEST(SymbolPlaces, AreFoundAsInPerfsTreeWhereTheyStandApart) {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        EXPECT_GT(compare(seed, 40'000, 1), 0U);
    }
}

TEST(SymbolPlaces, WithoutASymbolCoverNothing) {
    SymbolPlaces places;
    SymbolPlaces::Finder finder{places};
    EXPECT_EQ(finder.find(0), nullptr);
}

}  // namespace
}  // namespace perfleet::symbol_places_test
