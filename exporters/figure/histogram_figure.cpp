#include "exporters/figure/histogram_figure.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "exporters/figure/figure_text.h"
#include "exporters/figure/sheet.h"
#include "query-engine/statistic/answer/value_unit.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr Tenths kLeft = 850;
constexpr Tenths kTop = 960;
constexpr Tenths kRestWidth = 260;  // width of the bar for values beyond the buckets
constexpr Tenths kRestGap = 240;
constexpr Tenths kSingleWidth = 900;  // width of the bar if all values are in one bucket
constexpr Tenths kLowBar = 120;       // on a log2 axis, the count of a lower bar stands above it
constexpr std::size_t kTargetSizeMax = 24;

constexpr Colour kGrid{225, 225, 225};
constexpr Colour kDark{49, 104, 163};
constexpr Colour kLight{186, 208, 231};
constexpr Colour kRest{196, 118, 48};
constexpr Colour kMark{160, 36, 60};

using Wide = unsigned __int128;

struct Bucket {
    std::uint64_t low = 0;
    std::uint64_t high = 0;  // inclusive
    std::uint64_t count = 0;
    std::uint64_t so_far = 0;
};

class HistogramPainter {
public:
    HistogramPainter(const Answer& histogram, const Answer& summary, HistogramShape shape)
        : summary_{summary},
          shape_{shape},
          unit_{value_unit(histogram.columns.empty() ? "" : histogram.columns[0].unit)} {
        for (const auto& row : histogram.rows) {
            buckets_.push_back({whole(row[0]), whole(row[1]), whole(row[2]), whole(row[3])});
        }
        figure_.width = kFigureWidth;
        figure_.height = kFigureHeight;
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
            write_no_values(figure_);
            return std::move(figure_);
        }
        plot_right_ = rest_ ? kPlotRight - kRestWidth - kRestGap : kPlotRight;
        title();
        height_axis();
        bars();
        width_axis();
        if (!is_one_value()) {
            marks();
        }
        return std::move(figure_);
    }

