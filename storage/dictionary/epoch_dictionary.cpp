#include "storage/dictionary/epoch_dictionary.h"

#include <algorithm>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr StackNode kUndefinedNode{kEmptyStack, Frame{kUndefinedImage, 0}};

const ImageDefinition& undefined_image() {
    static const ImageDefinition kImage{image_flags::kUnknown, 0, 0, {}, "[undefined]"};
    return kImage;
}

Error refusal(std::string_view what, std::uint64_t number, std::string_view why) {
    return Error{ErrorCode::kInvalid,
                 "dictionary: " + std::string{what} + " " + std::to_string(number) + " " + std::string{why}};
}

// Numbers are checked against their ColumnRule when rows are decoded, which bounds the size.
template <class Definition>
Result<Done> define(std::vector<Definition>& definitions, std::vector<bool>& defined, std::uint64_t number,
                    Definition definition, std::string_view what) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= definitions.size()) {
        definitions.resize(index + 1);
        defined.resize(index + 1);
    }
    if (defined[index]) {
        if (definitions[index] != definition) {
            return refusal(what, number, "is defined twice, with different content");
        }
        return Done{};
    }
    definitions[index] = std::move(definition);
    defined[index] = true;
    return Done{};
}

}  // namespace

bool is_kernel_module(const ImageDefinition& image) { return (image.flags & image_flags::kKernelModule) != 0; }

bool is_kernel(const ImageDefinition& image) {
    return (image.flags & image_flags::kKernel) != 0 && !is_kernel_module(image);
}

StackNumber caller_of(const EpochDictionary& dictionary, StackNumber node) {
    // Callers are defined before what they call; a node whose definition was lost has none.
    const StackNumber caller = dictionary.stack(node).parent;
    return caller < node ? caller : kEmptyStack;
}

void EpochDictionary::expect_stacks(std::uint64_t count) {
    stacks_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(count, limits::kStackNodesMax)) + 1);
}

Result<Done> EpochDictionary::add(const BlockView& block) {
    const Kind kind = block.header.series.kind;
    if (!is_definition(kind)) {
        return Error{ErrorCode::kInvalid,
                     "dictionary: a block of kind " + std::string{kind_name(kind)} + " defines nothing"};
    }
    PERFLEET_TRY(rows_.decode(block));
    switch (kind) {
        case Kind::kStack: return add_stacks();
        case Kind::kImage: return add_images();
        default: return add_strings();
    }
}

Result<Done> EpochDictionary::define_stack(StackNumber number, const StackNode& node) {
    if (number == kEmptyStack) {
        return refusal("stack", 0, "is the empty one and can't be defined");
    }
    if (number.value > limits::kStackNodesMax) {
        return refusal("stack", number.value, "is beyond the most of an epoch");
    }
    return define(stacks_, stack_defined_, number.value, node, "stack");
}

Result<Done> EpochDictionary::define_image(ImageNumber number, ImageDefinition image) {
    if (number.value >= limits::kImagesMax) {
        return refusal("image", number.value, "is beyond the most of an epoch");
    }
    if (is_kernel(image) && (!last_kernel_ || *last_kernel_ < number)) {
        last_kernel_ = number;
    }
    return define(images_, image_defined_, number.value, std::move(image), "image");
}

Result<Done> EpochDictionary::add_stacks() {
    const auto numbers = rows_.integers(ColumnId::kNumber);
    const auto parents = rows_.integers(ColumnId::kParent);
    const auto images = rows_.integers(ColumnId::kImage);
    const auto offsets = rows_.integers(ColumnId::kFrameOffset);
    for (std::size_t row = 0; row < rows_.row_count(); ++row) {
        const StackNode node{StackNumber{static_cast<std::uint32_t>(parents[row])},
                             Frame{ImageNumber{static_cast<std::uint32_t>(images[row])}, offsets[row]}};
        PERFLEET_TRY(define_stack(StackNumber{static_cast<std::uint32_t>(numbers[row])}, node));
    }
    return Done{};
}

