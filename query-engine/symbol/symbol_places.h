// The symbols of one image by where they are, while its table is made: what covers an address, by perf's rules.
//
// perf keeps symbols in a red-black tree and takes the first that covers the address on the way down, so where symbols
// overlap the shape of the tree decides. Few symbols do (nearly every program has one: `_init`, over the PLT): they
// stand sorted in an array here, a tree is made of them, in the order in which perf would, only if some overlap, and
// asked only where they do.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace perfleet {

struct SymbolPlace {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // behind the last byte
    std::uint8_t binding = 0;
    std::uint32_t name_number = 0;
};

class SymbolPlaces {
public:
    SymbolPlaces() = default;
    SymbolPlaces(const SymbolPlaces&) = delete;
    SymbolPlaces& operator=(const SymbolPlaces&) = delete;

    void add(SymbolPlace place) { places_.push_back(place); }
    [[nodiscard]] std::size_t size() const { return places_.size() - dropped_.size(); }

    // After a table of symbols was added: one without a size reaches up to the next one, the last to the end of the
    // page behind its own; of those with one start the better stays.
    using FirstIsBetter = std::function<bool(const SymbolPlace& first, const SymbolPlace& second)>;
    void resolve(const FirstIsBetter& first_is_better);

    // Where what covers an address may change; in any order.
    void add_borders(std::vector<std::uint64_t>& borders) const;

    // Answers for ascending addresses. Borrows the places, which don't change meanwhile.
    class Finder {
    public:
        explicit Finder(const SymbolPlaces& places);
        ~Finder();
        Finder(const Finder&) = delete;
        Finder& operator=(const Finder&) = delete;
        // Null where nothing covers it.
        [[nodiscard]] const SymbolPlace* find(std::uint64_t address);

    private:
        class Tree;
        // Addresses from first to last, covered by places of which each overlaps one before.
        struct Overlap {
            std::uint64_t first = 0;
            std::uint64_t last = 0;
        };
        void find_overlaps();

        const SymbolPlaces& places_;
        std::vector<std::uint32_t> sorted_;
        std::size_t at_ = 0;
        std::vector<Overlap> overlaps_;  // ascending
        std::size_t overlap_ = 0;        // the first whose last isn't passed
        std::unique_ptr<Tree> tree_;     // where there are any
    };

private:
    // What was added up to then had been resolved, and so many dropped.
    struct ResolvedTable {
        std::size_t place_count = 0;
        std::size_t dropped_count = 0;
        std::vector<std::uint32_t> sorted;  // with those that this call of resolve() dropped
    };

    // Indices of all places that are left, by start; of those with one start by when they came.
    [[nodiscard]] std::vector<std::uint32_t> sorted() const;

    std::vector<SymbolPlace> places_;    // in the order in which they came
    std::vector<std::uint32_t> sorted_;  // those of the last resolve()
    std::vector<std::uint32_t> dropped_;
    std::vector<ResolvedTable> resolved_;
};

}  // namespace perfleet
