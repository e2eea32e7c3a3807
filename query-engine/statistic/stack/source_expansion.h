// Expands call chains: functions that a compiler inlined become frames, and functions can be split by source line.
//
// An inlined function is named `NAME (inlined)`, as in perf, and its caller is the function into which it was inlined.
// The frame of an address keeps its symbol's name. For callers the address before the return address is looked up.
// Images whose debug information isn't available stay unchanged.
//
// One thread. Borrows the symbolizer and the query's memory.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
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
    bool lines_alone = false;  // frames are named by their line only, or kUnknownLine

    [[nodiscard]] bool any() const { return has_inlines || has_lines; }
};

// The option inlines.
[[nodiscard]] const OptionTable<SourceOptions>& inline_option();

class SourceExpansion {
public:
    // Further inlined frames of a chain are left out, so that its depth stays within the limit for readers.
    static constexpr std::uint32_t kInlinedOfChainMax = limits::kStackChainMax - limits::kCallChainDepthMax;
    // Separates a function's name from its line in symbols with lines.
    static constexpr char kLineSeparator = '\x1f';
    static constexpr std::string_view kUnknownLine = "[unknown]";  // like frames that weren't recorded

    SourceExpansion(Symbolizer& symbolizer, QueryMemory& memory, SourceOptions options)
        : symbolizer_{symbolizer}, options_{options}, share_{memory} {}

    // Like visit_stack_counts(), with expanded chains.
    [[nodiscard]] Result<Done> visit(const Scan& scan, const Measure& measure, const StackCountOptions& options,
                                     const std::function<void(const EpochStackCounts&)>& visitor);

    // Errors: kTooLarge: more nodes than an epoch may have.
    [[nodiscard]] Result<EpochStackCounts> expand(const EpochStackCounts& epoch);

private:
    using Place = std::pair<std::uint64_t, bool>;  // offset, and whether it is a caller's
    struct MadeFrame {
        bool is_made = false;  // else it is the recorded frame
        std::uint64_t number = 0;
    };
    // From the function that holds the code to the innermost inlined one.
    using MadeFrames = std::vector<MadeFrame>;
    class Epoch;

    // Looks up places of the image that aren't cached yet.
    void look_up(const ImageDefinition& image, const std::vector<Place>& places);

    Symbolizer& symbolizer_;
    SourceOptions options_;
    std::map<ImageDefinition, std::map<Place, MadeFrames>> known_;
    std::size_t size_bytes_ = 0;
    MemoryShare share_;
};

}  // namespace perfleet
