// Figures of known histograms, held against golden bytes and against the lengths that the counts ask for.
#include "exporters/figure/histogram_figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "schemas/text/layout.h"
#include "tests/golden/golden_file.h"

namespace perfleet {
namespace {

Answer histogram_of(const std::vector<std::array<std::uint64_t, 3>>& buckets, const std::string& unit = "ns") {
    Answer answer;
    answer.columns = {{"from", unit}, {"to", unit}, {"count", ""}, {"so_far", ""}, {"so_far_share", "percent"}};
    std::uint64_t so_far = 0;
    for (const auto& [low, high, count] : buckets) {
        so_far += count;
        answer.rows.push_back({low, high, count, so_far, 0.0});
    }
    return answer;
}

Answer summary_of(const std::string& event) {
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""}, {"event", ""}, {"median", "ns"},
                      {"mad", "ns"},   {"p95", "ns"},  {"tail", ""},  {"tail_above", "ns"}};
    answer.rows = {{std::string{"c0ffee00c0ffee00"}, std::string{"board-7"}, event, 112.0, 6.0, std::uint64_t{154},
                    std::uint64_t{3}, std::uint64_t{200}}};
    return answer;
}

// The 17 rows of the article and the tail that it hides.
Answer article() {
    const std::vector<std::uint64_t> counts{51,   3548, 4773, 5918, 1207, 437,  12164, 15508, 23014,
                                            6297, 905,  3845, 6687, 4884, 4133, 1015,  1123};
    std::vector<std::array<std::uint64_t, 3>> buckets;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        buckets.push_back({72 + 5 * i, 76 + 5 * i, counts[i]});
    }
    buckets.push_back({157, 33'364, 4'491});
    return histogram_of(buckets);
}

std::string golden(const std::string& name) { return golden_file("figures/" + name); }

bool has_words(const Figure& figure, const std::string& text) {
    for (const Words& words : figure.words) {
        if (words.text.find(text) != std::string::npos) {
            return true;
        }
    }
    return false;
}

