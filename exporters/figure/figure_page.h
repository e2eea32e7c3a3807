// Figures as HTML pages without network access (views of page/). The page's data:
//
//   {"format":1, "kind":"histogram"|"heat map"|"schedule", "title":…, "subtitle":…, "unit":…, "decimals":n,
//    "figures":[[name, text]], "ledgers":[{"name":…,"text":…,"is_whole":bool}], "warnings":[…],
//    "histogram":{"shape":"linear"|"log2"|"cumulative", "from":[…],"to":[…],"count":[…], "marks":[[name, value]],
//                 "log2":null or {"from":[…],"to":[…],"count":[…]}},
//    "heat_map":{"begin":…, "times":{"low":[…],"high":[…]}, "steps":{"low":[…],"high":[…]}, "has_rest":bool,
//                "cells":{"time":[…],"step":[…],"count":[…]}},
//    "schedule":…}                                                     schedule/schedule_page.h; one of these three
//
// Values and counts are decimal text, because numbers of JavaScript are less precise. Names are passed through
// printable().
//
// Pure functions.
#pragma once

#include <string>
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

// Where values come from; empty: unknown.
struct FigureOrigin {
    std::string command;
    std::string time;  // UTC
};
// ", 2026-11-30 12:41:33 UTC: make all", for a subtitle.
[[nodiscard]] std::string origin_text(const FigureOrigin& origin);

[[nodiscard]] std::string figure_json(const FigurePage& page);
[[nodiscard]] std::string figure_page(const FigurePage& page);

// `summary`: the row of `latency` over the same values, for the title, the figures and the marks. `log2`: the histogram
// in powers of two, for values that span decades; or null.
[[nodiscard]] std::string histogram_page(const Answer& histogram, const Answer& summary, HistogramShape shape,
                                         const Answer* log2 = nullptr, const FigureOrigin& origin = {});
[[nodiscard]] std::string heat_map_page(const Answer& heat_map, const Answer& summary, const FigureOrigin& origin = {});
// Whether a histogram of equal buckets leaves most of its values in a few of them.
[[nodiscard]] bool spans_decades(const Answer& histogram);

}  // namespace perfleet
