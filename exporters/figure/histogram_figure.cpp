#include "exporters/figure/histogram_figure.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"
#include "query-engine/statistic/value_unit.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr Tenths kWidth = 8'000;
constexpr Tenths kHeight = 4'800;
constexpr Tenths kLeft = 850;
constexpr Tenths kRight = 7'700;
constexpr Tenths kTop = 960;
constexpr Tenths kBottom = 4'020;
constexpr Tenths kRestWidth = 260;  // of the bar for what lies beyond
constexpr Tenths kRestGap = 240;
constexpr std::uint64_t kTicksMax = 8;
// Columns of a terminal that fit the picture: a letter of DejaVu Sans takes 0.6 of its size on average, a bold one 0.7.
constexpr std::size_t kTitleSizeMax = 48;
constexpr std::size_t kTargetSizeMax = 24;
constexpr std::size_t kLineSizeMax = 88;

constexpr Colour kInk{34, 34, 34};
constexpr Colour kGrey{110, 110, 110};
constexpr Colour kGrid{225, 225, 225};
constexpr Colour kDark{49, 104, 163};
constexpr Colour kLight{186, 208, 231};
constexpr Colour kRest{196, 118, 48};
constexpr Colour kMark{160, 36, 60};

using Wide = unsigned __int128;

struct Bucket {
    std::uint64_t low = 0;
    std::uint64_t high = 0;  // included
    std::uint64_t count = 0;
    std::uint64_t so_far = 0;
};

std::uint64_t whole(const AnswerValue& value) {
    const auto* number = std::get_if<std::uint64_t>(&value);
    return number == nullptr ? 0 : *number;
}

// `part` of `total`, as a length.
Tenths scaled(std::uint64_t part, std::uint64_t total, Tenths length) {
    return total == 0 ? 0
                      : static_cast<Tenths>((Wide{part} * static_cast<Wide>(length) * 2 + total) / (Wide{total} * 2));
}

// The least of 1, 2, 5, 10, 20, 50, … that makes no more than kTicksMax steps.
std::uint64_t step_for(std::uint64_t range) {
    for (std::uint64_t power = 1;; power *= 10) {
        for (const std::uint64_t factor : {1U, 2U, 5U}) {
            if (power > ~0ULL / 50 || range / (power * factor) < kTicksMax) {
                return power * factor;
            }
        }
    }
}

