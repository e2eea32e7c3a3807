// Text layouts of table commands that don't print all columns of their answer, and the defaults that shorten their
// text.
#pragma once

#include <string>
#include <string_view>

#include "daemon/option/option.h"
#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

struct TableText {
    std::string_view command;
    std::string (*format)(Answer answer, const OptionValues& values,
                          const Screen& screen) = nullptr;  // null: print all columns
    void (*add_defaults)(OptionValues& values) = nullptr;   // sets options that weren't given
    // Further options of the command:
    bool is_report = false;        // those of perf report; when watched, as many rows as fit the terminal
    bool measures = false;         // measures functions now (--function), and draws their histograms
    bool has_own_command = false;  // defined in a file of its own
    bool has_list = false;         // its table is the subcommand `list`, beside others
};

[[nodiscard]] const TableText& table_text_of(std::string_view command);

// The value of a text option; empty if it isn't given, or is a flag of the command.
[[nodiscard]] std::string text_option(const OptionValues& values, const std::string& name);

}  // namespace perfleet
