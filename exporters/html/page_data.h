// The data of a page as JSON, compressed in its `<script id="data">` (exporters/sink/packed_json.h).
//
//   {"format":1, "title":…, "event":…, "unit":…, "weight_of_one":x, "sampled":bool,
//    "sessions":[{"id":…,"name":…,"target":…,"architecture":…,"command":…}], "session_count":n,
//    "strings":[…],                                          each once
//    "functions":{"name":[…],"image":[…]},                   numbers of strings; image -1: a command
//    "frames":{"depth":[…],"function":[…]},                  in pre-order; depth 0: commands
//    "cells":{"frame":[…],"slice":[…],"value":[…]},          ascending; frames as differences to the one before
//    "slices":{"start_ns":"…","width_ns":"…","count":n},     UTC; decimal text, for numbers of JavaScript are too short
//    "before":null or {"name":…,"slices":{…},"sessions":[…],"session_count":n,
//                      "verdicts":{"function":[…],"self":[…],"change":[-1|0|1],"text":[…]}},
//    "cut":{"frames":n,"value":n}, "ledgers":[{"name":…,"text":…,"is_whole":bool}], "warnings":[…]}
//
// Slices of `before` are numbered after those of `slices`. Names are passed through printable(): control characters and
// those that change the text's direction are escaped.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exporters/html/flame_graph.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

struct TimeSlices {
    std::int64_t start_ns = 0;  // UTC
    std::int64_t width_ns = 0;
    std::uint32_t count = 1;
};

struct PageSession {
    std::string id;
    std::string name;
    std::string target;
    std::string architecture;
    std::string command;  // what was recorded
};

struct PageSide {
    TimeSlices slices;
    std::vector<PageSession> sessions;  // the first of them
    std::size_t session_count = 0;
};

// The verdict of `diff` on one function.
struct PageVerdict {
    std::uint32_t function = 0;
    bool is_self = false;  // else including callees
    int change = 0;        // 1: more; -1: less; 0: no difference shown
    std::string text;
};

struct PageData {
    std::string title;
    std::string event;
    std::string unit;
    double weight_of_one = 1;     // amount of one of as many samples of equal weights (Kish)
    bool is_sampled = false;      // shares are estimates
    bool is_independent = false;  // of samples without times: imported values
    PageSide side;
    bool has_before = false;
    PageSide before;
    std::string before_name = "before";  // as in "more than 12 samples before"
    std::vector<PageVerdict> verdicts;
    FlameGraph graph;
    std::vector<std::pair<std::string, Ledger>> ledgers;
    std::vector<std::string> warnings;
};

[[nodiscard]] std::string page_json(const PageData& data);
[[nodiscard]] std::string html_page(const PageData& data);

}  // namespace perfleet
