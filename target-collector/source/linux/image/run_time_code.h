// Names for code that processes make at run time (node, Java, Python): a frame in memory without a file becomes a frame
// of the function that stands there by the process's own word (perf_map_file.h, jit_dump.h).
//
// Such a function is an image of its own: kAnonymous with a size, its name the function's, its address where it stood
// when the sample was taken up. Function images are at most kFunctionImagesMax at a time; frames beyond keep their
// place in `//anon`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/source/linux/image/jit_dump.h"
#include "target-collector/source/linux/image/perf_map.h"
#include "target-collector/source/linux/image/perf_map_file.h"

namespace perfleet {

// What one process told of its code so far. A forked process goes on with the code of its parent, beside its own.
class CodeNames {
public:
    CodeNames(std::uint32_t pid, std::shared_ptr<const CodeNames> parent);

    // Reads what is new, unless it was looked for a moment ago.
    void refresh(std::uint64_t now_ns);

    // Whether the process has mapped a jitdump file: functions are read from there, too.
    void look_for_dump(const MappingList& mappings, const ImageTable& images);

    [[nodiscard]] std::optional<PerfMap::Function> find(std::uint64_t address) const;
    // Changes with the names; no other process ever has the same.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

private:
    std::uint32_t pid_;
    PerfMapFile file_;
    std::unique_ptr<JitDump> dump_;  // null: none was found yet
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
    static constexpr std::size_t kFollowedMax = 1'024;  // processes; each has a file or two open

    // Borrowed.
    explicit RunTimeCode(ImageTable& images) : images_{images} {}

    // Puts functions in the place of frames without a file. The process is followed from its first such frame on.
    void name_frames(Process& process, ResolvedStack& stack, std::uint64_t now_ns);

    // The image of a function; nothing where there are too many.
    [[nodiscard]] std::optional<ImageIndex> intern_function(Image function);

    // Takes up what followed processes have told since. Cheap when nothing was.
    void refresh(std::uint64_t now_ns);

    // Function images may be forgotten: frames make them anew.
    [[nodiscard]] bool is_full() const { return function_image_count_ >= kFunctionImagesMax; }
    void forget_images() { function_image_count_ = 0; }

private:
    [[nodiscard]] CodeNames* follow(Process& process);

    ImageTable& images_;
    std::vector<std::weak_ptr<CodeNames>> followed_;
    std::size_t function_image_count_ = 0;  // since they were forgotten
};

}  // namespace perfleet
