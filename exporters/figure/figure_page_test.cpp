// Heat maps as figures, and the pages of figures: the data for a browser equal the answer.
#include "exporters/figure/figure_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exporters/figure/heat_map_figure.h"
#include "exporters/figure/heat_map_text.h"
#include "exporters/sink/testing/page_json.h"

namespace perfleet::figure_page_test {
namespace {

using Json = nlohmann::json;

const std::string kOdd = "it's \"<b>\" </script> ünï\\cødé\x01";

// begin, from, count; parts of 10 ns and 5 of the unit; from 100 on what lies beyond.
Answer map_of(const std::vector<std::array<std::uint64_t, 3>>& cells, const std::string& unit = "ns") {
    Answer answer;
    answer.columns = {{"time", ""}, {"begin", "ns"}, {"end", "ns"}, {"from", unit}, {"to", unit}, {"count", ""}};
    for (const auto& [begin, from, count] : cells) {
        answer.rows.push_back({std::string{"2026-11-27T01:02:03.000000Z"}, begin, begin + 10, from,
                               from >= 100 ? from + 900 : from + 4, count});
        answer.ledger.produced += count;
        answer.ledger.stored += count;
    }
    return answer;
}

Answer summary_of(const std::string& event) {
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""}, {"event", ""}, {"median", "ns"}, {"p95", "ns"}};
    answer.rows = {{std::string{"c0ffee00c0ffee00"}, kOdd, event, 112.0, std::uint64_t{154}}};
    return answer;
}

// The data of a page, and that there is no other element in it than the page's own.
Json data_of(const std::string& page) {
    EXPECT_NE(page.find("Content-Security-Policy"), std::string::npos);
    EXPECT_EQ(page.find("<b>"), std::string::npos);
    EXPECT_EQ(page.find('\x01'), std::string::npos);
    for (const char* outside : {"http://", "https://", "@DATA@", "@SCRIPT@", "@STYLE"}) {
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    }
    return Json::parse(json_of_page(page));
}

