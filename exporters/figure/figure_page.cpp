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
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

using Json = nlohmann::ordered_json;

// A page without its content. The summary's figures go beside the drawing, in the order of its columns.
FigurePage page_of(const std::string& kind, const ValueUnit& unit, const Answer& answer, const Answer& summary) {
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

}  // namespace

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

std::string histogram_page(const Answer& histogram, const Answer& summary, HistogramShape shape) {
    const ValueUnit unit = value_unit(histogram.columns.empty() ? "" : histogram.columns[0].unit);
    FigurePage page = page_of("histogram", unit, histogram, summary);
    Json from = Json::array();
    Json to = Json::array();
    Json count = Json::array();
    for (const std::vector<AnswerValue>& row : histogram.rows) {
        from.push_back(decimal(whole(row[0])));
        to.push_back(decimal(whole(row[1])));
        count.push_back(decimal(whole(row[2])));
    }
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
    page.content = "\"histogram\":" +
                   Json{{"shape", shape_name}, {"from", from}, {"to", to}, {"count", count}, {"marks", marks}}.dump();
    return figure_page(page);
}

std::string heat_map_page(const Answer& answer, const Answer& summary) {
    const HeatMap map = heat_map_of(answer);
    FigurePage page = page_of("heat map", map.unit, answer, summary);
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
