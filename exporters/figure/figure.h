// A drawing of rectangles, lines and words on a white sheet, as SVG, whose bytes depend on the drawing alone, and as
// PNG.
//
// Plain values. Lengths are tenths of a pixel from the upper left corner, as integers, so that all machines round
// alike. Later shapes cover earlier ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

using Tenths = std::int64_t;

struct Colour {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;

    friend bool operator==(const Colour&, const Colour&) = default;
};

struct FilledBox {
    Tenths left = 0;
    Tenths top = 0;
    Tenths width = 0;
    Tenths height = 0;
    Colour colour;
};

struct Stroke {
    Tenths from_x = 0;
    Tenths from_y = 0;
    Tenths to_x = 0;
    Tenths to_y = 0;
    Colour colour;
    bool is_dashed = false;
};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

struct Words {
    Tenths x = 0;
    Tenths y = 0;  // baseline of the text
    std::string text;
    Tenths size = 120;
    Colour colour;
    Anchor anchor = Anchor::kStart;
    bool is_bold = false;
    bool is_upwards = false;  // rotated left by 90 degrees
};

struct Figure {
    Tenths width = 0;
    Tenths height = 0;
    std::vector<FilledBox> boxes;  // below all strokes; these are below all words
    std::vector<Stroke> strokes;
    std::vector<Words> words;

    void write(Tenths x, Tenths y, const std::string& text, Tenths size, Colour colour, Anchor anchor) {
        words.push_back({x, y, text, size, colour, anchor});
    }
};

// Text may be any bytes; invalid UTF-8 and invisible characters are replaced.
[[nodiscard]] std::string svg_of(const Figure& figure);

// With twice the figure's width and height in pixels. Errors: kUnsupported with cairo's message.
[[nodiscard]] Result<std::string> png_of(const Figure& figure);

}  // namespace perfleet
