// Call chains with the functions that a compiler inlined as frames of their own, and functions told apart by source
// line.
//
// An inlined function is called `NAME (inlined)`, as perf does, and called by the function it was inlined into. The
// frame of an address keeps its symbol's name. Callers are looked up before the address they return to. Images without
// debug information here stay as they are.
//
// One thread. Borrows the symbolizer and the query's memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/call_chain_limits.h"

namespace perfleet {

struct SourceOptions {
    bool has_inlines = false;
    bool has_lines = false;
    bool lines_alone = false;  // a frame is called by its line, kUnknownLine where there is none

    [[nodiscard]] bool any() const { return has_inlines || has_lines; }
};

// inlines.
[[nodiscard]] const OptionTable<SourceOptions>& inline_option();

class SourceExpansion {
public:
    // More frames of one chain are left out; with those that were recorded it stays one that readers follow.
    static constexpr std::uint32_t kInlinedOfChainMax = limits::kStackChainMax - limits::kCallChainDepthMax;
    // Between a function's name and its line, in symbols of `has_lines`.
    static constexpr char kLineSeparator = '\x1f';
    static constexpr std::string_view kUnknownLine = "[unknown]";  // as frames that weren't recorded

    SourceExpansion(Symbolizer& symbolizer, QueryMemory& memory, SourceOptions options)
        : symbolizer_{symbolizer}, options_{options}, share_{memory} {}

    // As visit_stack_counts(), of chains with what the options ask for.
    [[nodiscard]] Result<Done> visit(const Scan& scan, const StackCountOptions& options,
                                     const std::function<void(const EpochStackCounts&)>& visitor);

    // Errors: kTooLarge: more nodes than an epoch may have.
    [[nodiscard]] Result<EpochStackCounts> expand(const EpochStackCounts& epoch);

private:
    using Place = std::pair<std::uint64_t, bool>;  // offset, and whether it is of a caller
    struct MadeFrame {
        bool is_made = false;  // else it is the frame itself
        std::uint64_t number = 0;
    };
    // From the function whose code it is to the innermost one.
    using MadeFrames = std::vector<MadeFrame>;
    class Epoch;

    // For what isn't known yet of the image.
    void look_up(const ImageDefinition& image, const std::vector<Place>& places);

    Symbolizer& symbolizer_;
    SourceOptions options_;
    std::map<ImageDefinition, std::map<Place, MadeFrames>> known_;
    std::size_t size_bytes_ = 0;
    MemoryShare share_;
};

}  // namespace perfleet
