#include "exporters/figure/heat_map_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "exporters/figure/figure_text.h"
#include "exporters/figure/heat_map_figure.h"

namespace perfleet {
namespace {

constexpr std::size_t kColumnsUnlimited = 80;
constexpr std::size_t kColumnsMin = 20;
constexpr std::size_t kLinesMax = 24;
constexpr std::string_view kMarks = ".:-=+*#%@";  // from few to many, by the logarithm

char mark_of(std::uint64_t count, std::uint64_t count_max) {
    if (count == 0) {
        return ' ';
    }
    const double share =
        count_max <= 1 ? 1 : std::log(static_cast<double>(count)) / std::log(static_cast<double>(count_max));
    return kMarks[std::min(static_cast<std::size_t>(share * static_cast<double>(kMarks.size())), kMarks.size() - 1)];
}

// Rounds to three or four digits.
std::uint64_t rounded(std::uint64_t number) {
    std::uint64_t power = 1;
    while (number / power >= 10'000) {
        power *= 10;
    }
    return number / power * power;
}

}  // namespace

std::string heat_map_text(const Answer& answer, const Screen& screen) {
    const HeatMap map = heat_map_of(answer);
    if (map.cells.empty()) {
        return "no values\n";
    }
    // A line holds several steps if there are too many of them; values beyond the steps have a line of their own.
    const std::size_t last = map.steps.size() - (map.has_rest ? 2 : 1);
    const std::uint64_t low = map.steps.front().low;
    const std::uint64_t step = map.steps.front().high - low + 1;
    const std::uint64_t step_count = step == 0 ? 1 : (map.steps[last].high - low) / step + 1;
    const std::uint64_t in_line = (step_count + kLinesMax - 1) / kLinesMax;
    const auto line_of = [&](const HeatMap::Part& part) {
        return step == 0 ? 0 : static_cast<std::size_t>((part.low - low) / step / in_line);
    };
    const std::size_t line_count = line_of(map.steps[last]) + 1;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < line_count; ++i) {
        names.push_back(in_unit(low + i * in_line * step, map.unit.decimals));
    }
    if (map.has_rest) {
        names.push_back("beyond");
    }
    std::size_t name_width = 0;
    for (const std::string& name : names) {
        name_width = std::max(name_width, name.size());
    }
    const std::size_t width = screen.is_limited() ? screen.width_columns : kColumnsUnlimited;
    const std::uint64_t duration = std::max<std::uint64_t>(map.times.back().high, 1);
    const std::uint64_t parts = duration / std::max<std::uint64_t>(map.times.front().high - map.times.front().low, 1);
    const auto columns = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(parts, kColumnsMin, std::max(kColumnsMin, width - std::min(width, name_width + 4))));
    using Wide = unsigned __int128;
    std::vector<std::vector<std::uint64_t>> counts(names.size(), std::vector<std::uint64_t>(columns));
    for (const HeatMap::Cell& cell : map.cells) {
        const bool is_rest = map.has_rest && cell.step + 1 == map.steps.size();
        const auto column = static_cast<std::size_t>(Wide{map.times[cell.time].low} * columns / duration);
        counts[is_rest ? line_count : line_of(map.steps[cell.step])][std::min(column, columns - 1)] += cell.count;
    }
    std::uint64_t most = 0;
    for (const std::vector<std::uint64_t>& line : counts) {
        most = std::max(most, *std::max_element(line.begin(), line.end()));
    }
    std::string text = fmt::format("{} values{}; each line begins at its value{}\n", map.count,
                                   map.begin_time.empty() ? "" : " from " + map.begin_time,
                                   map.unit.name.empty() ? "" : " in " + map.unit.name);
    for (std::size_t i = names.size(); i-- > 0;) {
        std::string line = fmt::format("{:>{}} |", names[i], name_width);
        for (const std::uint64_t count : counts[i]) {
            line += mark_of(count, most);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    const std::string end =
        map.begin_time.empty() ? "value " + std::to_string(duration) : duration_text(rounded(duration), duration);
    text += fmt::format("{:>{}} +{:-<{}}\n", "", name_width, "", columns);
    text += fmt::format("{:>{}}  0{:>{}}\n", "", name_width, end, columns - 1);
    return text + fmt::format("{:>{}}  {} from 1 to {} values\n", "", name_width, kMarks, most);
}

}  // namespace perfleet
