#include "exporters/figure/figure_page.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "exporters/figure/figure_page_text.h"
#include "exporters/figure/figure_text.h"
#include "exporters/figure/heat_map_figure.h"
#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"
#include "exporters/sink/packed_json.h"
#include "query-engine/statistic/answer/value_unit.h"
#include "query-engine/statistic/latency/heat_map.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

using Json = nlohmann::ordered_json;

// A page without its content. The summary's figures go beside the drawing, in the order of its columns.
FigurePage page_of(const std::string& kind, const ValueUnit& unit, const Answer& answer, const Answer& summary,
                   const FigureOrigin& origin) {
    FigurePage page;
    page.kind = kind;
    page.unit = unit.name;
    page.decimals = unit.decimals;
    page.ledgers.emplace_back("rows", answer.ledger);
    page.warnings = answer.warnings;
    const std::string what = "latency " + kind;
    const auto part = [&](const char* name) { return figure_text(summary, name); };
    page.title = part("event").empty() ? what : part("event");
    page.subtitle = what;
    if (const std::string target = part("target"); !target.empty()) {
        page.subtitle += " of " + target;
    }
    if (const std::string session = part("session"); !session.empty()) {
        page.subtitle += ", session " + session.substr(0, 8);
    }
    page.subtitle += origin_text(origin);
    constexpr std::array<std::string_view, 5> kInTitle{"session", "target", "event", "unit", "status"};
    for (std::size_t i = 0; i < summary.columns.size() && summary.rows.size() == 1; ++i) {
        const AnswerColumn& column = summary.columns[i];
        if (std::find(kInTitle.begin(), kInTitle.end(), column.name) == kInTitle.end() &&
            !std::holds_alternative<std::monostate>(summary.rows[0][i])) {
            page.figures.emplace_back(text_heading(column), text_cell(column, summary.rows[0][i]));
        }
    }
    return page;
}

Json decimal(std::uint64_t value) { return std::to_string(value); }

Json parts_json(const std::vector<HeatMap::Part>& parts) {
    Json low = Json::array();
    Json high = Json::array();
    for (const HeatMap::Part& part : parts) {
        low.push_back(decimal(part.low));
        high.push_back(decimal(part.high));
    }
    return Json{{"low", low}, {"high", high}};
}

Json buckets_json(const Answer& histogram) {
    Json from = Json::array();
    Json to = Json::array();
    Json count = Json::array();
    for (const std::vector<AnswerValue>& row : histogram.rows) {
        from.push_back(decimal(whole(row[0])));
        to.push_back(decimal(whole(row[1])));
        count.push_back(decimal(whole(row[2])));
    }
    return Json{{"from", from}, {"to", to}, {"count", count}};
}

}  // namespace

std::string origin_text(const FigureOrigin& origin) {
    constexpr std::size_t kSecondsEnd = 19;  // of 2026-11-30T12:41:33
    constexpr std::size_t kCommandColumnsMax = 60;
    std::string time = origin.time.substr(0, kSecondsEnd);
    std::replace(time.begin(), time.end(), 'T', ' ');
    return (time.empty() ? "" : ", " + time + " UTC") +
           (origin.command.empty() ? "" : ": " + shortened_title(origin.command, kCommandColumnsMax));
}

bool spans_decades(const Answer& histogram) {
    // The last bucket may be for values beyond the others; the one before it ends at a high percentile.
    const std::size_t count = histogram.rows.size();
    return count > 1 && whole(histogram.rows[count - 2][1]) / kHeatMapSpanMax >=
                            std::max<std::uint64_t>(whole(histogram.rows[0][0]), 1);
}

std::string figure_json(const FigurePage& page) {
    Json figures = Json::array();
    for (const auto& [name, text] : page.figures) {
        figures.push_back(Json::array({printable(name), printable(text)}));
    }
    Json ledgers = Json::array();
    for (const auto& [name, ledger] : page.ledgers) {
        ledgers.push_back(Json{
            {"name", name}, {"text", printable(ledger_line(ledger))}, {"is_whole", ledger.produced == ledger.stored}});
    }
    Json warnings = Json::array();
    for (const std::string& warning : page.warnings) {
        warnings.push_back(printable(warning));
    }
    const Json head{{"format", 1},
                    {"kind", page.kind},
                    {"title", printable(page.title)},
                    {"subtitle", printable(page.subtitle)},
                    {"unit", printable(page.unit)},
                    {"decimals", page.decimals},
                    {"figures", figures},
                    {"ledgers", ledgers},
                    {"warnings", warnings}};
    std::string json = head.dump();
    json.pop_back();
    return json + "," + page.content + "}";
}

std::string figure_page(const FigurePage& page) {
    return std::string{kFigurePageBeforeData} + packed_json(figure_json(page)) + std::string{kFigurePageBehindData};
}

std::string histogram_page(const Answer& histogram, const Answer& summary, HistogramShape shape, const Answer* log2,
                           const FigureOrigin& origin) {
    const ValueUnit unit = value_unit(histogram.columns.empty() ? "" : histogram.columns[0].unit);
    FigurePage page = page_of("histogram", unit, histogram, summary, origin);
    Json marks = Json::array();
    for (const char* name : {"median", "p95", "p99"}) {
        if (const auto value = figure_of(summary, name)) {
            const auto* const real = std::get_if<double>(&*value);
            const double in_unit = real != nullptr ? *real : static_cast<double>(whole(*value));
            marks.push_back(Json::array({name, in_unit / static_cast<double>(unit.worth())}));
        }
    }
    const char* const shape_name = shape == HistogramShape::kLog2     ? "log2"
                                   : shape == HistogramShape::kLinear ? "linear"
                                                                      : "cumulative";
    Json content = buckets_json(histogram);
    content["shape"] = shape_name;
    content["marks"] = marks;
    content["log2"] = log2 == nullptr ? Json{} : buckets_json(*log2);
    page.content = "\"histogram\":" + content.dump();
    return figure_page(page);
}

std::string heat_map_page(const Answer& answer, const Answer& summary, const FigureOrigin& origin) {
    const HeatMap map = heat_map_of(answer);
    FigurePage page = page_of("heat map", map.unit, answer, summary, origin);
    Json time = Json::array();
    Json step = Json::array();
    Json count = Json::array();
    for (const HeatMap::Cell& cell : map.cells) {
        time.push_back(cell.time);
        step.push_back(cell.step);
        count.push_back(decimal(cell.count));
    }
    page.content = "\"heat_map\":" + Json{{"begin", map.begin_time},
                                          {"times", parts_json(map.times)},
                                          {"steps", parts_json(map.steps)},
                                          {"has_rest", map.has_rest},
                                          {"cells", {{"time", time}, {"step", step}, {"count", count}}}}
                                         .dump();
    return figure_page(page);
}

}  // namespace perfleet
