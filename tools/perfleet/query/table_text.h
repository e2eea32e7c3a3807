// How answers of table commands stand as text, where that isn't a table of all their columns, and what a text leaves
// out unless its reader says otherwise.
#pragma once

#include <string>
#include <string_view>

#include "daemon/option/option.h"
#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

struct TableText {
    std::string_view command;
    std::string (*format)(Answer answer, const OptionValues& values, const Screen& screen) = nullptr;  // null: as it is
    void (*add_defaults)(OptionValues& values) = nullptr;  // of options that weren't given
    // What it has beside its options and those of every table.
    bool is_report = false;        // options of perf report, and as many rows as the terminal has lines when watched
    bool measures = false;         // functions, here and now (--function), and figures of their histograms
    bool has_own_command = false;  // in a file of its own
    bool has_list = false;         // it is its own subcommand `list`, beside others
};

[[nodiscard]] const TableText& table_text_of(std::string_view command);

// Of an option that is text; empty where it isn't given, or is a flag of the command.
[[nodiscard]] std::string text_option(const OptionValues& values, const std::string& name);

}  // namespace perfleet
