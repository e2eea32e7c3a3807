// Numbers strings, images and stack nodes of an epoch in the order of first use; each is defined by a row before the
// first row that uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/stack_nodes.h"
#include "target-collector/process/stack_resolver.h"

namespace perfleet {

class EpochDefinitions {
public:
    // All borrowed. `define_present` is called at the beginning of an epoch, to define running tasks and their
    // mappings.
    EpochDefinitions(RowSink& sink, const ImageTable& images, std::uint32_t stack_node_count_max,
                     std::function<void()> define_present);

    // Begins a new epoch without definitions. `now` is the current time, here and below.
    void begin_epoch(Ticks now);

    // These begin another epoch if a table is full. If there is no space even then, they return the empty string, image
    // 0 or the empty stack.
    [[nodiscard]] StringNumber string(std::string_view text, Ticks now);
    [[nodiscard]] ImageNumber image(ImageIndex index, Ticks now);
    // `frames`: from the leaf to the outermost caller.
    [[nodiscard]] StackNumber stack(std::span<const ResolvedFrame> frames, Ticks now);

private:
    static constexpr std::uint32_t kUndefined = 0xffff'ffff;

    // Empty: the table is full.
    [[nodiscard]] std::optional<StringNumber> try_string(std::string_view text, Ticks now);
    [[nodiscard]] std::optional<ImageNumber> try_image(ImageIndex index, Ticks now);
    [[nodiscard]] std::optional<StackNumber> try_stack(std::span<const ResolvedFrame> frames, Ticks now);
    template <class Try>
    [[nodiscard]] auto with_room(Try define, Ticks now);

    RowSink& sink_;
    const ImageTable& images_;
    std::unordered_map<std::string, StringNumber> strings_;
    std::vector<std::uint32_t> image_numbers_;  // by ImageIndex
    std::uint32_t image_count_ = 0;
    StackNodes nodes_;
    std::function<void()> define_present_;
    bool is_beginning_ = false;
};

}  // namespace perfleet
