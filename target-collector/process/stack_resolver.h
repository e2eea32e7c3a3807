// Converts a raw call chain into frames (image, offset), the leaf first.
//
// Frames outside any mapping are dropped and counted, or kept by address in the image "[unknown]". A leaf outside any
// mapping always becomes that image, so that every sample keeps a place. Callers are return addresses, as in the
// kernel's chains.
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

// The frame of an interpreter that two words describe (bpf/python_layout.h). Nothing: it can't be named; it is dropped
// and counted like frames outside any mapping.
using FindInterpretedFrame = std::function<std::optional<ResolvedFrame>(std::uint64_t code, std::uint64_t detail)>;

enum class UnmappedFrames : std::uint8_t { kDropped, kKept };

// `words`: addresses after context markers (perf::context). `mappings` are those of the running process. Writes to
// `stack`, which is large and belongs to the caller. With `find_interpreted`, frames of an interpreter replace the
// native frame before them, which interpreted them; without it `words` has none.
void resolve_stack(std::span<const std::uint64_t> words, const MappingList& mappings, const KernelImages& kernel,
                   ImageIndex unknown_image, UnmappedFrames unmapped, ResolvedStack& stack,
                   const FindInterpretedFrame& find_interpreted = nullptr);

// Adds `mark`, an image for callers that are missing, at the outer end; if there is no space, it replaces the outermost
// frame, which counts as truncated.
void mark_outer_end(ResolvedStack& stack, ImageIndex mark);

}  // namespace perfleet