Result<Done> EpochDictionary::add_images() {
    const auto numbers = rows_.integers(ColumnId::kNumber);
    const auto flags = rows_.integers(ColumnId::kImageFlags);
    const auto addresses = rows_.integers(ColumnId::kAddress);
    const auto sizes = rows_.integers(ColumnId::kSize);
    for (std::size_t row = 0; row < rows_.row_count(); ++row) {
        ImageDefinition image{flags[row], addresses[row], sizes[row],
                              std::string{rows_.bytes(ColumnId::kBuildIdBytes, row)},
                              std::string{rows_.bytes(ColumnId::kNameBytes, row)}};
        const ImageNumber number{static_cast<std::uint32_t>(numbers[row])};
        PERFLEET_TRY(define_image(number, std::move(image)));
    }
    return Done{};
}

Result<Done> EpochDictionary::add_strings() {
    const auto numbers = rows_.integers(ColumnId::kNumber);
    for (std::size_t row = 0; row < rows_.row_count(); ++row) {
        if (numbers[row] == kEmptyString.value) {
            return refusal("string", 0, "is the empty one and can't be defined");
        }
        PERFLEET_TRY(define(strings_, string_defined_, numbers[row],
                            std::string{rows_.bytes(ColumnId::kNameBytes, row)}, "string"));
    }
    return Done{};
}

// Walks up from each node as far as a node of known depth. A cycle has no end, so it is a chain that is too long.
Result<Done> EpochDictionary::finish() {
    std::vector<std::uint32_t> depths(stacks_.size(), 0);  // nodes from here to the root; 0: not known yet
    std::vector<std::size_t> path;
    for (std::size_t start = 0; start < stacks_.size(); ++start) {
        path.clear();
        std::size_t at = start;
        while (at < stacks_.size() && stack_defined_[at] && depths[at] == 0 && path.size() <= limits::kStackChainMax) {
            path.push_back(at);
            at = stacks_[at].parent.value;
        }
        std::uint32_t depth = at < stacks_.size() && path.size() <= limits::kStackChainMax ? depths[at] : 0;
        if (path.size() + depth > limits::kStackChainMax) {
            const bool is_own_ancestor = std::find(path.begin() + 1, path.end(), start) != path.end();
            return refusal("stack", start,
                           is_own_ancestor ? "is its own ancestor"
                                           : "has more than " + std::to_string(limits::kStackChainMax) + " ancestors");
        }
        for (auto node = path.rbegin(); node != path.rend(); ++node) {
            depths[*node] = ++depth;
        }
    }
    return Done{};
}

std::size_t EpochDictionary::size_bytes() const {
    std::size_t size_bytes = sizeof(*this) + stacks_.capacity() * sizeof(StackNode) +
                             images_.capacity() * sizeof(ImageDefinition) + strings_.capacity() * sizeof(std::string);
    for (const ImageDefinition& image : images_) {
        size_bytes += image.name.size() + image.build_id.size();
    }
    for (const std::string& string : strings_) {
        size_bytes += string.size();
    }
    return size_bytes;
}

void EpochDictionary::set_kernel(ImageNumber module, ImageNumber kernel) { kernels_[module] = kernel; }

std::optional<ImageNumber> EpochDictionary::kernel_of(ImageNumber module) const {
    const auto known = kernels_.find(module);
    return known == kernels_.end() ? last_kernel_ : std::optional{known->second};
}

bool EpochDictionary::has_stack(StackNumber number) const {
    return number.value < stacks_.size() && stack_defined_[number.value];
}

bool EpochDictionary::has_image(ImageNumber number) const {
    return number.value < images_.size() && image_defined_[number.value];
}

const StackNode& EpochDictionary::stack(StackNumber number) const {
    return has_stack(number) ? stacks_[number.value] : kUndefinedNode;
}

const ImageDefinition& EpochDictionary::image(ImageNumber number) const {
    return has_image(number) ? images_[number.value] : undefined_image();
}

std::string_view EpochDictionary::string(StringNumber number) const {
    return number.value < strings_.size() ? std::string_view{strings_[number.value]} : std::string_view{};
}

}  // namespace perfleet
