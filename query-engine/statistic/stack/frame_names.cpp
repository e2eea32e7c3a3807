#include "query-engine/statistic/stack/frame_names.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <tuple>
#include <utility>

#include "query-engine/scan/ordered_work.h"
#include "query-engine/statistic/stack/stack_totals.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::size_t kShortTextSizeBytes = 15;   // fit into a std::string without allocation
constexpr std::size_t kNodesForThreads = 32'768;  // fewer are named faster than threads start
constexpr std::uint32_t kNotNamed = ~0U;
constexpr std::uint32_t kToBeNamed = kNotNamed - 1;
constexpr std::uint64_t kLowHalf = 0xffff'ffff;
constexpr const char* kNoFrame = "[unknown]";

// What place_name() made of an image's name and an offset, if it could have been that.
std::optional<std::pair<std::string, std::uint64_t>> place_of(const std::string& text) {
    constexpr std::string_view kBetween{"+0x"};
    const std::size_t at = text.rfind(kBetween);
    if (at == std::string::npos) {
        return std::nullopt;
    }
    const auto offset = number_of<std::uint64_t>(std::string_view{text}.substr(at + kBetween.size()), 16);
    const std::string name = text.substr(0, at);
    return offset && Symbolizer::place_name(name, *offset) == text ? std::optional{std::pair{name, *offset}}
                                                                   : std::nullopt;
}

// Compares two numbers as their hexadecimal digits compare.
std::strong_ordering compare_digits(std::uint64_t a, std::uint64_t b) {
    const auto digits = [](std::uint64_t value) { return (std::bit_width(value | 1) + 3) / 4; };
    const auto aligned = [&](std::uint64_t value) { return value << (64 - 4 * digits(value)); };
    return aligned(a) != aligned(b) ? aligned(a) <=> aligned(b) : digits(a) <=> digits(b);
}

// Sorts by the upper half of each value; ties keep their order. A byte at a time, for there are many.
void sort_by_upper_half(std::vector<std::uint64_t>& values) {
    constexpr std::size_t kFew = 512;
    if (values.size() < kFew) {
        std::sort(values.begin(), values.end());
        return;
    }
    std::vector<std::uint64_t> sorted(values.size());
    for (unsigned shift = 32; shift < 64; shift += 8) {
        const auto byte_of = [shift](std::uint64_t value) { return value >> shift & 0xff; };
        std::array<std::size_t, 256> begins{};
        for (const std::uint64_t value : values) {
            ++begins[byte_of(value)];
        }
        if (begins[byte_of(values.front())] == values.size()) {
            continue;
        }
        std::size_t begin = 0;
        for (std::size_t& place : begins) {
            begin += std::exchange(place, begin);
        }
        for (const std::uint64_t value : values) {
            sorted[begins[byte_of(value)]++] = value;
        }
        values.swap(sorted);
    }
}

}  // namespace

std::string comparable_name(const std::string& symbol) {
    constexpr std::string_view kGoAbi{".abi0"};
    return symbol.substr(0, symbol.size() - (symbol.ends_with(kGoAbi) ? kGoAbi.size() : 0));
}

std::uint32_t TextNumbers::number_of(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
        texts_.push_back(&entry->first);
        constexpr std::size_t kEntrySizeBytes = sizeof(*entry) + 4 * sizeof(void*);
        size_bytes_ += kEntrySizeBytes + (text.capacity() > kShortTextSizeBytes ? text.size() : 0);
    }
    return entry->second;
}

std::uint32_t SymbolNumbers::number_of(const std::string& text) {
    if (const auto place = place_of(text)) {
        return number_of(images_.number_of(place->first), place->second);
    }
    return texts_.number_of(text);
}

std::uint32_t SymbolNumbers::number_of(std::uint32_t image, std::uint64_t offset) {
    if (image >= place_numbers_.size()) {
        place_numbers_.resize(std::size_t{image} + 1);
    }
    std::uint32_t& number = place_numbers_[image][offset];
    if (number == 0) {
        places_.push_back({offset, image});
        number = static_cast<std::uint32_t>(places_.size());
    }
    return kPlaceBit | (number - 1);
}

std::string SymbolNumbers::text(std::uint32_t number) const {
    if ((number & kPlaceBit) == 0) {
        return texts_.text(number);
    }
    const Place& place = places_[place_index(number)];
    return Symbolizer::place_name(images_.text(place.image), place.offset);
}

std::strong_ordering SymbolNumbers::compare(std::uint32_t a, std::uint32_t b) const {
    const bool is_text_a = (a & kPlaceBit) == 0;
    const bool is_text_b = (b & kPlaceBit) == 0;
    if (is_text_a && is_text_b) {
        return texts_.text(a) <=> texts_.text(b);
    }
    if (!is_text_a && !is_text_b) {
        const Place& first = places_[place_index(a)];
        const Place& second = places_[place_index(b)];
        if (first.image == second.image) {
            return compare_digits(first.offset, second.offset);
        }
    }
    return text(a) <=> text(b);
}

