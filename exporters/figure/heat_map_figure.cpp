#include "exporters/figure/heat_map_figure.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "exporters/figure/figure_text.h"
#include "exporters/figure/sheet.h"
#include "exporters/report/report_parts.h"
#include "query-engine/statistic/latency/heat_map.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr Tenths kMapLeft = 950;
constexpr Tenths kMapTop = 760;
constexpr Tenths kMapRestHeight = 140;
constexpr Tenths kMapRestGap = 60;
constexpr Colour kMapPaper{246, 247, 249};

// From few values to many, by powers of the greatest count.
constexpr std::array<Colour, 7> kShades{
    {{205, 222, 239}, {166, 199, 227}, {120, 170, 212}, {78, 139, 194}, {43, 106, 171}, {20, 74, 137}, {6, 41, 92}}};

// Maps counts to shades: seven equal steps of the logarithm up to the largest count.
std::size_t shade_of(std::uint64_t count, std::uint64_t count_max) {
    const auto bits = [](std::uint64_t number) {  // of the logarithm, in sixteenths
        const auto width = static_cast<unsigned>(std::bit_width(number)) - 1;
        const auto rest = width < 4 ? (number << (4U - width)) : (number >> (width - 4U));
        return width * 16 + static_cast<unsigned>(rest & 0xfU);
    };
    const unsigned most = bits(count_max);
    return most == 0 ? kShades.size() - 1
                     : std::min<std::size_t>(bits(count) * kShades.size() / (most + 1), kShades.size() - 1);
}

class HeatMapPainter {
public:
    HeatMapPainter(const Answer& answer, const Answer& summary) : map_{heat_map_of(answer)}, summary_{summary} {
        figure_.width = kFigureWidth;
        figure_.height = kFigureHeight;
    }

    Figure paint() {
        if (map_.cells.empty()) {
            write_no_values(figure_);
            return std::move(figure_);
        }
        top_ = map_.has_rest ? kMapTop + kMapRestHeight + kMapRestGap : kMapTop;
        title();
        cells();
        value_axis();
        time_axis();
        legend();
        return std::move(figure_);
    }

private:
    [[nodiscard]] std::string with_unit(const std::string& text) const {
        return map_.unit.name.empty() ? text : text + " " + map_.unit.name;
    }
    // Of the steps without the rest.
    [[nodiscard]] std::uint64_t low() const { return map_.steps.front().low; }
    [[nodiscard]] std::uint64_t range() const {
        const std::size_t last = map_.steps.size() - (map_.has_rest ? 2 : 1);
        const std::uint64_t size = place_of(map_.steps[last].high);
        return size == ~0ULL ? size : size + 1;
    }
    [[nodiscard]] bool has_steps() const { return map_.steps.size() > (map_.has_rest ? 1U : 0U); }
    [[nodiscard]] std::uint64_t duration() const { return std::max<std::uint64_t>(map_.times.back().high, 1); }
    [[nodiscard]] Tenths x_of(std::uint64_t time) const {
        return kMapLeft + scaled(time, duration(), kPlotRight - kMapLeft);
    }
    // Where a value lies above the least one: in values, or in quarters of powers of two.
    [[nodiscard]] std::uint64_t place_of(std::uint64_t value) const {
        return map_.is_log ? quarter_of(value) - quarter_of(low()) : value - low();
    }
    [[nodiscard]] Tenths y_of(std::uint64_t place) const {
        return kPlotBottom - scaled(place, range(), kPlotBottom - top_);
    }

    void title() {
        write_title(figure_, kMapLeft, shortened_title(figure_text(summary_, "event"), kTitleSizeMax));
        std::string line = figure_text(summary_, "target");
        line += (line.empty() ? "" : " · ") + counted_noun(map_.count, "value");
        for (const char* name : {"median", "p95", "p99", "max"}) {
            if (const std::string text = figure_text(summary_, name); !text.empty()) {
                line += " · " + std::string{name} + " " + text;
            }
        }
        write_line(figure_, kMapLeft, with_unit(line));
        write_session(figure_, summary_);
    }

    void cells() {
        figure_.boxes.push_back({kMapLeft, top_, kPlotRight - kMapLeft, kPlotBottom - top_, kMapPaper});
        if (map_.has_rest) {
            figure_.boxes.push_back({kMapLeft, kMapTop, kPlotRight - kMapLeft, kMapRestHeight, kMapPaper});
        }
        for (const HeatMap::Cell& cell : map_.cells) {
            const HeatMap::Part& time = map_.times[cell.time];
            const HeatMap::Part& step = map_.steps[cell.step];
            const Tenths left = x_of(time.low);
            const bool is_rest = map_.has_rest && cell.step + 1 == map_.steps.size();
            const Tenths bottom = is_rest ? kMapTop + kMapRestHeight : y_of(place_of(step.low));
            const Tenths top = is_rest ? kMapTop : y_of(place_of(step.high) + (place_of(step.high) == ~0ULL ? 0 : 1));
            figure_.boxes.push_back({left, top, std::max<Tenths>(x_of(time.high) - left, 5),
                                     std::max<Tenths>(bottom - top, 5), kShades[shade_of(cell.count, map_.count_max)]});
        }
    }