TEST(FigurePage, OfAHistogramHasItsBuckets) {
    Answer answer;
    answer.columns = {
        {"from", "0.001 us"}, {"to", "0.001 us"}, {"count", ""}, {"so_far", ""}, {"so_far_share", "percent"}};
    answer.rows = {{std::uint64_t{72}, std::uint64_t{76}, std::uint64_t{51}, std::uint64_t{51}, 0.0},
                   {std::uint64_t{77}, ~std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{54}, 0.0}};
    answer.warnings = {kOdd};
    const Json data = data_of(histogram_page(answer, summary_of(kOdd), HistogramShape::kCumulative));
    EXPECT_EQ(data["kind"], "histogram");
    EXPECT_EQ(data["unit"], "us");
    EXPECT_EQ(data["decimals"], 3);
    EXPECT_EQ(data["histogram"]["shape"], "cumulative");
    EXPECT_EQ(data["histogram"]["from"], (Json{"72", "77"}));
    EXPECT_EQ(data["histogram"]["to"], (Json{"76", "18446744073709551615"}));
    EXPECT_EQ(data["histogram"]["count"], (Json{"51", "3"}));
    EXPECT_EQ(data["histogram"]["marks"][0], (Json{"median", 112'000.0}));  // figures are in the unit, values in parts
    EXPECT_NE(data["title"].get<std::string>().find("</script> ünï"), std::string::npos);
    EXPECT_EQ(data["warnings"].size(), 1U);
    EXPECT_EQ(data["figures"], Json::parse(R"([["median [ns]","112.00"],["p95 [ns]","154"]])"));
}

TEST(FigurePage, OfAHeatMapHasItsCells) {
    const Answer answer = map_of({{0, 5, 3}, {0, 100, 1}, {30, 5, 2}, {30, 15, 7}});
    const Json data = data_of(heat_map_page(answer, summary_of("x")))["heat_map"];
    EXPECT_EQ(data["times"]["low"], (Json{"0", "30"}));
    EXPECT_EQ(data["steps"]["low"], (Json{"5", "15", "100"}));
    EXPECT_EQ(data["has_rest"], true);
    EXPECT_EQ(data["cells"]["time"], (Json{0, 0, 1, 1}));
    EXPECT_EQ(data["cells"]["step"], (Json{0, 2, 0, 1}));
    EXPECT_EQ(data["cells"]["count"], (Json{"3", "1", "2", "7"}));
    EXPECT_EQ(data["begin"], "2026-11-27T01:02:03.000000Z");
}

TEST(FigurePage, OfValuesThatSpanDecadesHasPowersOfTwo) {
    const auto histogram = [](const std::vector<std::array<std::uint64_t, 3>>& buckets) {
        Answer answer;
        answer.columns = {{"from", "ns"}, {"to", "ns"}, {"count", ""}, {"so_far", ""}, {"so_far_share", "percent"}};
        for (const auto& [from, to, count] : buckets) {
            answer.rows.push_back({from, to, count, count, 0.0});
        }
        return answer;
    };
    const Answer wide = histogram({{10, 999, 50}, {1'000, 1'999, 3}, {2'000, 9'000, 1}});
    EXPECT_TRUE(spans_decades(wide));
    EXPECT_FALSE(spans_decades(histogram({{10, 499, 50}, {500, 989, 3}, {990, 9'000, 1}})));
    const Answer log2 = histogram({{8, 15, 20}, {16, 31, 34}});
    const std::string page = histogram_page(wide, summary_of("x"), HistogramShape::kLinear, &log2,
                                            {"make <b>", "2026-11-30T12:41:33.083906694Z"});
    const Json data = data_of(page);
    EXPECT_EQ(data["histogram"]["log2"]["to"], (Json{"15", "31"}));
    EXPECT_TRUE(data["subtitle"].get<std::string>().ends_with(", 2026-11-30 12:41:33 UTC: make <b>"))
        << data["subtitle"];
    EXPECT_TRUE(data_of(histogram_page(wide, summary_of("x"), HistogramShape::kLinear))["histogram"]["log2"].is_null());
}

TEST(FigurePage, OfNothingIsAPage) {
    EXPECT_EQ(data_of(heat_map_page(map_of({}), Answer{}))["heat_map"]["cells"]["count"], Json::array());
    EXPECT_EQ(data_of(histogram_page(Answer{}, Answer{}, HistogramShape::kLog2))["histogram"]["from"], Json::array());
}

TEST(HeatMapFigure, HasABoxForEachCell) {
    const Figure figure = heat_map_figure(map_of({{0, 5, 3}, {0, 100, 1}, {30, 5, 2}, {30, 15, 7}}), summary_of(kOdd));
    std::size_t darkest = 0;
    std::size_t cells = 0;
    for (const FilledBox& box : figure.boxes) {
        const bool is_legend = box.width == 110 && box.height == 110;
        const bool is_paper = box.colour == Colour{246, 247, 249};
        cells += is_legend || is_paper ? 0 : 1;
        darkest += !is_legend && box.colour == Colour{6, 41, 92} ? 1 : 0;
    }
    EXPECT_EQ(cells, 4U);
    EXPECT_EQ(darkest, 1U);  // that of seven values
    const std::string svg = svg_of(figure);
    EXPECT_EQ(svg.find("</script>"), std::string::npos);
    EXPECT_NE(svg.find("&lt;/script&gt;"), std::string::npos);
    ASSERT_TRUE(png_of(figure).ok());
    EXPECT_NE(svg_of(heat_map_figure(map_of({}), Answer{})).find("no values"), std::string::npos);
}

// Steps are quarters of powers of two.
TEST(HeatMapFigure, OfDecadesHasALogarithmicAxis) {
    Answer answer = map_of({{0, 5, 3}, {0, 14, 1}, {30, 1'024, 2}});
    answer.rows[0][4] = std::uint64_t{5};
    answer.rows[1][4] = std::uint64_t{15};
    answer.rows[2][4] = std::uint64_t{1'279};
    EXPECT_EQ(data_of(heat_map_page(answer, summary_of("x")))["heat_map"]["has_rest"], false);
    const std::string svg = svg_of(heat_map_figure(answer, summary_of("x")));
    EXPECT_NE(svg.find(">10 ns<"), std::string::npos);
    EXPECT_NE(svg.find(">1 us<"), std::string::npos);
    EXPECT_EQ(svg.find("beyond"), std::string::npos);
    Screen screen;
    screen.width_columns = 60;
    const std::string text = heat_map_text(answer, screen);
    EXPECT_NE(text.find("\n896 | "), std::string::npos) << text;
    EXPECT_NE(text.find("\n  5 |@"), std::string::npos) << text;
}

TEST(HeatMapText, HasALineForEachStep) {
    Screen screen;
    screen.width_columns = 60;
    EXPECT_EQ(heat_map_text(map_of({{0, 5, 3}, {0, 100, 1}, {190, 5, 2}, {190, 15, 7}}), screen),
              "13 values from 2026-11-27T01:02:03.000000Z; each line begins at its value in ns\n"
              "beyond |.\n"
              "    15 |                   @\n"
              "    10 |\n"
              "     5 |*                  =\n"
              "       +--------------------\n"
              "        0             200 ns\n"
              "        .:-=+*#%@ from 1 to 7 values\n");
    EXPECT_EQ(heat_map_text(map_of({}), screen), "no values\n");
}

TEST(SubsecondText, HasALineForEachPartOfASecond) {
    Answer answer;
    answer.columns = {{"time", ""}, {"begin", "ns"}, {"end", "ns"}, {"from", "ns"}, {"to", "ns"}, {"amount", "ns"}};
    const auto cell = [&](std::uint64_t second, std::uint64_t ms, std::uint64_t amount) {
        constexpr std::uint64_t kSecond = 1'000'000'000;
        answer.rows.push_back({std::string{"2026-11-27T01:02:03.000000000Z"}, second * kSecond, (second + 1) * kSecond,
                               ms * 1'000'000, (ms + 200) * 1'000'000 - 1, amount});
    };
    cell(0, 0, 1'000'000);
    cell(0, 400, 30'000'000);
    cell(2, 400, 2'000'000);
    EXPECT_EQ(subsecond_text(answer, Screen{}),
              "33.00 ms from 2026-11-27T01:02:03.000000000Z; each line begins at its place within the second\n"
              "400 ms |@ %\n"
              "200 ms |\n"
              "  0 ms |%\n"
              "       +---\n"
              "        0 3 s\n"
              "        .:-=+*#%@ up to 30.00 ms\n");
    answer.rows.clear();
    EXPECT_EQ(subsecond_text(answer, Screen{}), "no samples\n");
}

}  // namespace
}  // namespace perfleet::figure_page_test
