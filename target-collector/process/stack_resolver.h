// From a raw call chain to frames (image, offset), the leaf first.
//
// Frames outside any mapping are left out and counted, or kept by their address in the image "[unknown]". A leaf
// outside any mapping becomes that image in any case, so that every sample keeps a place. Callers are return addresses,
// as the kernel gives them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "schemas/vocabulary/call_chain_limits.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/kernel_images.h"
#include "target-collector/process/mapping_list.h"

namespace perfleet {

struct ResolvedFrame {
    ImageIndex image = 0;
    std::uint64_t offset = 0;
};

struct ResolvedStack {
    std::array<ResolvedFrame, limits::kCallChainDepthMax> frames;
    std::uint32_t frame_count = 0;
    std::uint16_t unmapped_count = 0;
    std::uint16_t truncated_count = 0;
};

// The frame of an interpreter that two words stand for (bpf/python_layout.h). Nothing: it can't be named, and is left
// out and counted as those outside any mapping.
using FindInterpretedFrame = std::function<std::optional<ResolvedFrame>(std::uint64_t code, std::uint64_t detail)>;

enum class UnmappedFrames : std::uint8_t { kDropped, kKept };

// `words`: addresses behind context markers (perf::context). `mappings` of the process that was running. Writes to
// `stack`, which is large and therefore the caller's. With `find_interpreted` frames of an interpreter stand in the
// place of the frame before them, which interpreted them; without it there are none among the words.
void resolve_stack(std::span<const std::uint64_t> words, const MappingList& mappings, const KernelImages& kernel,
                   ImageIndex unknown_image, UnmappedFrames unmapped, ResolvedStack& stack,
                   const FindInterpretedFrame& find_interpreted = nullptr);

// Puts `mark`, an image that stands for callers that are left out, at the outer end: in place of the outermost frame,
// which counts as truncated, where there is no room for it.
void mark_outer_end(ResolvedStack& stack, ImageIndex mark);

}  // namespace perfleet