std::size_t SymbolNumbers::size_bytes() const {
    std::size_t size_bytes = texts_.size_bytes() + places_.capacity() * sizeof(Place);
    for (const FlatTable<std::uint32_t>& numbers : place_numbers_) {
        size_bytes += sizeof(numbers) + numbers.size_bytes();
    }
    return size_bytes;
}

void FrameNames::name_epoch(const EpochDictionary& dictionary, std::span<const StackCount> counts) {
    const std::vector<Group> groups = groups_of(dictionary, counts);
    std::size_t node_count = 0;
    for (const Group& group : groups) {
        node_count += group.nodes.size();
    }
    do_in_order(
        groups.size(), node_count < kNodesForThreads ? 1 : worker_count_,
        [&](std::size_t i) { return named(dictionary, groups[i]); },
        [&](const NamedGroup& group) {
            take(dictionary, group);
            return true;
        },
        [&] { return memory_.is_half_full(); });
    count_nameless(counts);
}

// Groups with the most nodes come first, so that the others are named in parallel.
std::vector<FrameNames::Group> FrameNames::groups_of(const EpochDictionary& dictionary,
                                                     std::span<const StackCount> counts) {
    StackNumber last{static_cast<std::uint32_t>(dictionary.stack_count())};
    for (const StackCount& count : counts) {
        last = std::max(last, count.stack);
    }
    node_numbers_.assign(std::size_t{last.value} + 1, kNotNamed);
    std::vector<Group> groups;
    std::vector<std::uint32_t> low_groups(dictionary.image_count(), kNotNamed);  // where the upper half is 0
    std::map<std::pair<ImageNumber, std::uint32_t>, std::uint32_t> other_groups;
    const auto group_of = [&](const Frame& frame) -> Group& {
        const auto high = static_cast<std::uint32_t>(frame.offset >> 32U);
        const bool is_low = high == 0 && frame.image.value < low_groups.size();
        std::uint32_t& number = is_low
                                    ? low_groups[frame.image.value]
                                    : other_groups.try_emplace(std::pair{frame.image, high}, kNotNamed).first->second;
        if (number == kNotNamed) {
            number = static_cast<std::uint32_t>(groups.size());
            groups.push_back({frame.image, high, {}});
        }
        return groups[number];
    };
    for (const StackCount& count : counts) {
        StackNumber node = count.stack;
        while (node != kEmptyStack && node_numbers_[node.value] == kNotNamed) {
            node_numbers_[node.value] = kToBeNamed;
            group_of(dictionary.stack(node).frame).nodes.push_back(node.value);
            node = caller_of(dictionary, node);
        }
    }
    node_numbers_[kEmptyStack.value] = number_of({symbols_.number_of(kNoFrame), images_.number_of(kNoFrame)});
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.nodes.size() != b.nodes.size() ? a.nodes.size() > b.nodes.size()
                                                : std::pair{a.image, a.offset_high} < std::pair{b.image, b.offset_high};
    });
    return groups;
}

FrameNames::NamedGroup FrameNames::named(const EpochDictionary& dictionary, const Group& group) const {
    NamedGroup named;
    named.group = &group;
    if (wanted_ == Wanted::kImagesAlone) {
        return named;
    }
    named.frames.reserve(group.nodes.size());
    for (const std::uint32_t node : group.nodes) {
        named.frames.push_back(dictionary.stack(StackNumber{node}).frame.offset << 32U | node);
    }
    sort_by_upper_half(named.frames);
    std::vector<std::uint64_t> offsets;
    offsets.reserve(named.frames.size());
    for (const std::uint64_t frame : named.frames) {
        offsets.push_back(std::uint64_t{group.offset_high} << 32U | frame >> 32U);
    }
    symbolizer_.resolve_all(dictionary.image(group.image), offsets,
                            [&](SymbolRun run) { named.runs.push_back(std::move(run)); });
    return named;
}

void FrameNames::take(const EpochDictionary& dictionary, const NamedGroup& named) {
    const Group& group = *named.group;
    const std::uint32_t image = images_.number_of(Symbolizer::image_display_name(dictionary.image(group.image)));
    if (wanted_ == Wanted::kImagesAlone) {
        const std::uint32_t number = number_of({symbols_.number_of(kNoFrame), image});
        for (const std::uint32_t node : group.nodes) {
            node_numbers_[node] = number;
        }
        return;
    }
    const ImageDefinition& definition = dictionary.image(group.image);
    auto frame = named.frames.begin();
    for (const SymbolRun& run : named.runs) {
        const auto end = frame + static_cast<std::ptrdiff_t>(run.offset_count);
        const bool has_addresses = run.is_place && wanted_ == Wanted::kAddresses;
        std::uint32_t number =
            has_addresses ? kNotNamed
            : run.is_place
                ? nameless_number_of({symbols_.number_of(Symbolizer::nameless_text(
                                          run.name, wanted_ == Wanted::kSymbols ? run.function_offset : std::nullopt)),
                                      image},
                                     definition)
                : number_of({symbols_.number_of(wanted_ == Wanted::kComparable ? comparable_name(run.name) : run.name),
                             image});
        std::uint64_t last_offset = ~0ULL;
        for (; frame != end; ++frame) {
            const std::uint64_t offset = std::uint64_t{group.offset_high} << 32U | *frame >> 32U;
            if (has_addresses && (number == kNotNamed || offset != last_offset)) {
                number = nameless_number_of({symbols_.number_of(image, offset), image}, definition);
                last_offset = offset;
            }
            node_numbers_[*frame & kLowHalf] = number;
        }
    }
}

