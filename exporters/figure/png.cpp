#include <cairo.h>

#include <memory>

#include "exporters/figure/figure.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr double kPixelsPerTenth = 0.2;  // pixels for a tenth of a unit: two for a unit

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Pen = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;

Error cairo_error(cairo_status_t status) {
    return Error{ErrorCode::kUnsupported,
                 std::string{"the PNG can't be drawn: "} + cairo_status_to_string(status) + " (SVG needs no library)"};
}

void choose(cairo_t* pen, Colour colour) {
    cairo_set_source_rgb(pen, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

void draw(cairo_t* pen, const FilledBox& box) {
    choose(pen, box.colour);
    cairo_rectangle(pen, static_cast<double>(box.left), static_cast<double>(box.top), static_cast<double>(box.width),
                    static_cast<double>(box.height));
    cairo_fill(pen);
}

void draw(cairo_t* pen, const Stroke& stroke) {
    constexpr double kDashes[] = {40, 30};
    choose(pen, stroke.colour);
    cairo_set_line_width(pen, 10);
    cairo_set_dash(pen, kDashes, stroke.is_dashed ? 2 : 0, 0);
    cairo_move_to(pen, static_cast<double>(stroke.from_x), static_cast<double>(stroke.from_y));
    cairo_line_to(pen, static_cast<double>(stroke.to_x), static_cast<double>(stroke.to_y));
    cairo_stroke(pen);
}

void draw(cairo_t* pen, const Words& words) {
    const std::string text = printable(words.text);
    choose(pen, words.colour);
    cairo_select_font_face(pen, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           words.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(pen, static_cast<double>(words.size));
    cairo_text_extents_t extents;
    cairo_text_extents(pen, text.c_str(), &extents);
    const double before = words.anchor == Anchor::kStart    ? 0
                          : words.anchor == Anchor::kMiddle ? extents.x_advance / 2
                                                            : extents.x_advance;
    cairo_save(pen);
    cairo_translate(pen, static_cast<double>(words.x), static_cast<double>(words.y));
    if (words.is_upwards) {
        cairo_rotate(pen, -3.14159265358979323846 / 2);
    }
    cairo_move_to(pen, -before, 0);
    cairo_show_text(pen, text.c_str());
    cairo_restore(pen);
}

cairo_status_t append(void* bytes, const unsigned char* data, unsigned int size_bytes) {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), size_bytes);
    return CAIRO_STATUS_SUCCESS;
}

}  // namespace

Result<std::string> png_of(const Figure& figure) {
    const auto pixels = [](Tenths length) { return static_cast<int>(static_cast<double>(length) * kPixelsPerTenth); };
    const Surface surface{cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels(figure.width), pixels(figure.height)),
                          cairo_surface_destroy};
    const Pen pen{cairo_create(surface.get()), cairo_destroy};
    cairo_scale(pen.get(), kPixelsPerTenth, kPixelsPerTenth);
    choose(pen.get(), {255, 255, 255});
    cairo_paint(pen.get());
    for (const FilledBox& box : figure.boxes) {
        draw(pen.get(), box);
    }
    for (const Stroke& stroke : figure.strokes) {
        draw(pen.get(), stroke);
    }
    for (const Words& words : figure.words) {
        draw(pen.get(), words);
    }
    if (const cairo_status_t status = cairo_status(pen.get()); status != CAIRO_STATUS_SUCCESS) {
        return cairo_error(status);
    }
    std::string png;
    const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, &png);
    if (status != CAIRO_STATUS_SUCCESS) {
        return cairo_error(status);
    }
    return png;
}

}  // namespace perfleet
