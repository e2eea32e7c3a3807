// Call paths, as `tree` shows them: the root (the thread's name, unless it has none), then functions, the outermost
// first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {

// A path with ';' between its names, as the option `below` has it; '\' stands before both in a name.
[[nodiscard]] std::string call_path_text(const std::vector<std::string>& path);
[[nodiscard]] std::vector<std::string> parse_call_path(const std::string& text);

// Chooses the counts below a path. One thread. Borrows all that it is made from.
class CallPath {
public:
    CallPath(const std::vector<std::string>& path, FrameNames& names, QueryMemory& memory)
        : path_{path}, names_{names}, share_{memory} {}

    // The epoch with these counts alone. `measure` and the part of it that was counted name the roots.
    [[nodiscard]] EpochStackCounts counts_below(const Measure& measure, std::size_t part,
                                                const EpochStackCounts& epoch);

private:
    enum class Known : std::uint8_t { kNot, kTaken, kLeftOut };

    [[nodiscard]] bool takes(const EpochDictionary& dictionary, StackNumber stack, bool has_no_root);
    [[nodiscard]] bool is_below(const EpochDictionary& dictionary, StackNumber stack, bool has_no_root);

    const std::vector<std::string>& path_;
    FrameNames& names_;
    MemoryShare share_;
    std::array<std::vector<Known>, 2> known_;  // by stack: of threads with a name, and without
    std::vector<StackNumber> chain_;
};

}  // namespace perfleet
