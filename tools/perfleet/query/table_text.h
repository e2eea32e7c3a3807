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
    std::string (*format)(Answer answer, const OptionValues& values, const Screen& screen);
    void (*add_defaults)(OptionValues& values);  // of options that weren't given
};

[[nodiscard]] const TableText& table_text_of(std::string_view command);

// Of an option that is text; empty where it isn't given, or is a flag of the command.
[[nodiscard]] std::string text_option(const OptionValues& values, const std::string& name);

}  // namespace perfleet
