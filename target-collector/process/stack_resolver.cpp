#include "target-collector/process/stack_resolver.h"

#include "schemas/perf/perf_event.h"
#include "target-collector/process/python_layout.h"

namespace perfleet {

void resolve_stack(std::span<const std::uint64_t> words, const MappingList& mappings, const KernelImages& kernel,
                   ImageIndex unknown_image, UnmappedFrames unmapped, ResolvedStack& stack,
                   const FindInterpretedFrame& find_interpreted) {
    stack.frame_count = 0;
    stack.unmapped_count = 0;
    stack.truncated_count = 0;
    std::uint64_t context = perf::context::kUser;
    bool is_leaf = true;
    bool is_behind_interpreter = false;  // the last frame is native: the interpreter's own if a Python frame follows
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint64_t word = words[i];
        if (word >= perf::context::kMax) {
            context = word;
            continue;
        }
        if (find_interpreted && context == perf::context::kUser && PYTHON_WORD_KIND(word) == 2 &&
            i + 1 < words.size()) {
            const auto frame = find_interpreted(word, words[++i]);
            if (!frame) {
                ++stack.unmapped_count;
            } else if (is_behind_interpreter && stack.frame_count > 0) {
                stack.frames[stack.frame_count - 1] = *frame;
                is_behind_interpreter = false;
            } else if (stack.frame_count == stack.frames.size()) {
                ++stack.truncated_count;
            } else {
                stack.frames[stack.frame_count++] = *frame;
            }
            continue;
        }
        is_behind_interpreter = true;
        std::optional<ResolvedFrame> frame;
        if (context == perf::context::kKernel) {
            if (const auto place = kernel.find(word)) {
                frame = ResolvedFrame{place->image, place->offset};
            }
        } else if (context == perf::context::kUser) {
            if (const Mapping* const mapping = mappings.find(word)) {
                frame = ResolvedFrame{mapping->image, word - mapping->start + mapping->file_offset};
            }
        }
        if (!frame && unmapped == UnmappedFrames::kKept) {
            frame = ResolvedFrame{unknown_image, word};
        } else if (!frame && is_leaf) {
            frame = ResolvedFrame{unknown_image, 0};
        }
        is_leaf = false;
        if (!frame) {
            ++stack.unmapped_count;
        } else if (stack.frame_count == stack.frames.size()) {
            ++stack.truncated_count;
        } else {
            stack.frames[stack.frame_count++] = *frame;
        }
    }
}

void mark_outer_end(ResolvedStack& stack, ImageIndex mark) {
    if (stack.frame_count == stack.frames.size()) {
        --stack.frame_count;
        ++stack.truncated_count;
    }
    stack.frames[stack.frame_count++] = {mark, 0};
}

}  // namespace perfleet
