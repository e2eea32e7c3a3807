// The symbols of one image by address, while its table is built: finds the symbol that covers an address by perf's
// rules.
//
// perf keeps symbols in a red-black tree and takes the first one on the way down that covers the address, so the tree's
// shape decides between overlapping symbols. Few symbols overlap (most programs have one: `_init`, over the PLT). So
// symbols are kept in a sorted array; a tree is built in perf's order only if some overlap, and searched only there.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

struct SymbolPlace {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // after the last byte
    std::uint8_t binding = 0;
    std::uint32_t name_number = 0;
};

class SymbolPlaces : NonCopyable {
public:
    void add(SymbolPlace place) { places_.push_back(place); }
    [[nodiscard]] std::size_t size() const { return places_.size() - dropped_.size(); }

    // To be called after each symbol table. A symbol without a size then reaches up to the next one, the last one to
    // the end of the page after its own; of symbols with the same start the better one is kept.
    using FirstIsBetter = std::function<bool(const SymbolPlace& first, const SymbolPlace& second)>;
    void resolve(const FirstIsBetter& first_is_better);

    // Appends the addresses at which the covering symbol may change; in any order.
    void add_borders(std::vector<std::uint64_t>& borders) const;

    // Finds the symbols of ascending addresses. Borrows the places, which must not change meanwhile.
    class Finder : NonCopyable {
    public:
        explicit Finder(const SymbolPlaces& places);
        ~Finder();
        // Null if no symbol covers the address.
        [[nodiscard]] const SymbolPlace* find(std::uint64_t address);

    private:
        class Tree;
        // Addresses from first to last in which each place overlaps an earlier one.
        struct Overlap {
            std::uint64_t first = 0;
            std::uint64_t last = 0;
        };
        void find_overlaps();

        const SymbolPlaces& places_;
        std::vector<std::uint32_t> sorted_;
        std::size_t at_ = 0;
        std::vector<Overlap> overlaps_;  // ascending
        std::size_t overlap_ = 0;        // first one that doesn't end before the current address
        std::unique_ptr<Tree> tree_;     // null without overlaps
    };

private:
    // State after each resolve(): the numbers of places and of dropped ones so far.
    struct ResolvedTable {
        std::size_t place_count = 0;
        std::size_t dropped_count = 0;
        std::vector<std::uint32_t> sorted;  // including those that this resolve() drops
    };

    // Indices of all kept places, by start, then in the order of addition.
    [[nodiscard]] std::vector<std::uint32_t> sorted() const;

    std::vector<SymbolPlace> places_;    // in the order of addition
    std::vector<std::uint32_t> sorted_;  // of the last resolve()
    std::vector<std::uint32_t> dropped_;
    std::vector<ResolvedTable> resolved_;
};

}  // namespace perfleet
