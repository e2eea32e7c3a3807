#include "exporters/figure/heat_map_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "exporters/figure/figure_text.h"
#include "exporters/figure/heat_map_figure.h"
#include "exporters/report/amount_text.h"
#include "query-engine/statistic/latency/heat_map.h"

namespace perfleet {
namespace {

constexpr std::size_t kColumnsUnlimited = 80;
constexpr std::size_t kColumnsMin = 20;
constexpr std::size_t kLinesMax = 24;
constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::size_t kSubsecondLines = 25;       // 40 ms, of 50 cells
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

struct MapText {
    std::string head;
    std::size_t lines_max = kLinesMax;
    std::size_t columns_min = kColumnsMin;
    std::function<std::string(std::uint64_t)> name_of;   // of a step's lowest value
    std::function<std::string(std::uint64_t)> scale_of;  // the meaning of the marks, by the greatest count of a cell
};

std::string map_text(const HeatMap& map, const Screen& screen, const MapText& words) {
    // A line holds several steps if there are too many of them; values beyond the steps have a line of their own.
    const std::size_t last = map.steps.size() - (map.has_rest ? 2 : 1);
    const std::uint64_t low = map.steps.front().low;
    const std::uint64_t step = map.steps.front().high - low + 1;
    const auto number_of = [&](std::uint64_t value) {
        return map.is_log ? quarter_of(value) - quarter_of(low) : step == 0 ? 0 : (value - low) / step;
    };
    const std::uint64_t in_line = (number_of(map.steps[last].high) + words.lines_max) / words.lines_max;
    const auto line_of = [&](const HeatMap::Part& part) {
        return static_cast<std::size_t>(number_of(part.low) / in_line);
    };
    const std::size_t line_count = line_of(map.steps[last]) + 1;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < line_count; ++i) {
        const std::uint64_t number = i * in_line;
        names.push_back(words.name_of(map.is_log ? quarter_begin(quarter_of(low) + number) : low + number * step));
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
    const auto columns = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        parts, words.columns_min, std::max(words.columns_min, width - std::min(width, name_width + 4))));
    using Product = unsigned __int128;
    std::vector<std::vector<std::uint64_t>> counts(names.size(), std::vector<std::uint64_t>(columns));
    for (const HeatMap::Cell& cell : map.cells) {
        const bool is_rest = map.has_rest && cell.step + 1 == map.steps.size();
        const auto column = static_cast<std::size_t>(Product{map.times[cell.time].low} * columns / duration);
        counts[is_rest ? line_count : line_of(map.steps[cell.step])][std::min(column, columns - 1)] += cell.count;
    }
    std::uint64_t most = 0;
    for (const std::vector<std::uint64_t>& line : counts) {
        most = std::max(most, *std::max_element(line.begin(), line.end()));
    }
    std::string text = words.head + "\n";
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
    text += fmt::format("{:>{}}  0{:>{}}\n", "", name_width, end, std::max(columns - 1, end.size() + 1));
    return text + fmt::format("{:>{}}  {} {}\n", "", name_width, kMarks, words.scale_of(most));
}

}  // namespace

std::string heat_map_text(const Answer& answer, const Screen& screen) {
    const HeatMap map = heat_map_of(answer);
    if (map.cells.empty()) {
        return "no values\n";
    }
    return map_text(map, screen,
                    {.head = fmt::format("{} values{}; each line begins at its value{}", map.count,
                                         map.begin_time.empty() ? "" : " from " + map.begin_time,
                                         map.unit.name.empty() ? "" : " in " + map.unit.name),
                     .name_of = [&](std::uint64_t value) { return in_unit(value, map.unit.decimals); },
                     .scale_of = [](std::uint64_t most) { return fmt::format("from 1 to {} values", most); }});
}

std::string subsecond_text(const Answer& answer, const Screen& screen) {
    const HeatMap map = heat_map_of(answer);
    if (map.cells.empty()) {
        return "no samples\n";
    }
    const auto amount_of = [&](std::uint64_t amount) {
        return amount_text(static_cast<double>(amount), answer.columns[5].unit);
    };
    return map_text(
        map, screen,
        {.head = fmt::format("{}{} from {}; each line begins at its place within the second",
                             answer.measure ? answer.measure->event + ", " : "", amount_of(map.count), map.begin_time),
         .lines_max = kSubsecondLines,
         .columns_min = 1,
         .name_of = [](std::uint64_t ns) { return fmt::format("{} ms", ns / kNsPerMs); },
         .scale_of = [&](std::uint64_t most) { return "up to " + amount_of(most); }});
}

}  // namespace perfleet
