#include <array>

#include "exporters/figure/figure.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

std::string number(Tenths value) {
    const Tenths positive = value < 0 ? -value : value;
    return (value < 0 ? "-" : "") + std::to_string(positive / 10) +
           (positive % 10 == 0 ? "" : "." + std::to_string(positive % 10));
}

std::string attribute(const char* name, const std::string& value) {
    return std::string{" "} + name + "=\"" + value + "\"";
}

std::string colour_text(Colour colour) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "#";
    for (const std::uint8_t part : {colour.red, colour.green, colour.blue}) {
        text += kDigits[part >> 4U];
        text += kDigits[part & 0xfU];
    }
    return text;
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : printable(text)) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            default: result += c;
        }
    }
    return result;
}

std::string words_element(const Words& words) {
    constexpr std::array kAnchors{"start", "middle", "end"};
    const std::string x = number(words.x);
    const std::string y = number(words.y);
    return "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", number(words.size)) +
           attribute("fill", colour_text(words.colour)) +
           (words.anchor == Anchor::kStart
                ? ""
                : attribute("text-anchor", kAnchors[static_cast<std::size_t>(words.anchor)])) +
           (words.is_bold ? attribute("font-weight", "bold") : "") +
           (words.is_upwards ? attribute("transform", "rotate(-90 " + x + " " + y + ")") : "") + ">" +
           escaped(words.text) + "</text>\n";
}

}  // namespace

std::string svg_of(const Figure& figure) {
    const std::string width = number(figure.width);
    const std::string height = number(figure.height);
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
                      attribute("height", height) + attribute("viewBox", "0 0 " + width + " " + height) +
                      attribute("font-family", "DejaVu Sans, Verdana, sans-serif") + ">\n" + "<rect" +
                      attribute("width", width) + attribute("height", height) + attribute("fill", "#ffffff") + "/>\n";
    for (const FilledBox& box : figure.boxes) {
        svg += "<rect" + attribute("x", number(box.left)) + attribute("y", number(box.top)) +
               attribute("width", number(box.width)) + attribute("height", number(box.height)) +
               attribute("fill", colour_text(box.colour)) + "/>\n";
    }
    for (const Stroke& stroke : figure.strokes) {
        svg += "<line" + attribute("x1", number(stroke.from_x)) + attribute("y1", number(stroke.from_y)) +
               attribute("x2", number(stroke.to_x)) + attribute("y2", number(stroke.to_y)) +
               attribute("stroke", colour_text(stroke.colour)) +
               (stroke.is_dashed ? attribute("stroke-dasharray", "4 3") : "") + "/>\n";
    }
    for (const Words& words : figure.words) {
        svg += words_element(words);
    }
    return svg + "</svg>\n";
}

}  // namespace perfleet
