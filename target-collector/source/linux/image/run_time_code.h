// Names JIT code (node, Java, Python): a frame in memory without a file becomes a frame of the function that the
// process has reported there (perf_map_file.h, jit_dump.h).
//
// Such a function is an image of its own: kAnonymous with a size, the function's name, and its address when the sample
// was processed. At most kFunctionImagesMax exist at a time; further frames stay in `//anon`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/perf_map.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/source/linux/image/jit_dump.h"
#include "target-collector/source/linux/image/perf_map_file.h"

namespace perfleet {

// What one process has reported of its code. A forked process also uses its parent's.
class CodeNames {
public:
    CodeNames(std::uint32_t pid, std::shared_ptr<const CodeNames> parent);

    // Reads new data, unless it did so a moment ago.
    void refresh(std::uint64_t now_ns);

    // Checks for a mapped jitdump file, and reads functions from it, too.
    void look_for_dump(const MappingList& mappings, const ImageTable& images);

    [[nodiscard]] std::optional<PerfMap::Function> find(std::uint64_t address) const;
    // Changes with the names; globally unique.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

private:
    std::uint32_t pid_;
    PerfMapFile file_;
    std::unique_ptr<JitDump> dump_;  // null: none found yet
    std::uint64_t searched_mappings_ = 0;
    PerfMap functions_;
    std::shared_ptr<const CodeNames> parent_;  // may be null
    std::uint64_t parent_generation_ = 0;
    std::uint64_t generation_ = 0;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t pause_ns_ = 0;
};

class RunTimeCode {
public:
    static constexpr std::size_t kFunctionImagesMax = limits::kImagesMax / 4;
    static constexpr std::size_t kFollowedMax = 1'024;  // processes; each has one or two open files

    // Borrowed.
    explicit RunTimeCode(ImageTable& images) : images_{images} {}

    // Replaces frames without a file by functions. The process is followed from its first such frame on.
    void name_frames(Process& process, ResolvedStack& stack, std::uint64_t now_ns);

    // The image of a function; nothing if there are too many.
    [[nodiscard]] std::optional<ImageIndex> intern_function(Image function);

    // Reads new reports of followed processes. Cheap if there are none.
    void refresh(std::uint64_t now_ns);

    // True: function images may be dropped; frames create them again.
    [[nodiscard]] bool is_full() const { return function_image_count_ >= kFunctionImagesMax; }
    void forget_images() { function_image_count_ = 0; }

private:
    [[nodiscard]] CodeNames* follow(Process& process);

    ImageTable& images_;
    std::vector<std::weak_ptr<CodeNames>> followed_;
    std::size_t function_image_count_ = 0;  // since they were forgotten
};

}  // namespace perfleet