private:
    [[nodiscard]] std::string text_of(const char* name) const { return figure_text(summary_, name); }
    [[nodiscard]] std::string with_unit(const std::string& text) const {
        return unit_.name.empty() ? text : text + " " + unit_.name;
    }
    // All values are in one bucket: a narrow bar in the middle.
    [[nodiscard]] bool is_single() const { return buckets_.size() == 1 && !rest_; }
    [[nodiscard]] bool is_one_value() const {
        return is_single() &&
               (buckets_[0].low == buckets_[0].high ||
                (figure_of(summary_, "min") && figure_of(summary_, "max") && text_of("min") == text_of("max")));
    }
    [[nodiscard]] bool is_cumulative() const { return shape_ == HistogramShape::kCumulative; }

    void title() {
        const std::string size = text_of("test_size");
        const std::string suffix = size.empty() ? "" : ", N = " + size;
        write_title(figure_, kLeft, shortened_title(text_of("event"), kTitleSizeMax - suffix.size()) + suffix);
        std::string line = shortened_title(text_of("target"), kTargetSizeMax);
        line += (line.empty() ? "" : " · ") + counted_noun(total_, "value");
        for (const char* name : {"median", "mad", "p95", "p99"}) {
            if (const std::string figure = text_of(name); !figure.empty()) {
                line += std::string{" · "} + (std::string_view{name} == "mad" ? "MAD" : name) + " " + figure;
            }
        }
        write_line(figure_, kLeft, with_unit(line));
        write_session(figure_, summary_);
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
            const Tenths y = kPlotBottom - scaled(count, top_count_, kPlotBottom - kTop);
            figure_.boxes.push_back({kLeft, y - 4, kPlotRight - kLeft, 8, kGrid});
            figure_.write(kLeft - 70, y + 42, std::to_string(count) + (is_cumulative() ? " %" : ""), 115, kInk,
                          Anchor::kEnd);
        }
        figure_.words.push_back({190, (kTop + kPlotBottom) / 2,
                                 is_cumulative() ? "share of values up to here" : "values per bucket", 125, kInk,
                                 Anchor::kMiddle, false, true});
    }

    void bar(Tenths left, Tenths width, const Bucket& bucket, Colour colour) {
        const auto box = [&](std::uint64_t low, std::uint64_t high, std::uint64_t all, Colour fill) {
            const Tenths top = kPlotBottom - scaled(high, all, kPlotBottom - kTop);
            const Tenths bottom = kPlotBottom - scaled(low, all, kPlotBottom - kTop);
            // A bar stays visible, however few values it has.
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
            const Tenths left = is_single() ? single_left() : kLeft + scaled(i, count, room);
            const Tenths right = is_single() ? left + kSingleWidth : kLeft + scaled(i + 1, count, room);
            const Tenths gap = right - left > 60 ? 12 : 0;
            bar(left + gap / 2, std::max<Tenths>(right - left - gap, 1), buckets_[i], kDark);
            const Tenths height = scaled(buckets_[i].count, top_count_, kPlotBottom - kTop);
            if (shape_ == HistogramShape::kLog2 && buckets_[i].count != 0 && height < kLowBar) {
                figure_.write((left + right) / 2, kPlotBottom - height - 40, std::to_string(buckets_[i].count), 100,
                              kGrey, Anchor::kMiddle);
            }
        }
        figure_.strokes.push_back({kLeft, kPlotBottom, kPlotRight, kPlotBottom, kInk, false});
        if (rest_) {
            bar(kPlotRight - kRestWidth, kRestWidth, *rest_, kRest);
            const Tenths middle = kPlotRight - kRestWidth / 2;
            figure_.write(middle, kPlotBottom + 200, "beyond", 115, kRest, Anchor::kMiddle);
            figure_.write(kPlotRight, 720,
                          counted_noun(rest_->count, "value") + " (" + share_text(rest_->count, total_) +
                              ") beyond, up to " + with_unit(in_unit(rest_->high, unit_.decimals)),
                          115, kRest, Anchor::kEnd);
        } else if (is_one_value()) {
            const std::string value =
                text_of("max").empty() ? in_unit(buckets_[0].low, unit_.decimals) : text_of("max");
            figure_.write(kPlotRight, 720, "all values are " + with_unit(value), 115, kGrey, Anchor::kEnd);
        } else if (const std::string tail = text_of("tail"); !tail.empty()) {
            figure_.write(kPlotRight, 720,
                          "all values are shown; " + tail + " above " + with_unit(text_of("tail_above")), 115, kGrey,
                          Anchor::kEnd);
        }
    }

    [[nodiscard]] Tenths single_left() const { return (kLeft + plot_right_ - kSingleWidth) / 2; }

    // Of a value in the buckets.
    [[nodiscard]] Tenths place_of(std::uint64_t value) const {
        if (is_one_value()) {
            return (kLeft + plot_right_) / 2;
        }
        const std::uint64_t low = buckets_.front().low;
        const std::uint64_t range = buckets_.back().high - low;
        return kLeft + scaled(value - low, range == ~0ULL ? range : range + 1, plot_right_ - kLeft);
    }

    void tick(Tenths x, const std::string& text) {
        figure_.strokes.push_back({x, kPlotBottom, x, kPlotBottom + 50, kInk, false});
        figure_.write(x, kPlotBottom + 200, text, 115, kInk, Anchor::kMiddle);
    }

    void width_axis() {
        if (shape_ == HistogramShape::kLog2 && is_single()) {
            const Bucket& bucket = buckets_.front();
            const std::string low = in_unit(bucket.low, unit_.decimals);
            tick((kLeft + plot_right_) / 2,
                 bucket.low == bucket.high ? low : low + " to " + in_unit(bucket.high, unit_.decimals));
        } else if (shape_ == HistogramShape::kLog2) {
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
            figure_.write(kLeft, kFigureHeight - 120, "dark: a bucket's own share; light: the share below it", 100,
                          kGrey, Anchor::kStart);
        }
        const std::string event = text_of("event");
        figure_.write((kLeft + plot_right_) / 2, kPlotBottom + 430,
                      shortened_title(event.empty() ? "value" : event, kTitleSizeMax) +
                          (unit_.name.empty() ? "" : " [" + unit_.name + "]"),
                      125, kInk, Anchor::kMiddle);
    }

    // On a logarithmic axis within its bucket; the first bucket, 0 and 1, is linear.
    [[nodiscard]] std::optional<Tenths> place_in_powers(double in_parts) const {
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            const auto low = static_cast<double>(buckets_[i].low);
            const double high = static_cast<double>(buckets_[i].high) + 1;
            if (in_parts < low || in_parts >= high) {
                continue;
            }
            const double part = low < 1 ? in_parts / high : std::log2(in_parts / low);
            const double width = is_single()
                                     ? static_cast<double>(kSingleWidth)
                                     : static_cast<double>(plot_right_ - kLeft) / static_cast<double>(buckets_.size());
            return (is_single() ? single_left() : kLeft) +
                   static_cast<Tenths>(std::lround((static_cast<double>(i) + part) * width));
        }
        return std::nullopt;
    }

    // The place of one of the summary's figures among the buckets.
    [[nodiscard]] std::optional<Tenths> place_of(const char* name) const {
        const auto value = figure_of(summary_, name);
        if (!value) {
            return std::nullopt;
        }
        const auto* real = std::get_if<double>(&*value);
        const double in_parts =
            (real != nullptr ? *real : static_cast<double>(whole(*value))) / static_cast<double>(unit_.worth());
        if (shape_ == HistogramShape::kLog2) {
            return place_in_powers(in_parts);
        }
        const auto low = static_cast<double>(buckets_.front().low);
        const double range = static_cast<double>(buckets_.back().high - buckets_.front().low) + 1;
        if (!(in_parts >= low && in_parts <= low + range)) {
            return std::nullopt;
        }
        return kLeft +
               static_cast<Tenths>(std::lround((in_parts - low) / range * static_cast<double>(plot_right_ - kLeft)));
    }

    // The median's name goes left of its line, the percentile's right of it, or above if there is no space.
    void marks() {
        constexpr Tenths kNameRoom = 900;
        const auto median = place_of("median");
        const auto tail = place_of("p95");
        const auto draw = [&](const char* name, Tenths x, Tenths y, bool is_left) {
            figure_.strokes.push_back({x, kTop - 30, x, kPlotBottom, kMark, true});
            figure_.write(is_left ? x - 40 : x + 40, y, std::string{name} + " " + text_of(name), 115, kMark,
                          is_left ? Anchor::kEnd : Anchor::kStart);
        };
        if (median) {
            draw("median", *median, kTop - 50, *median > kLeft + kNameRoom);
        }
        if (tail) {
            const bool has_room = *tail + kNameRoom < kPlotRight + 200;
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
    Tenths plot_right_ = kPlotRight;
    Figure figure_;
};

}  // namespace

Figure histogram_figure(const Answer& histogram, const Answer& summary, HistogramShape shape) {
    return HistogramPainter{histogram, summary, shape}.paint();
}

}  // namespace perfleet