TEST(HistogramFigure, HasItsGoldenBytes) {
    const Answer summary = summary_of("fib_lookup");
    EXPECT_EQ(svg_of(histogram_figure(article(), summary, HistogramShape::kLinear)), golden("linear.svg"));
    EXPECT_EQ(svg_of(histogram_figure(article(), summary, HistogramShape::kCumulative)), golden("cumulative.svg"));
    const Answer log2 =
        histogram_of({{256, 511, 3}, {512, 1'023, 1}, {1'024, 2'047, 2}, {2'048, 4'095, 13}, {4'096, 8'191, 42}});
    EXPECT_EQ(svg_of(histogram_figure(log2, summary, HistogramShape::kLog2)), golden("log2.svg"));
}

TEST(HistogramFigure, BarsAreAsLongAsTheirCounts) {
    const Figure figure = histogram_figure(article(), summary_of("x"), HistogramShape::kLinear);
    ASSERT_EQ(figure.boxes.size(), 6U + 18);  // the grid, and the bars
    // The axis goes to 25,000 over 306 pixels.
    EXPECT_EQ(figure.boxes[6 + 8].height, (23'014 * 3'060 + 12'500) / 25'000);
    EXPECT_EQ(figure.boxes[6].height, 6);  // 51 values: there, though less than a pixel high
    EXPECT_TRUE(has_words(figure, "4491 values (4.5 %) beyond, up to 33364 ns"));
    EXPECT_TRUE(has_words(figure, "x [ns]"));
    const Figure shares = histogram_figure(article(), summary_of("x"), HistogramShape::kCumulative);
    // Dark on light; all that is dark together is everything.
    Tenths dark = 0;
    Tenths highest = 4'020;
    const Colour own = shares.boxes[6].colour;
    for (std::size_t i = 6; i < shares.boxes.size(); ++i) {
        const FilledBox& box = shares.boxes[i];
        dark += box.colour == own || box.colour == shares.boxes.back().colour ? box.height : 0;
        highest = std::min(highest, box.top);
    }
    EXPECT_NEAR(static_cast<double>(dark), 3'060, 18);
    EXPECT_EQ(highest, 960);
}

TEST(HistogramFigure, ValuesThatAreAllOneAreANarrowBar) {
    Answer summary = summary_of("x");
    summary.columns.insert(summary.columns.end(), {{"min", "ns"}, {"max", "ns"}});
    summary.rows[0].insert(summary.rows[0].end(), {std::uint64_t{5}, std::uint64_t{5}});
    const std::vector<std::pair<HistogramShape, Answer>> figures{
        {HistogramShape::kLinear, histogram_of({{5, 5, 10}})},
        {HistogramShape::kCumulative, histogram_of({{5, 5, 10}})},
        {HistogramShape::kLog2, histogram_of({{4, 7, 10}})}};
    for (const auto& [shape, histogram] : figures) {
        const Figure figure = histogram_figure(histogram, summary, shape);
        EXPECT_LT(figure.boxes.back().width, figure.width / 8);
        EXPECT_TRUE(has_words(figure, "all values are 5 ns"));
        for (const Words& words : figure.words) {
            EXPECT_NE(words.text, "median 112") << "no mark of what is the only value";
        }
    }
}

// A bar of a few values among thousands can't be seen: its count stands above it. The marks stand on a log2 axis, too.
TEST(HistogramFigure, Log2ShowsMedianAndRareBuckets) {
    const Figure figure = histogram_figure(
        histogram_of({{64, 127, 9'000}, {128, 255, 900}, {256, 511, 0}, {512, 1'023, 3}, {1'024, 2'047, 1}}),
        summary_of("x"), HistogramShape::kLog2);
    const auto find = [&](const std::string& text) {
        return std::find_if(figure.words.begin(), figure.words.end(),
                            [&](const Words& words) { return words.text == text; });
    };
    ASSERT_NE(find("3"), figure.words.end());
    EXPECT_EQ(find("3")->x, 850 + 6'850 * 7 / 10);
    ASSERT_NE(find("1"), figure.words.end());
    EXPECT_EQ(find("900"), figure.words.end()) << "that bar can be seen";
    ASSERT_NE(find("median 112"), figure.words.end());
    // log2(112 ÷ 64) = 0.807 of the first bucket, a fifth of 685 pixels.
    EXPECT_NEAR(static_cast<double>(find("median 112")->x), 850 + 0.807 * 1'370 - 40, 2);
}

TEST(HistogramFigure, DecimalsStandInTheirUnit) {
    const Figure figure = histogram_figure(histogram_of({{12'000, 12'499, 5}, {12'500, 12'999, 2}}, "0.001 us"),
                                           summary_of("x"), HistogramShape::kLinear);
    EXPECT_TRUE(has_words(figure, "x [us]"));
    EXPECT_TRUE(has_words(figure, "12.2"));
    EXPECT_FALSE(has_words(figure, "12200"));
}

TEST(HistogramFigure, ExtremesAreDrawn) {
    const auto draws = [](const Answer& answer) {
        for (const auto shape : {HistogramShape::kLinear, HistogramShape::kLog2, HistogramShape::kCumulative}) {
            const std::string svg = svg_of(histogram_figure(answer, Answer{}, shape));
            EXPECT_TRUE(svg.ends_with("</svg>\n"));
            EXPECT_EQ(svg.find("=\"-"), std::string::npos) << svg;  // nothing outside the sheet
        }
    };
    draws(histogram_of({}));
    draws(histogram_of({{7, 7, 1}}));
    draws(histogram_of({{0, ~0ULL / 2, ~0ULL / 4}, {~0ULL / 2 + 1, ~0ULL, ~0ULL / 4}}));
    draws(histogram_of({{~0ULL, ~0ULL, 1}}));
}

TEST(Svg, TextFromATargetStaysText) {
    const std::string svg =
        svg_of(histogram_figure(article(), summary_of("a<script>&\"\x1b[2J\xff\u202e"), HistogramShape::kLinear));
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_NE(svg.find("a&lt;script&gt;&amp;&quot;\\x1b[2J\\xff\\u202e"), std::string::npos);
}

TEST(HistogramFigure, LongNamesStayInThePicture) {
    for (const char* letter : {"a", "é", "語"}) {
        std::string name;
        for (int i = 0; i < 200; ++i) {
            name += letter;
        }
        Answer summary = summary_of(name);
        summary.columns.push_back({"test_size", ""});
        summary.rows[0].emplace_back(~std::uint64_t{0});
        summary.rows[0][1] = name;  // the target
        const Figure figure = histogram_figure(article(), summary, HistogramShape::kLinear);
        for (const Words& words : figure.words) {
            const auto width =
                static_cast<Tenths>(text_width(words.text)) * words.size * (words.is_bold ? 70 : 60) / 100;
            if (words.anchor == Anchor::kStart) {
                EXPECT_LE(words.x + width, figure.width) << words.text;
            }
        }
        EXPECT_TRUE(has_words(figure, std::string{letter} + ", N = 18446744073709551615")) << "with its end";
        EXPECT_TRUE(has_words(figure, "MAD 6 · p95 154 ns"));  // what the line is for
    }
}

TEST(Png, HasTwiceTheFiguresPixelsAndTheSameBytesEachTime) {
    const Figure figure = histogram_figure(article(), summary_of("fib_lookup"), HistogramShape::kLinear);
    const auto png = png_of(figure);
    ASSERT_TRUE(png.ok());
    EXPECT_EQ(png->substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(png->substr(12, 12), (std::string{"IHDR\0\0\x06\x40\0\0\x03\xc0", 12}));  // 1,600 × 960
    EXPECT_EQ(*png_of(figure), *png);
    Figure other = figure;
    other.boxes.pop_back();
    EXPECT_NE(*png_of(other), *png);
    EXPECT_TRUE(png_of(histogram_figure(article(), summary_of("a\xff\x1b"), HistogramShape::kLog2)).ok());
}

}  // namespace
}  // namespace perfleet
