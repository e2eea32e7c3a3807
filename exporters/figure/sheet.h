// Common parts of figures: colours, titles, and the sheet size for `latency`.
//
// Pure functions.
#pragma once

#include <string>

#include "exporters/figure/figure.h"
#include "exporters/figure/figure_text.h"

namespace perfleet {

inline constexpr Colour kInk{34, 34, 34};
inline constexpr Colour kGrey{110, 110, 110};

// Of the figures of `latency`.
inline constexpr Tenths kFigureWidth = 8'000;
inline constexpr Tenths kFigureHeight = 4'800;
inline constexpr Tenths kPlotRight = 7'700;
inline constexpr Tenths kPlotBottom = 4'020;

// Columns of a terminal that fit the sheet: a letter of DejaVu Sans takes 0.6 of its size on average, a bold one 0.7.
inline constexpr std::size_t kTitleSizeMax = 48;
inline constexpr std::size_t kLineSizeMax = 88;

inline void write_title(Figure& figure, Tenths left, const std::string& text) {
    figure.words.push_back({left, 340, text, 190, kInk, Anchor::kStart, true});
}

inline void write_line(Figure& figure, Tenths left, const std::string& text) {
    figure.write(left, 560, shortened_title(text, kLineSizeMax), 125, kGrey, Anchor::kStart);
}

// Writes in the lower right corner the session that the values belong to.
inline void write_session(Figure& figure, const Answer& summary) {
    if (const std::string session = figure_text(summary, "session"); !session.empty()) {
        figure.write(kPlotRight, kFigureHeight - 120, "session " + session.substr(0, 8) + " · perfleet latency", 100,
                     kGrey, Anchor::kEnd);
    }
}

inline void write_no_values(Figure& figure) {
    figure.write(kFigureWidth / 2, kFigureHeight / 2, "no values", 160, kGrey, Anchor::kMiddle);
}

}  // namespace perfleet