std::uint32_t FrameNames::number_of(FrameName name) {
    const bool is_place = symbols_.is_place_in(name.symbol, name.image);
    const std::uint32_t index = SymbolNumbers::place_index(name.symbol);
    if (is_place && index >= place_names_.size()) {
        place_names_.resize(std::size_t{index} + 1);
    }
    std::uint32_t& number =
        is_place ? place_names_[index] : name_numbers_[std::uint64_t{name.symbol} << 32U | name.image];
    if (number == 0) {
        names_.push_back(name);
        number = static_cast<std::uint32_t>(names_.size());
    }
    return number - 1;
}

std::uint32_t FrameNames::nameless_number_of(FrameName name, const ImageDefinition& image) {
    const std::uint32_t number = number_of(name);
    if (number >= is_nameless_.size()) {
        is_nameless_.resize(std::size_t{number} + 1);
    }
    is_nameless_[number] = true;
    const bool has_file = image.name.starts_with('/') && !is_kernel_module(image);
    const auto [entry, is_new] = nameless_.try_emplace(name.image);
    if (is_new) {
        entry->second = {std::string{build_id_of(image)}, has_file, 0, {}};
    } else if (entry->second.build_id != build_id_of(image)) {
        entry->second.build_id.clear();
    }
    if (symbolizer_.is_missing(image)) {
        entry->second.missing.insert(image.name);
    }
    return number;
}

void FrameNames::count_nameless(std::span<const StackCount> counts) {
    for (const StackCount& count : counts) {
        row_count_ += count.sum.rows;
        const std::uint32_t number = node_numbers_[count.stack.value];
        if (number < is_nameless_.size() && is_nameless_[number]) {
            nameless_[names_[number].image].row_count += count.sum.rows;
        }
    }
}

void FrameNames::add_hint(HintAt at, std::vector<std::string>& warnings) const {
    constexpr double kPercentMin = 1.0;  // of an image
    constexpr std::ptrdiff_t kImagesMax = 3;
    const auto percent_of = [&](std::uint64_t count) {
        return 100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(row_count_, 1));
    };
    std::uint64_t sum = 0;
    std::vector<std::tuple<std::uint64_t, std::string, std::string>> images;  // the greatest first when sorted
    bool has_missing = false;
    for (const auto& [image, nameless] : nameless_) {
        if (nameless.has_file && percent_of(nameless.row_count) >= kPercentMin) {
            sum += nameless.row_count;
            images.emplace_back(~nameless.row_count, images_.text(image), nameless.build_id);
            has_missing = has_missing || !nameless.missing.empty();
            symbolizer_.withdraw_missing(nameless.missing);
        }
    }
    if (images.empty()) {
        return;
    }
    std::sort(images.begin(), images.end());
    std::string names;
    for (auto image = images.begin(); image != images.end() && image - images.begin() < kImagesMax; ++image) {
        names += (names.empty() ? "" : ", ") + std::get<1>(*image);
    }
    if (std::ssize(images) > kImagesMax) {
        names += " and " + std::to_string(std::ssize(images) - kImagesMax) + " more";
    } else if (images.size() == 1 && !std::get<2>(images[0]).empty()) {
        names += " (build-id " + hex_of(std::get<2>(images[0])) + ")";
    }
    const std::string no_file = images.size() == 1 ? ", whose file isn't here (--symfs DIR looks elsewhere)"
                                                   : ", files of which aren't here (--symfs DIR looks elsewhere)";
    const std::string way_out =
        symbolizer_.asks_debuginfod()
            ? ", nor on the servers of DEBUGINFOD_URLS: install debug symbols"
            : ": install debug symbols, or set DEBUGINFOD_URLS=https://debuginfod.elfutils.org/";
    warnings.push_back("no symbols for " + std::to_string(static_cast<int>(percent_of(sum))) +
                       " % of the samples, in " + names + (has_missing ? no_file : "") + way_out +
                       (at == HintAt::kAddresses ? "; --addresses shows each address" : ""));
}

std::size_t FrameNames::size_bytes() const {
    return symbols_.size_bytes() + images_.size_bytes() + names_.capacity() * sizeof(FrameName) +
           name_numbers_.size_bytes() + (place_names_.capacity() + node_numbers_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace perfleet
