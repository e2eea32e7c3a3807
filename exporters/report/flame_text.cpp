#include "exporters/report/flame_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exporters/report/amount_text.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

// Backgrounds of the 256 colours for black text; commands are grey, the kernel's frames blue.
constexpr int kCommandColor = 250;
constexpr int kKernelColor = 110;
constexpr int kColors[] = {215, 179, 222, 180, 216, 186, 223, 209};

struct Box {
    std::size_t begin = 0;  // columns
    std::size_t end = 0;
    std::string name;
    std::string image;
};

int color_of(const Box& box) {
    if (box.image.empty()) {
        return kCommandColor;
    }
    if (box.image.starts_with("[kernel")) {
        return kKernelColor;
    }
    std::uint32_t hash = 2'166'136'261U;
    for (const char c : box.name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
    }
    return kColors[hash % std::size(kColors)];
}

std::string boxed(const std::string& text, std::size_t width) {
    const std::string fitting = width < 4 ? std::string{} : shortened(text, width);
    return fitting + std::string(width - std::min(width, text_width(fitting)), ' ');
}

std::string line_of(const std::vector<Box>& boxes, const Screen& screen) {
    std::string line;
    std::size_t column = 0;
    for (const Box& box : boxes) {
        line.append(box.begin - column, ' ');
        const std::size_t width = box.end - box.begin;
        line += screen.has_color ? fmt::format("\x1b[30;48;5;{}m{}\x1b[m", color_of(box),
                                               width > 1 ? " " + boxed(box.name, width - 1) : " ")
                                 : "|" + boxed(box.name, width - 1);
        column = box.end;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

}  // namespace

std::string flame_text(const Answer& tree, const Screen& screen) {
    // Amounts below 0 have no width.
    const auto number = [](const AnswerValue& value) {
        const auto* const held = std::get_if<std::uint64_t>(&value);
        return held == nullptr ? 0 : *held;
    };
    const auto text = [](const AnswerValue& value) {
        const auto* const held = std::get_if<std::string>(&value);
        return held == nullptr ? std::string{} : printable(*held);
    };
    if (tree.rows.empty()) {
        return "";
    }
    const double whole = tree.measure ? static_cast<double>(tree.measure->total) : 0;
    if (whole <= 0) {
        return "";
    }
    const auto column_of = [&](std::uint64_t value) {
        return static_cast<std::size_t>(static_cast<double>(value) / whole * static_cast<double>(screen.width_columns) +
                                        1e-6);
    };
    std::vector<std::vector<Box>> lines;
    std::vector<std::uint64_t> next{0};  // by depth: where the next frame begins
    for (const std::vector<AnswerValue>& row : tree.rows) {
        const std::size_t depth = number(row[0]);
        const std::uint64_t begin = next[depth];
        next.resize(depth + 1);
        next[depth] = begin + number(row[3]);
        next.push_back(begin);
        const std::size_t first = column_of(begin);
        const std::size_t last = std::min(column_of(next[depth]), screen.width_columns);
        if (last > first) {
            lines.resize(std::max(lines.size(), depth + 1));
            lines[depth].push_back({first, last, text(row[1]), text(row[2])});
        }
    }
    std::string drawn = "all: " + amount_text(whole, tree.measure->unit) + "\n";
    for (const std::vector<Box>& boxes : lines) {
        drawn += line_of(boxes, screen);
    }
    return drawn;
}

}  // namespace perfleet
