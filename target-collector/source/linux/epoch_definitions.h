// The numbers that an epoch's rows use for strings, images and stack nodes: given in the order of first use, defined by
// a row in front of the first row that uses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "target-collector/source/linux/image_table.h"
#include "target-collector/source/linux/stack_nodes.h"
#include "target-collector/source/row_sink.h"

namespace perfleet {

class EpochDefinitions {
public:
    // Borrowed.
    EpochDefinitions(RowSink& sink, const ImageTable& images, std::uint32_t stack_node_count_max);

    // Empty: the table is full, the epoch must end. `now` is the time at hand.
    [[nodiscard]] std::optional<StringNumber> string(std::string_view text, Ticks now);
    [[nodiscard]] std::optional<ImageNumber> image(ImageIndex index, Ticks now);
    [[nodiscard]] std::optional<StackNumber> stack_node(StackNumber parent, ImageNumber image, std::uint64_t offset,
                                                        Ticks now);

    // A new epoch has begun: nothing is defined.
    void clear();

private:
    static constexpr std::uint32_t kUndefined = 0xffff'ffff;

    RowSink& sink_;
    const ImageTable& images_;
    std::unordered_map<std::string, StringNumber> strings_;
    std::vector<std::uint32_t> image_numbers_;  // by ImageIndex
    std::uint32_t image_count_ = 0;
    StackNodes nodes_;
};

}  // namespace perfleet
