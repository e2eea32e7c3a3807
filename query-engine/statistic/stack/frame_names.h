// Names of the frames of call chains: a number for each (symbol, image), the same in all epochs.
//
// The frames of an epoch are sorted by image and offset and named in that order, beside the image's symbols; images are
// named on several threads, which can't be seen. Addresses that no symbol covers have the name of their function's
// start, `[image+0xstart]`, where an unwind table tells it, else `[image]`. Where each of them is wanted they are
// numbers until they are read: a profile of programs without symbols has more of those than of anything else.
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
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/symbol/symbolizer.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/number/flat_table.h"

namespace perfleet {

// Texts and their numbers, from 0.
class TextNumbers {
public:
    TextNumbers() = default;
    TextNumbers(const TextNumbers&) = delete;
    TextNumbers& operator=(const TextNumbers&) = delete;

    std::uint32_t number_of(const std::string& text);
    // Stays where it is.
    [[nodiscard]] const std::string& text(std::uint32_t number) const { return *texts_[number]; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

private:
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<const std::string*> texts_;  // keys of numbers_
    std::size_t size_bytes_ = 0;             // of memory, about
};

// Names of symbols and their numbers. One text has one number, whether it is a symbol's or made of an image's name and
// an offset.
class SymbolNumbers {
public:
    // Borrows the images' names.
    explicit SymbolNumbers(TextNumbers& images) : images_{images} {}

    std::uint32_t number_of(const std::string& text);
    // Of Symbolizer::place_name().
    std::uint32_t number_of(std::uint32_t image, std::uint64_t offset);
    // Whether it is number_of(image, some offset); their indices count from 0.
    [[nodiscard]] bool is_place_in(std::uint32_t number, std::uint32_t image) const {
        return (number & kPlaceBit) != 0 && places_[place_index(number)].image == image;
    }
    [[nodiscard]] static std::uint32_t place_index(std::uint32_t number) { return number & ~kPlaceBit; }
    [[nodiscard]] std::string text(std::uint32_t number) const;
    // As the texts compare.
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
    std::uint32_t symbol = 0;  // numbers of FrameNames::symbols() and images()
    std::uint32_t image = 0;
};

class FrameNames {
public:
    enum class Wanted : std::uint8_t {
        kSymbols,  // where no symbol covers an address: its function, `[image+0xstart]`, if it is known, else `[image]`
        kComparable,   // `[image]` there, for functions of other builds begin elsewhere
        kAddresses,    // each address that no symbol covers has a name of its own: `image+0xoffset`
        kImagesAlone,  // no ELF file is read, and all symbols are one
    };

    [[nodiscard]] static Wanted wanted(bool each_address) {
        return each_address ? Wanted::kAddresses : Wanted::kSymbols;
    }

    FrameNames(Symbolizer& symbolizer, const QueryMemory& memory, unsigned worker_count,
               Wanted wanted = Wanted::kSymbols)
        : symbolizer_{symbolizer}, memory_{memory}, worker_count_{worker_count}, wanted_{wanted} {}
    FrameNames(const FrameNames&) = delete;
    FrameNames& operator=(const FrameNames&) = delete;

    // Names all frames of these call chains. What is asked about nodes is about those of the last epoch.
    void name_epoch(const EpochDictionary& dictionary, std::span<const StackCount> counts);

    // Of a node of these chains: from 0, one number for each pair of symbol and image.
    [[nodiscard]] std::uint32_t number_of(StackNumber node) const { return node_numbers_[node.value]; }
    [[nodiscard]] FrameName name(std::uint32_t number) const { return names_[number]; }
    [[nodiscard]] FrameName name_of(StackNumber node) const { return names_[number_of(node)]; }
    [[nodiscard]] std::size_t name_count() const { return names_.size(); }

    // One line that names the images whose symbols are missing, and the way out, unless that concerns few of the
    // samples that were named. Where `--addresses` would show each address it says so.
    enum class HintAt : std::uint8_t { kAddresses, kNoAddresses };
    void add_hint(HintAt at, std::vector<std::string>& warnings) const;

    [[nodiscard]] const SymbolNumbers& symbols() const { return symbols_; }
    [[nodiscard]] const TextNumbers& images() const { return images_; }
    [[nodiscard]] std::size_t size_bytes() const;  // of memory, about

private:
    // Nodes whose frames lie in one image, with the same upper half of their offsets.
    struct Group {
        ImageNumber image;
        std::uint32_t offset_high = 0;
        std::vector<std::uint32_t> nodes;
    };
    // What they are called.
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

    // Samples in addresses that no symbol covers, of one name of an image.
    struct Nameless {
        std::string build_id;  // raw; empty: none, or it isn't the only one
        bool has_file = false;
        std::uint64_t count = 0;
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
    std::vector<bool> is_nameless_;               // by the name's number; the last of those that aren't are left out
    std::map<std::uint32_t, Nameless> nameless_;  // by the image's number
    std::uint64_t count_ = 0;
};

}  // namespace perfleet
