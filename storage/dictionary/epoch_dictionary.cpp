#include "storage/dictionary/epoch_dictionary.h"

#include <algorithm>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/call_chain_limits.h"
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

// Stores a definition. Returns whether it is the first of its number, or equals the first. Decoding has checked the
// number against its ColumnRule, which bounds the vector.
template <class Definition>
bool define(std::vector<Definition>& definitions, std::vector<bool>& defined, std::uint64_t number,
            Definition definition) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= definitions.size()) {
        definitions.resize(index + 1);
        defined.resize(index + 1);
    }
    if (defined[index]) {
        return definitions[index] == definition;
    }
    definitions[index] = std::move(definition);
    defined[index] = true;
    return true;
}

}  // namespace

bool is_kernel_module(const ImageDefinition& image) { return (image.flags & image_flags::kKernelModule) != 0; }

bool is_kernel(const ImageDefinition& image) {
    return (image.flags & image_flags::kKernel) != 0 && !is_kernel_module(image);
}

StackNumber caller_of(const EpochDictionary& dictionary, StackNumber node) { return dictionary.stack(node).parent; }

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
    conflicting_count_ += define(stacks_, stack_defined_, number.value, node) ? 0 : 1;
    return Done{};
}

Result<Done> EpochDictionary::define_image(ImageNumber number, ImageDefinition image) {
    if (number.value >= limits::kImagesMax) {
        return refusal("image", number.value, "is beyond the most of an epoch");
    }
    if (is_kernel(image) && (!last_kernel_ || *last_kernel_ < number)) {
        last_kernel_ = number;
    }
    conflicting_count_ += define(images_, image_defined_, number.value, std::move(image)) ? 0 : 1;
    return Done{};
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
        const bool is_first =
            define(strings_, string_defined_, numbers[row], std::string{rows_.bytes(ColumnId::kNameBytes, row)});
        conflicting_count_ += is_first ? 0 : 1;
    }
    return Done{};
}

void EpochDictionary::rename(const std::function<void(ImageDefinition&)>& rename_image,
                             const std::function<void(std::string&)>& rename_string) {
    std::ranges::for_each(images_, rename_image);
    std::ranges::for_each(strings_, rename_string);
}

// Callers have smaller numbers than their callees, so one walk visits callers first.
DefinitionFaults EpochDictionary::finish() {
    DefinitionFaults faults{conflicting_count_, 0};
    std::vector<std::uint16_t> depths(stacks_.size(), 1);  // nodes from here to the root; 1 if undefined
    static_assert(limits::kStackChainMax < UINT16_MAX);
    const auto node_count = static_cast<std::uint32_t>(stacks_.size());
    for (std::uint32_t number = 1; number < node_count; ++number) {
        const std::uint32_t caller = stacks_[number].parent.value;
        if (!stack_defined_[number] || caller == kEmptyStack.value) {
            continue;
        }
        if (caller < number && depths[caller] < limits::kStackChainMax) {
            depths[number] = static_cast<std::uint16_t>(depths[caller] + 1);
            continue;
        }
        define_cut_mark();
        stacks_[number].parent = cut_mark_;
        depths[number] = 2;
        ++faults.cut_count;
    }
    return faults;
}

void EpochDictionary::define_cut_mark() {
    if (cut_mark_ != kEmptyStack) {
        return;
    }
    const ImageDefinition mark{image_flags::kUnknown, 0, 0, {}, std::string{kCutChainName}};
    std::size_t image = 0;
    while (image < images_.size() && !(image_defined_[image] && images_[image] == mark)) {
        ++image;
    }
    const bool has_image = image < limits::kImagesMax && define(images_, image_defined_, image, mark);
    cut_mark_ = StackNumber{static_cast<std::uint32_t>(stacks_.size())};
    static_cast<void>(
        define(stacks_, stack_defined_, cut_mark_.value,
               {kEmptyStack, Frame{has_image ? ImageNumber{static_cast<std::uint32_t>(image)} : kUndefinedImage, 0}}));
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
