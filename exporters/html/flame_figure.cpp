#include "exporters/html/flame_figure.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exporters/report/amount_text.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr Tenths kMargin = 100;
constexpr Tenths kGraphWidth = 11'800;
constexpr Tenths kHead = 460;
constexpr Tenths kRow = 170;
constexpr Tenths kLeastWidth = 3;
constexpr Tenths kLetterWidth = 66;  // of words of size kLabelSize, about
constexpr Tenths kLabelSize = 110;
constexpr std::size_t kLabelColumnsMin = 4;
constexpr Colour kInk{22, 25, 29};
constexpr std::array kImageColours{Colour{244, 184, 122}, Colour{158, 202, 225}, Colour{168, 216, 168},
                                   Colour{236, 175, 175}, Colour{201, 182, 224}, Colour{226, 215, 140},
                                   Colour{160, 214, 206}, Colour{216, 190, 165}};

// The amount of each frame with its callees.
std::vector<std::uint64_t> totals_of(const FlameGraph& graph, std::uint32_t slice_count) {
    std::vector<std::uint64_t> totals(graph.frames.size());
    for (const FlameCell& cell : graph.cells) {
        totals[cell.frame] += cell.slice < std::max(slice_count, 1U) ? cell.value : 0;
    }
    std::vector<std::uint64_t> open(graph.depth_max + 2);  // by depth, of the frames behind
    for (std::size_t i = totals.size(); i-- > 0;) {
        const std::uint32_t depth = graph.frames[i].depth;
        totals[i] += std::exchange(open[depth + 1], 0);
        open[depth] += totals[i];
    }
    return totals;
}

}  // namespace

Figure flame_figure(const PageData& data) {
    const FlameGraph& graph = data.graph;
    const std::vector<std::uint64_t> totals = totals_of(graph, data.side.slices.count);
    std::uint64_t whole = 0;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        whole += graph.frames[i].depth == 0 ? totals[i] : 0;
    }
    Figure figure;
    figure.width = kGraphWidth + 2 * kMargin;
    figure.height = kHead + (Tenths{graph.depth_max} + 1) * kRow + kMargin;
    figure.write(kMargin, 200, shortened(data.title, 100), 150, kInk, Anchor::kStart);
    figure.write(kMargin, 380, amount_text(static_cast<double>(whole), data.unit) + ", event " + data.event, kLabelSize,
                 kInk, Anchor::kStart);
    std::vector<std::uint64_t> begins(graph.depth_max + 2);  // by depth: where the next frame begins
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const FlameFrame& frame = graph.frames[i];
        const std::uint64_t begin = begins[frame.depth];
        begins[frame.depth] += totals[i];
        begins[frame.depth + 1] = begin;
        const auto place = [&](std::uint64_t amount) {
            return kMargin + static_cast<Tenths>(static_cast<double>(amount) /
                                                 static_cast<double>(std::max<std::uint64_t>(whole, 1)) *
                                                 static_cast<double>(kGraphWidth));
        };
        const Tenths left = place(begin);
        const Tenths width = place(begin + totals[i]) - left;
        if (width < kLeastWidth) {
            continue;
        }
        const FlameFunction& function = graph.functions[frame.function];
        const Tenths top = kHead + (Tenths{graph.depth_max} - Tenths{frame.depth}) * kRow;
        std::uint32_t hash = 2'166'136'261U;  // FNV-1a: the same colours everywhere
        for (const char letter : function.image) {
            hash = (hash ^ static_cast<unsigned char>(letter)) * 16'777'619U;
        }
        figure.boxes.push_back({left, top, std::max<Tenths>(width - 5, kLeastWidth), kRow - 10,
                                kImageColours[hash % kImageColours.size()]});
        const auto columns = static_cast<std::size_t>(std::max<Tenths>(width - 60, 0) / kLetterWidth);
        if (columns >= std::min(kLabelColumnsMin, text_width(function.name))) {
            std::size_t end = columns - std::min<std::size_t>(columns, 1);
            while (end > 0 && end < function.name.size() &&
                   (static_cast<unsigned char>(function.name[end]) >> 6U) == 2) {
                --end;  // not within a character
            }
            const std::string label =
                text_width(function.name) <= columns ? function.name : function.name.substr(0, end) + "\u2026";
            figure.write(left + 30, top + 120, label, kLabelSize, kInk, Anchor::kStart);
        }
    }
    return figure;
}

}  // namespace perfleet