    void value_axis() {
        if (map_.is_log) {
            write_powers();
        } else if (has_steps()) {
            const std::uint64_t step = step_for(range());
            const std::uint64_t first = low() / step * step + (low() % step == 0 ? 0 : step);
            for (std::uint64_t value = first; value >= first && value - low() <= range(); value += step) {
                figure_.write(kMapLeft - 70, y_of(value - low()) + 42, in_unit(value, map_.unit.decimals), 115, kInk,
                              Anchor::kEnd);
            }
        }
        if (map_.has_rest) {
            figure_.write(kMapLeft - 70, kMapTop + kMapRestHeight / 2 + 42, "beyond", 115, kInk, Anchor::kEnd);
        }
        figure_.words.push_back({190, (kMapTop + kPlotBottom) / 2,
                                 map_.unit.name.empty() ? "value" : "value [" + map_.unit.name + "]", 125, kInk,
                                 Anchor::kMiddle, false, true});
        figure_.strokes.push_back({kMapLeft, kMapTop, kMapLeft, kPlotBottom, kInk, false});
        figure_.strokes.push_back({kMapLeft, kPlotBottom, kPlotRight, kPlotBottom, kInk, false});
    }

    // Powers of ten.
    void write_powers() {
        for (std::uint64_t value = 1; value <= map_.steps.back().high; value *= 10) {
            const std::uint64_t quarter = quarter_of(value);
            const std::uint64_t begin = quarter_begin(quarter);
            if (value >= low()) {
                const Tenths bottom = y_of(place_of(begin));
                const Tenths within =
                    scaled(value - begin, quarter_begin(quarter + 1) - begin, bottom - y_of(place_of(begin) + 1));
                figure_.write(kMapLeft - 70, bottom - within + 42,
                              map_.unit.name == "ns" && map_.unit.decimals == 0 ? duration_text(value, 2 * value)
                                                                                : in_unit(value, map_.unit.decimals),
                              115, kInk, Anchor::kEnd);
            }
            if (value > ~0ULL / 10) {
                break;
            }
        }
    }

    void time_axis() {
        const std::uint64_t step = step_for(duration());
        for (std::uint64_t time = 0; time <= duration(); time += step) {
            const Tenths x = x_of(time);
            figure_.strokes.push_back({x, kPlotBottom, x, kPlotBottom + 50, kInk, false});
            figure_.write(x, kPlotBottom + 200,
                          map_.begin_time.empty() ? std::to_string(time) : duration_text(time, duration()), 115, kInk,
                          Anchor::kMiddle);
        }
        figure_.write((kMapLeft + kPlotRight) / 2, kPlotBottom + 410,
                      map_.begin_time.empty() ? "number of the value" : "time from " + map_.begin_time, 125, kInk,
                      Anchor::kMiddle);
    }

    void legend() {
        Tenths x = kMapLeft;
        const Tenths y = kFigureHeight - 200;
        for (std::size_t i = 0, first = 1; i < kShades.size(); ++i) {
            // Finds the largest count of this shade: larger counts have higher shades.
            std::uint64_t low_count = first;
            std::uint64_t high_count = map_.count_max;
            if (shade_of(low_count, map_.count_max) != i) {
                continue;
            }
            while (low_count < high_count) {
                const std::uint64_t middle = low_count + (high_count - low_count + 1) / 2;
                if (shade_of(middle, map_.count_max) <= i) {
                    low_count = middle;
                } else {
                    high_count = middle - 1;
                }
            }
            const std::string text =
                std::to_string(first) + (low_count == first ? "" : "–" + std::to_string(low_count));
            figure_.boxes.push_back({x, y, 110, 110, kShades[i]});
            figure_.write(x + 150, y + 100, text, 100, kGrey, Anchor::kStart);
            x += 240 + 62 * static_cast<Tenths>(text.size());
            first = low_count + 1;
        }
        figure_.write(x, y + 100, "values in a cell", 100, kGrey, Anchor::kStart);
    }

    HeatMap map_;
    const Answer& summary_;
    Tenths top_ = kMapTop;
    Figure figure_;
};

}  // namespace

HeatMap heat_map_of(const Answer& answer) {
    HeatMap map;
    if (answer.columns.size() < 6) {
        return map;
    }
    map.unit = value_unit(answer.columns[3].unit);
    std::map<HeatMap::Part, std::uint32_t> steps;
    for (const std::vector<AnswerValue>& row : answer.rows) {
        steps.try_emplace({whole(row[3]), whole(row[4])}, 0U);
    }
    for (auto& [step, number] : steps) {
        number = static_cast<std::uint32_t>(map.steps.size());
        map.steps.push_back(step);
    }
    if (map.steps.size() > 1) {
        const auto size_of = [](const HeatMap::Part& part) { return part.high - part.low; };
        const bool is_uneven = size_of(map.steps.back()) != size_of(map.steps.front());
        map.is_log = is_uneven && std::all_of(map.steps.begin(), map.steps.end(), [](const HeatMap::Part& part) {
                         const std::uint64_t quarter = quarter_of(part.low);
                         return part.low == quarter_begin(quarter) && part.high == quarter_begin(quarter + 1) - 1;
                     });
        map.has_rest = is_uneven && !map.is_log;
    }
    for (const std::vector<AnswerValue>& row : answer.rows) {
        const HeatMap::Part time{whole(row[1]), whole(row[2])};
        if (map.times.empty() || map.times.back() != time) {
            map.times.push_back(time);
        }
        const std::uint64_t count = whole(row[5]);
        map.cells.push_back(
            {static_cast<std::uint32_t>(map.times.size() - 1), steps.at({whole(row[3]), whole(row[4])}), count});
        map.count += count;
        map.count_max = std::max(map.count_max, count);
    }
    if (!answer.rows.empty()) {
        const auto* const time = std::get_if<std::string>(&answer.rows.front()[0]);
        map.begin_time = time == nullptr ? "" : *time;
    }
    return map;
}

Figure heat_map_figure(const Answer& answer, const Answer& summary) { return HeatMapPainter{answer, summary}.paint(); }

}  // namespace perfleet
