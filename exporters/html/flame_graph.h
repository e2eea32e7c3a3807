// The frames of a flame graph with their amounts in each slice of time: the content of the HTML page.
//
// Frames are in pre-order: first the commands, siblings ascending by text, so that the same stored rows give the same
// graph. A frame has the measure of the samples that end in it, by slice of time; the sum of a branch also includes the
// deeper frames that follow it.
//
// One thread. FlameGraphMaker borrows the symbolizer and the query's memory; FlameGraph is plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/stack_totals.h"
#include "storage/number/flat_table.h"

namespace perfleet {

// Limits of a page that browsers still draw smoothly.
inline constexpr std::size_t kFlameFramesMax = 200'000;
inline constexpr std::size_t kFlameCellsMax = 1'000'000;

struct FlameFunction {
    std::string name;   // printable
    std::string image;  // printable; empty: a command
};

struct FlameFrame {
    std::uint32_t depth = 0;  // 0: a command
    std::uint32_t function = 0;
};

// The measure of one frame in one slice.
struct FlameCell {
    std::uint32_t frame = 0;
    std::uint32_t slice = 0;
    std::uint64_t value = 0;
};

struct FlameGraph {
    std::vector<FlameFunction> functions;  // in the order of their first frames
    std::vector<FlameFrame> frames;
    std::vector<FlameCell> cells;     // ascending by (frame, slice), each pair once
    std::uint32_t slices_merged = 1;  // number of counted slices merged into one slice of `cells`
    std::uint64_t total = 0;          // of all cells
    std::uint64_t frames_cut = 0;     // too small for kFlameFramesMax; replaced by `kCutName`
    std::uint64_t value_cut = 0;      // sum of the removed cells
    std::uint32_t depth_max = 0;
};

inline constexpr const char* kCutName = "(smaller frames)";

struct FlameGraphLimits {
    std::size_t frames_max =
        kFlameFramesMax;  // without those that stand for what was cut: one a kept frame, and one, at most
    std::size_t cells_max = kFlameCellsMax;  // slices are merged until no more are left, or one slice is
};

class FlameGraphMaker {
public:
    FlameGraphMaker(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count, FrameNames::Wanted wanted);

    // The slice is Runner::slice + first_slice. Amounts below 0 are left out. Stops counting when the memory is
    // exceeded.
    void add(const Measure& measure, const EpochStackCounts& epoch, std::uint32_t first_slice);
    [[nodiscard]] const RowTotal& total() const { return total_; }
    [[nodiscard]] const ShownAmounts& amounts() const { return amounts_; }

    // Slices from `second_side` on belong to the other side of a comparison. Merging keeps the sides apart; the other
    // side's slices then begin at second_side / slices_merged, rounded up.
    [[nodiscard]] FlameGraph make(std::uint32_t second_side, const FlameGraphLimits& limits = {});

    [[nodiscard]] const FrameNames& names() const { return names_; }

private:
    struct Branch {
        std::uint32_t name = 0;  // of names_; of the commands where the caller is the first branch
        std::uint32_t caller = 0;
        std::uint64_t total = 0;
    };

    [[nodiscard]] std::uint32_t callee(std::uint32_t caller, std::uint32_t name);
    // Orders two callees of one branch by text.
    [[nodiscard]] bool is_before(std::uint32_t a, std::uint32_t b) const;

    FrameNames names_;
    TextNumbers commands_;
    StackTotals totals_;
    RowTotal total_;
    ShownAmounts amounts_;
    std::vector<std::uint32_t> node_branches_;  // of the current runner
    std::vector<Branch> branches_;              // callers first; the first is the root
    CalleeTable numbers_;                       // by (caller, name)
    std::vector<FlameCell> cells_;              // frame: a branch's number
    MemoryShare share_;
};

}  // namespace perfleet
