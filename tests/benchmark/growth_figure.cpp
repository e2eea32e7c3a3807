#include "tests/benchmark/growth_figure.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace perfleet {
namespace {

constexpr Colour kInk{34, 34, 34};
constexpr Colour kGrid{221, 221, 221};
constexpr Colour kExact{31, 119, 180};
constexpr Colour kSummaries{214, 96, 30};

constexpr Tenths kPanelWidth = 3'400;
constexpr Tenths kPanelHeight = 2'600;
constexpr Tenths kTop = 700;
constexpr Tenths kLeft = 700;
constexpr Tenths kGap = 900;
constexpr Tenths kGridWidth = 10;

struct Decades {
    int first = 0;
    int last = 0;

    // Place of a value on an axis of this length.
    [[nodiscard]] Tenths place(double value, Tenths length) const {
        const double share = (std::log10(value) - first) / (last - first);
        return static_cast<Tenths>(std::lround(share * static_cast<double>(length)));
    }
};

Decades decades_of(const std::vector<double>& values) {
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    Decades decades{static_cast<int>(std::floor(std::log10(*least))),
                    static_cast<int>(std::ceil(std::log10(*greatest)))};
    decades.last = std::max(decades.last, decades.first + 1);
    return decades;
}

std::string power_text(int exponent) {
    if (exponent < 0) {
        return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + "1";
    }
    std::string text{"1"};
    for (int zeros_left = exponent; zeros_left > 0; --zeros_left) {
        text += zeros_left % 3 == 0 ? ",0" : "0";
    }
    return text;
}

class Panel {
public:
    Panel(Figure& figure, Tenths left, Decades across, Decades upwards)
        : figure_{figure}, plot_left_{left}, across_{across}, upwards_{upwards} {}

    void draw_axes(std::string_view title, std::string_view across) {
        const Tenths bottom = kTop + kPanelHeight;
        for (int decade = across_.first; decade <= across_.last; ++decade) {
            const Tenths x = plot_left_ + across_.place(std::pow(10, decade), kPanelWidth);
            figure_.boxes.push_back({x - kGridWidth / 2, kTop, kGridWidth, kPanelHeight, kGrid});
            figure_.words.push_back({x, bottom + 170, power_text(decade), 110, kInk, Anchor::kMiddle});
        }
        for (int decade = upwards_.first; decade <= upwards_.last; ++decade) {
            const Tenths y = bottom - upwards_.place(std::pow(10, decade), kPanelHeight);
            figure_.boxes.push_back({plot_left_, y - kGridWidth / 2, kPanelWidth, kGridWidth, kGrid});
            figure_.words.push_back({plot_left_ - 60, y + 40, power_text(decade), 110, kInk, Anchor::kEnd});
        }
        figure_.words.push_back({plot_left_, kTop - 120, std::string{title}, 130, kInk, Anchor::kStart, true});
        figure_.words.push_back(
            {plot_left_ + kPanelWidth / 2, bottom + 380, std::string{across}, 120, kInk, Anchor::kMiddle});
        figure_.words.push_back(
            {plot_left_ - 560, kTop + kPanelHeight / 2, "s of CPU", 120, kInk, Anchor::kMiddle, false, true});
    }

    void draw_line(const std::vector<double>& across, const std::vector<double>& upwards, Colour colour) {
        constexpr Tenths kHalfMark = 35;
        for (std::size_t i = 0; i < across.size(); ++i) {
            const Tenths x = x_of(across[i]);
            const Tenths y = y_of(upwards[i]);
            figure_.boxes.push_back({x - kHalfMark, y - kHalfMark, 2 * kHalfMark, 2 * kHalfMark, colour});
            if (i > 0) {
                figure_.strokes.push_back({x_of(across[i - 1]), y_of(upwards[i - 1]), x, y, colour});
            }
        }
    }

    // Twice as much for twice as many, from a point to the edge.
    void draw_proportion(double across, double upwards) {
        const double steps = std::min(across_.last - std::log10(across), upwards_.last - std::log10(upwards));
        figure_.strokes.push_back({x_of(across), y_of(upwards), x_of(across * std::pow(10, steps)),
                                   y_of(upwards * std::pow(10, steps)), kInk, true});
    }

private:
    [[nodiscard]] Tenths x_of(double value) const { return plot_left_ + across_.place(value, kPanelWidth); }
    [[nodiscard]] Tenths y_of(double value) const { return kTop + kPanelHeight - upwards_.place(value, kPanelHeight); }

    Figure& figure_;
    Tenths plot_left_;
    Decades across_;
    Decades upwards_;
};

void draw_legend(Figure& figure) {
    Tenths x = kLeft;
    const auto entry = [&](std::string_view text, Colour colour, bool is_dashed, Tenths width) {
        figure.strokes.push_back({x, 250, x + 300, 250, colour, is_dashed});
        figure.words.push_back({x + 360, 290, std::string{text}, 120, kInk});
        x += width;
    };
    entry("perfleet top --exact: every row", kExact, false, 2'600);
    entry("perfleet top: with summaries", kSummaries, false, 2'200);
    entry("in proportion", kInk, true, 0);
}

}  // namespace

Figure growth_figure(const Growth& growth) {
    Figure figure{kLeft + 2 * kPanelWidth + kGap + 300, kTop + kPanelHeight + 550, {}, {}, {}};
    draw_legend(figure);
    const auto panel = [&](const std::vector<GrowthPoint>& points, bool by_rows, Tenths left) {
        if (points.empty()) {
            return;
        }
        std::vector<double> across;
        std::vector<double> exact;
        std::vector<double> rolled;
        for (const GrowthPoint& point : points) {
            across.push_back(static_cast<double>(by_rows ? point.row_count : point.series_count));
            exact.push_back(std::max(point.exact_cpu_s, 1e-3));
            rolled.push_back(std::max(point.cpu_s, 1e-3));
        }
        std::vector<double> both = exact;
        both.insert(both.end(), rolled.begin(), rolled.end());
        Panel drawn{figure, left, decades_of(across), decades_of(both)};
        drawn.draw_axes(
            by_rows
                ? "one series"
                : power_text(static_cast<int>(std::lround(std::log10(static_cast<double>(points.front().row_count))))) +
                      " rows",
            by_rows ? "rows" : "series");
        if (by_rows) {
            drawn.draw_proportion(across.front(), exact.front());
        }
        drawn.draw_line(across, exact, kExact);
        drawn.draw_line(across, rolled, kSummaries);
    };
    panel(growth.by_rows, true, kLeft);
    panel(growth.by_series, false, kLeft + kPanelWidth + kGap);
    return figure;
}

}  // namespace perfleet