// "12.345" of 12345 thousandths.
std::string in_unit(std::uint64_t parts, unsigned decimals) {
    if (decimals == 0) {
        return std::to_string(parts);
    }
    std::string text = std::to_string(parts);
    if (text.size() <= decimals) {
        text.insert(0, decimals + 1 - text.size(), '0');
    }
    text.insert(text.size() - decimals, ".");
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

// "4.5 %", half up.
std::string share_text(std::uint64_t part, std::uint64_t total) {
    const auto tenths = static_cast<std::uint64_t>((Wide{part} * 2'000 + total) / (Wide{total} * 2));
    return tenths == 0 && part != 0 ? "< 0.1 %"
                                    : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string shortened_title(const std::string& text, std::size_t size_max = kTitleSizeMax) {
    std::string title = printable(text);
    if (text_width(title) <= size_max) {
        return title;
    }
    std::string start;
    for (std::size_t at = 0; at < title.size();) {
        std::size_t end = at + 1;
        while (end < title.size() && (static_cast<unsigned char>(title[end]) & 0xc0U) == 0x80U) {
            ++end;
        }
        if (text_width(title.substr(0, end)) >= size_max) {
            break;
        }
        start = title.substr(0, end);
        at = end;
    }
    return start + "…";
}

class HistogramPainter {
public:
    HistogramPainter(const Answer& histogram, const Answer& summary, HistogramShape shape)
        : summary_{summary},
          shape_{shape},
          unit_{value_unit(histogram.columns.empty() ? "" : histogram.columns[0].unit)} {
        for (const auto& row : histogram.rows) {
            buckets_.push_back({whole(row[0]), whole(row[1]), whole(row[2]), whole(row[3])});
        }
        figure_.width = kWidth;
        figure_.height = kHeight;
        if (!buckets_.empty()) {
            total_ = buckets_.back().so_far;
            const bool is_last_wider = buckets_.size() > 1 && buckets_.back().high - buckets_.back().low !=
                                                                  buckets_.front().high - buckets_.front().low;
            if (shape != HistogramShape::kLog2 && is_last_wider) {
                rest_ = buckets_.back();
                buckets_.pop_back();
            }
        }
    }

    Figure paint() {
        if (buckets_.empty()) {
            write(kWidth / 2, kHeight / 2, "no values", 160, kGrey, Anchor::kMiddle);
            return std::move(figure_);
        }
        plot_right_ = rest_ ? kRight - kRestWidth - kRestGap : kRight;
        title();
        height_axis();
        bars();
        width_axis();
        if (shape_ != HistogramShape::kLog2) {
            marks();
        }
        return std::move(figure_);
    }

private:
    void write(Tenths x, Tenths y, const std::string& text, Tenths size, Colour colour, Anchor anchor) {
        figure_.words.push_back({x, y, text, size, colour, anchor, false, false});
    }

    [[nodiscard]] std::optional<AnswerValue> figure_of(const char* name) const {
        for (std::size_t i = 0; i < summary_.columns.size() && summary_.rows.size() == 1; ++i) {
            if (summary_.columns[i].name == name && !std::holds_alternative<std::monostate>(summary_.rows[0][i])) {
                return summary_.rows[0][i];
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] std::string text_of(const char* name) const {
        const auto value = figure_of(name);
        if (!value) {
            return "";
        }
        const std::string text = text_cell({name, ""}, *value);
        return text.ends_with(".00") ? text.substr(0, text.size() - 3) : text;
    }
    [[nodiscard]] std::string with_unit(const std::string& text) const {
        return unit_.name.empty() ? text : text + " " + unit_.name;
    }
    [[nodiscard]] bool is_cumulative() const { return shape_ == HistogramShape::kCumulative; }

    void title() {
        const std::string size = text_of("test_size");
        const std::string suffix = size.empty() ? "" : ", N = " + size;
        figure_.words.push_back({kLeft, 340, shortened_title(text_of("event"), kTitleSizeMax - suffix.size()) + suffix,
                                 190, kInk, Anchor::kStart, true, false});
        std::string line = shortened_title(text_of("target"), kTargetSizeMax);
        line += (line.empty() ? "" : " · ") + std::to_string(total_) + (total_ == 1 ? " value" : " values");
        for (const char* name : {"median", "mad", "p95", "p99"}) {
            if (const std::string figure = text_of(name); !figure.empty()) {
                line += std::string{" · "} + (std::string_view{name} == "mad" ? "MAD" : name) + " " + figure;
            }
        }
        write(kLeft, 560, shortened_title(with_unit(line), kLineSizeMax), 125, kGrey, Anchor::kStart);
        if (const std::string session = text_of("session"); !session.empty()) {
            write(kRight, kHeight - 120, "session " + session.substr(0, 8) + " · perfleet latency", 100, kGrey,
                  Anchor::kEnd);
        }
    }

    [[nodiscard]] std::uint64_t greatest() const {
        std::uint64_t count = rest_ ? rest_->count : 0;
        for (const Bucket& bucket : buckets_) {
            count = std::max(count, bucket.count);
        }
        return std::max<std::uint64_t>(count, 1);
    }

    void height_axis() {
        top_count_ = greatest();
        std::uint64_t step = step_for(top_count_);
        if (is_cumulative()) {
            top_count_ = 100;
            step = 20;
        } else {
            top_count_ = (top_count_ / step + (top_count_ % step == 0 ? 0 : 1)) * step;
        }
        for (std::uint64_t count = 0; count <= top_count_; count += step) {
            const Tenths y = kBottom - scaled(count, top_count_, kBottom - kTop);
            figure_.boxes.push_back({kLeft, y - 4, kRight - kLeft, 8, kGrid});
            write(kLeft - 70, y + 42, std::to_string(count) + (is_cumulative() ? " %" : ""), 115, kInk, Anchor::kEnd);
        }
        figure_.words.push_back({190, (kTop + kBottom) / 2,
                                 is_cumulative() ? "share of values up to here" : "values per bucket", 125, kInk,
                                 Anchor::kMiddle, false, true});
    }

    void bar(Tenths left, Tenths width, const Bucket& bucket, Colour colour) {
        const auto box = [&](std::uint64_t low, std::uint64_t high, std::uint64_t all, Colour fill) {
            const Tenths top = kBottom - scaled(high, all, kBottom - kTop);
            const Tenths bottom = kBottom - scaled(low, all, kBottom - kTop);
            // What is there can be seen, however little it is.
            const Tenths height = high > low ? std::max<Tenths>(bottom - top, 6) : 0;
            if (height > 0) {
                figure_.boxes.push_back({left, bottom - height, width, height, fill});
            }
        };
        if (is_cumulative()) {
            box(0, bucket.so_far - bucket.count, total_, kLight);
            box(bucket.so_far - bucket.count, bucket.so_far, total_, colour);
        } else {
            box(0, bucket.count, top_count_, colour);
        }
    }

    void bars() {
        const auto count = static_cast<std::uint64_t>(buckets_.size());
        const Tenths room = plot_right_ - kLeft;
        for (std::uint64_t i = 0; i < count; ++i) {
            const Tenths left = kLeft + scaled(i, count, room);
            const Tenths right = kLeft + scaled(i + 1, count, room);
            const Tenths gap = right - left > 60 ? 12 : 0;
            bar(left + gap / 2, std::max<Tenths>(right - left - gap, 1), buckets_[i], kDark);
        }
        figure_.strokes.push_back({kLeft, kBottom, kRight, kBottom, kInk, false});
        if (rest_) {
            bar(kRight - kRestWidth, kRestWidth, *rest_, kRest);
            const Tenths middle = kRight - kRestWidth / 2;
            write(middle, kBottom + 200, "beyond", 115, kRest, Anchor::kMiddle);
            write(kRight, 720,
                  std::to_string(rest_->count) + (rest_->count == 1 ? " value (" : " values (") +
                      share_text(rest_->count, total_) + ") beyond, up to " +
                      with_unit(in_unit(rest_->high, unit_.decimals)),
                  115, kRest, Anchor::kEnd);
        } else if (const std::string tail = text_of("tail"); !tail.empty()) {
            write(kRight, 720, "all values are shown; " + tail + " above " + with_unit(text_of("tail_above")), 115,
                  kGrey, Anchor::kEnd);
        }
    }

    // Of a value in the buckets.
    [[nodiscard]] Tenths place_of(std::uint64_t value) const {
        const std::uint64_t low = buckets_.front().low;
        const std::uint64_t range = buckets_.back().high - low;
        return kLeft + scaled(value - low, range == ~0ULL ? range : range + 1, plot_right_ - kLeft);
    }

    void tick(Tenths x, const std::string& text) {
        figure_.strokes.push_back({x, kBottom, x, kBottom + 50, kInk, false});
        write(x, kBottom + 200, text, 115, kInk, Anchor::kMiddle);
    }

    void width_axis() {
        if (shape_ == HistogramShape::kLog2) {
            const std::size_t every = buckets_.size() / 12 + 1;
            const auto count = static_cast<std::uint64_t>(buckets_.size());
            for (std::size_t i = 0; i < buckets_.size(); i += every) {
                tick(kLeft + scaled(i, count, plot_right_ - kLeft), in_unit(buckets_[i].low, unit_.decimals));
            }
            if (buckets_.size() % every == 0 && buckets_.back().high != ~0ULL) {
                tick(plot_right_, in_unit(buckets_.back().high + 1, unit_.decimals));
            }
        } else {
            const std::uint64_t low = buckets_.front().low;
            const std::uint64_t step = step_for(buckets_.back().high - low);
            const Wide first = (Wide{low} / step + (low % step == 0 ? 0 : 1)) * step;
            for (Wide value = first; value <= buckets_.back().high; value += step) {
                const auto at = static_cast<std::uint64_t>(value);
                tick(place_of(at), in_unit(at, unit_.decimals));
            }
        }
        if (is_cumulative()) {
            write(kLeft, kHeight - 120, "dark: a bucket's own share; light: what came before it", 100, kGrey,
                  Anchor::kStart);
        }
        const std::string event = text_of("event");
        write((kLeft + plot_right_) / 2, kBottom + 430,
              shortened_title(event.empty() ? "value" : event) + (unit_.name.empty() ? "" : " [" + unit_.name + "]"),
              125, kInk, Anchor::kMiddle);
    }

    // Where a figure of the summary lies among the buckets.
    [[nodiscard]] std::optional<Tenths> place_of(const char* name) const {
        const auto value = figure_of(name);
        if (!value) {
            return std::nullopt;
        }
        const auto* real = std::get_if<double>(&*value);
        const double in_parts =
            (real != nullptr ? *real : static_cast<double>(whole(*value))) / static_cast<double>(unit_.worth());
        const auto low = static_cast<double>(buckets_.front().low);
        const double range = static_cast<double>(buckets_.back().high - buckets_.front().low) + 1;
        if (!(in_parts >= low && in_parts <= low + range)) {
            return std::nullopt;
        }
        return kLeft +
               static_cast<Tenths>(std::lround((in_parts - low) / range * static_cast<double>(plot_right_ - kLeft)));
    }

    // The median's name to the left of its line, the percentile's to the right, or above where there is no room.
    void marks() {
        constexpr Tenths kNameRoom = 900;
        const auto median = place_of("median");
        const auto tail = place_of("p95");
        const auto draw = [&](const char* name, Tenths x, Tenths y, bool is_left) {
            figure_.strokes.push_back({x, kTop - 30, x, kBottom, kMark, true});
            write(is_left ? x - 40 : x + 40, y, std::string{name} + " " + text_of(name), 115, kMark,
                  is_left ? Anchor::kEnd : Anchor::kStart);
        };
        if (median) {
            draw("median", *median, kTop - 50, *median > kLeft + kNameRoom);
        }
        if (tail) {
            const bool has_room = *tail + kNameRoom < kRight + 200;
            const bool is_near = median && *tail - *median < 2 * kNameRoom;
            const bool is_crowded = is_near && (!has_room || *median <= kLeft + kNameRoom);
            draw("p95", *tail, is_crowded ? kTop + 90 : kTop - 50, !has_room);
        }
    }

    const Answer& summary_;
    HistogramShape shape_;
    ValueUnit unit_;
    std::vector<Bucket> buckets_;
    std::optional<Bucket> rest_;
    std::uint64_t total_ = 0;
    std::uint64_t top_count_ = 1;
    Tenths plot_right_ = kRight;
    Figure figure_;
};

}  // namespace

Figure histogram_figure(const Answer& histogram, const Answer& summary, HistogramShape shape) {
    return HistogramPainter{histogram, summary, shape}.paint();
}

}  // namespace perfleet
