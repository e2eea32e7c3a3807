// Names the frames of call chains: one number for each (symbol, image), the same in all epochs.
//
// The frames of an epoch are sorted by image and offset and named in that order, with the image's symbols at hand.
// Several threads name images; results don't depend on it. Addresses without a symbol are named by the start of their
// function, `[image+0xstart]`, if an unwind table gives it, else `[image]`. With kAddresses each such address has a
// name, which stays a number until it is read: profiles of programs without symbols have very many.
//
// One thread. Borrows the symbolizer and the query's memory.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/number/flat_table.h"

namespace perfleet {

// Numbers texts, from 0.
class TextNumbers : NonCopyable {
public:
    std::uint32_t number_of(const std::string& text);
    // The reference stays valid when texts are added.
    [[nodiscard]] const std::string& text(std::uint32_t number) const { return *texts_[number]; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

private:
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<const std::string*> texts_;  // keys of numbers_
    std::size_t size_bytes_ = 0;             // of memory, about
};

// Numbers the names of symbols. Equal texts have one number, whether they come from a symbol or from an image's name
// and an offset.
class SymbolNumbers {
public:
    // Borrows the images' names.
    explicit SymbolNumbers(TextNumbers& images) : images_{images} {}

    std::uint32_t number_of(const std::string& text);
    // The number of Symbolizer::place_name().
    std::uint32_t number_of(std::uint32_t image, std::uint64_t offset);
    // Whether `number` is number_of(image, some offset). Indices of such numbers count from 0.
    [[nodiscard]] bool is_place_in(std::uint32_t number, std::uint32_t image) const {
        return (number & kPlaceBit) != 0 && places_[place_index(number)].image == image;
    }
    [[nodiscard]] static std::uint32_t place_index(std::uint32_t number) { return number & ~kPlaceBit; }
    [[nodiscard]] std::string text(std::uint32_t number) const;
    // Orders by text.
    [[nodiscard]] std::strong_ordering compare(std::uint32_t a, std::uint32_t b) const;
    [[nodiscard]] std::size_t size_bytes() const;  // of memory, about

private:
    static constexpr std::uint32_t kPlaceBit = 1U << 31;  // of a number: the rest is one of places_
    struct Place {
        std::uint64_t offset = 0;
        std::uint32_t image = 0;
    };

    TextNumbers& images_;
    TextNumbers texts_;
    std::vector<Place> places_;
    std::deque<FlatTable<std::uint32_t>> place_numbers_;  // by image, then by offset: 1 + the place's
};

struct FrameName {
    std::uint32_t symbol = 0;  // of FrameNames::symbols() and images()
    std::uint32_t image = 0;
};

// The name of a function in all builds: symbol tables of Go have `NAME.abi0` where what strip leaves has `NAME`.
[[nodiscard]] std::string comparable_name(const std::string& symbol);

class FrameNames : NonCopyable {
public:
    enum class Wanted : std::uint8_t {
        kSymbols,      // without a symbol: the function, `[image+0xstart]`, if it is known, else `[image]`
        kComparable,   // comparable_name(); without a symbol: `[image]`, because functions of other builds start
                       // elsewhere
        kAddresses,    // without a symbol: each address has a name, `image+0xoffset`
        kImagesAlone,  // reads no ELF file; all symbols are one
    };

    [[nodiscard]] static Wanted wanted(bool each_address) {
        return each_address ? Wanted::kAddresses : Wanted::kSymbols;
    }

    FrameNames(Symbolizer& symbolizer, const QueryMemory& memory, unsigned worker_count,
               Wanted wanted = Wanted::kSymbols)
        : symbolizer_{symbolizer}, memory_{memory}, worker_count_{worker_count}, wanted_{wanted} {}

    // Names all frames of these call chains. number_of() then refers to nodes of this epoch.
    void name_epoch(const EpochDictionary& dictionary, std::span<const StackCount> counts);

    // The number of a node of these chains, from 0; one number for each pair of symbol and image.
    [[nodiscard]] std::uint32_t number_of(StackNumber node) const { return node_numbers_[node.value]; }
    [[nodiscard]] FrameName name(std::uint32_t number) const { return names_[number]; }
    [[nodiscard]] FrameName name_of(StackNumber node) const { return names_[number_of(node)]; }
    [[nodiscard]] std::size_t name_count() const { return names_.size(); }

    // Adds a warning that names images without symbols and what to do about it, unless they hold few of the named
    // samples. With HintAt::kAddresses it also mentions `--addresses`.
    enum class HintAt : std::uint8_t { kAddresses, kNoAddresses };
    void add_hint(HintAt at, std::vector<std::string>& warnings) const;

    [[nodiscard]] const SymbolNumbers& symbols() const { return symbols_; }
    [[nodiscard]] const TextNumbers& images() const { return images_; }
    [[nodiscard]] std::size_t size_bytes() const;  // of memory, about

private:
    // Nodes whose frames lie in one image and share the upper half of their offsets.
    struct Group {
        ImageNumber image;
        std::uint32_t offset_high = 0;
        std::vector<std::uint32_t> nodes;
    };
    // The names of a group's frames.
    struct NamedGroup {
        const Group* group = nullptr;
        std::vector<std::uint64_t> frames;  // lower half of the offset, then the node; ascending
        std::vector<SymbolRun> runs;
    };

    [[nodiscard]] std::vector<Group> groups_of(const EpochDictionary& dictionary, std::span<const StackCount> counts);
    [[nodiscard]] NamedGroup named(const EpochDictionary& dictionary, const Group& group) const;
    void take(const EpochDictionary& dictionary, const NamedGroup& named);
    [[nodiscard]] std::uint32_t number_of(FrameName name);
    [[nodiscard]] std::uint32_t nameless_number_of(FrameName name, const ImageDefinition& image);
    void count_nameless(std::span<const StackCount> counts);

    // Samples at addresses without a symbol, by image name.
    struct Nameless {
        std::string build_id;  // raw; empty: none, or it isn't the only one
        bool has_file = false;
        std::uint64_t row_count = 0;
        std::set<std::string> missing;  // names of images whose files aren't here
    };

    Symbolizer& symbolizer_;
    const QueryMemory& memory_;
    unsigned worker_count_;
    Wanted wanted_;
    TextNumbers images_;
    SymbolNumbers symbols_{images_};
    std::vector<FrameName> names_;
    std::vector<std::uint32_t> place_names_;  // of places in their own image, by index: 1 + the name's number
    FlatTable<std::uint32_t> name_numbers_;   // of others, by (symbol, image): 1 + the name's
    std::vector<std::uint32_t> node_numbers_;
    std::vector<bool> is_nameless_;               // by the name's number; false at the end is left out
    std::map<std::uint32_t, Nameless> nameless_;  // by the image's number
    std::uint64_t row_count_ = 0;
};

}  // namespace perfleet
