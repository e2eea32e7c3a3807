// The dictionary of one epoch of one session: what its stack, image and string numbers mean. Made from the epoch's
// definition blocks; numbers are array indices.
//
// Built by one thread, then read by many. Its input is untrusted (stored definitions of collectors): if definitions
// contradict each other, the dictionary is still usable, and finish() counts the faults. If a number is defined twice
// with different content, the first definition counts. A chain of more than limits::kStackChainMax nodes, or with a
// caller that isn't numbered before its callee, is cut: a node in the image kCutChainName replaces the callers. Memory:
// at most what the limits of an epoch allow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/block/block.h"

namespace perfleet {

struct Frame {
    ImageNumber image;
    std::uint64_t offset = 0;  // of what: see the image's flags

    friend constexpr auto operator<=>(const Frame&, const Frame&) = default;
};

struct StackNode {
    StackNumber parent;  // the caller; kEmptyStack at the root
    Frame frame;

    friend constexpr auto operator<=>(const StackNode&, const StackNode&) = default;
};

struct ImageDefinition {
    std::uint64_t flags = 0;       // image_flags
    std::uint64_t address = 0;     // kernel images: where the image is loaded, else 0
    std::uint64_t size_bytes = 0;  // kernel images: length of its text; 0 when not known
    std::string build_id;          // raw bytes, 0 to 20
    std::string name;              // path, "[kernel.kallsyms]", "[vdso]", "//anon", "[unknown]"
    std::string file{};            // its path, where `name` stands for another name; else empty

    friend auto operator<=>(const ImageDefinition&, const ImageDefinition&) = default;
};

// An image as a record has it; Io is a RecordWriter or a RecordReader.
template <class Io, class Image>
void image_fields(Io& io, Image& image) {
    io.fields(image.flags, image.address, image.size_bytes, image.build_id, image.name);
}

// Whether the image is a kernel, not a kernel module.
[[nodiscard]] bool is_kernel(const ImageDefinition& image);
[[nodiscard]] bool is_kernel_module(const ImageDefinition& image);

// The image of undefined nodes.
inline constexpr ImageNumber kUndefinedImage{0xffff'ffff};

// Contradictions in definitions.
struct DefinitionFaults {
    std::uint64_t conflicting_count = 0;  // numbers that are defined again with other content
    std::uint64_t cut_count = 0;          // nodes that lost their callers

    [[nodiscard]] bool ok() const { return conflicting_count == 0 && cut_count == 0; }
};

class EpochDictionary;

// The node that called `node`; kEmptyStack if there is none, or its definition was lost. After finish() it has a
// smaller number, except the mark of cut chains.
[[nodiscard]] StackNumber caller_of(const EpochDictionary& dictionary, StackNumber node);

class EpochDictionary {
public:
    // Reserves memory for `count` stacks; a hint: more or fewer may come.
    void expect_stacks(std::uint64_t count);

    // Adds the rows of a block of kind stack, image or string. Of conflicting definitions the first counts. Errors:
    // those of decoding; nothing of the block is added then.
    [[nodiscard]] Result<Done> add(const BlockView& block);

    // Adds one definition. Errors: kInvalid (a number outside the limits).
    [[nodiscard]] Result<Done> define_stack(StackNumber number, const StackNode& node);
    [[nodiscard]] Result<Done> define_image(ImageNumber number, ImageDefinition image);

    // Sets the kernel of a kernel module. Default: the last image that is a kernel.
    void set_kernel(ImageNumber module, ImageNumber kernel);

    // Call it once after all definitions: cuts chains, so that following parents from any node takes at most
    // limits::kStackChainMax steps. A parent or image whose definition was lost isn't a fault: see below.
    DefinitionFaults finish();

    // Changes names after finish(): each image and each string is passed once.
    void rename(const std::function<void(ImageDefinition&)>& rename_image,
                const std::function<void(std::string&)>& rename_string);

    // The node that stands for cut callers, numbered after all others; kEmptyStack if no chain was cut.
    [[nodiscard]] StackNumber cut_mark() const { return cut_mark_; }

    // An undefined number (its definition was lost) gives an empty string, an image named "[undefined]" with flag
    // kUnknown, or a node without parent in the image kUndefinedImage; never a crash.
    [[nodiscard]] const StackNode& stack(StackNumber number) const;
    [[nodiscard]] const ImageDefinition& image(ImageNumber number) const;
    [[nodiscard]] std::string_view string(StringNumber number) const;

    [[nodiscard]] std::optional<ImageNumber> kernel_of(ImageNumber module) const;
    // Whether the number is defined.
    [[nodiscard]] bool has_stack(StackNumber number) const;
    [[nodiscard]] bool has_image(ImageNumber number) const;

    [[nodiscard]] std::size_t stack_count() const { return stacks_.size(); }  // one past the greatest number
    [[nodiscard]] std::size_t image_count() const { return images_.size(); }
    [[nodiscard]] std::size_t string_count() const { return strings_.size(); }
    [[nodiscard]] std::size_t size_bytes() const;  // of memory, approximate

private:
    [[nodiscard]] Result<Done> add_stacks();
    [[nodiscard]] Result<Done> add_images();
    [[nodiscard]] Result<Done> add_strings();
    void define_cut_mark();

    DecodedRows rows_;  // of the last add(), for its capacity
    std::vector<StackNode> stacks_;
    std::vector<bool> stack_defined_;
    std::vector<ImageDefinition> images_;
    std::vector<bool> image_defined_;
    std::map<ImageNumber, ImageNumber> kernels_;  // by module
    std::optional<ImageNumber> last_kernel_;
    std::vector<std::string> strings_;
    std::vector<bool> string_defined_;
    std::uint64_t conflicting_count_ = 0;
    StackNumber cut_mark_ = kEmptyStack;
};

}  // namespace perfleet
