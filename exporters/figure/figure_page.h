// Figures as HTML pages without network access (views of page/). The page's data:
//
//   {"format":1, "kind":"histogram"|"heat map"|"schedule", "title":…, "subtitle":…, "unit":…, "decimals":n,
//    "figures":[[name, text]], "ledgers":[{"name":…,"text":…,"is_whole":bool}], "warnings":[…],
//    "histogram":{"shape":"linear"|"log2"|"cumulative", "from":[…],"to":[…],"count":[…], "marks":[[name, value]]},
//    "heat_map":{"begin":…, "times":{"low":[…],"high":[…]}, "steps":{"low":[…],"high":[…]}, "has_rest":bool,
//                "cells":{"time":[…],"step":[…],"count":[…]}},
//    "schedule":…}                                                     schedule/schedule_page.h; one of these three
//
// Values and counts are decimal text, because numbers of JavaScript are less precise. Names are given by printable().
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/figure/histogram_figure.h"
#include "query-engine/ledger/ledger.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

struct FigurePage {
    std::string kind;
    std::string title;
    std::string subtitle;
    std::string unit;  // of values
    unsigned decimals = 0;
    std::vector<std::pair<std::string, std::string>> figures;  // name, text
    std::vector<std::pair<std::string, Ledger>> ledgers;
    std::vector<std::string> warnings;
    std::string content;  // `"histogram":{…}` and the like, JSON
};

[[nodiscard]] std::string figure_json(const FigurePage& page);
[[nodiscard]] std::string figure_page(const FigurePage& page);

// `summary`: the row of `latency` over the same values, for the title, the figures and the marks.
[[nodiscard]] std::string histogram_page(const Answer& histogram, const Answer& summary, HistogramShape shape);
[[nodiscard]] std::string heat_map_page(const Answer& heat_map, const Answer& summary);

}  // namespace perfleet
