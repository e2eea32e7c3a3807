// For tests: queries with their options as a command line has them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/option/testing/option_texts.h"
#include "query-engine/statistic/command.h"

namespace perfleet {

using OptionTexts = std::map<std::string, std::string>;

// Options of other tables make it fail.
template <class Options>
[[nodiscard]] Result<Options> read_texts(const OptionTable<Options>& table, const OptionTexts& texts) {
    const Result<OptionValues> values = parse_options(table.specs(), texts);
    return values.ok() ? table.read(*values) : Result<Options>{Error{values.error()}};
}

[[nodiscard]] inline Result<Answer> run_text_query(std::string_view command, const OptionTexts& texts,
                                                   const StoreReader& store, const SymbolPaths& paths, UtcNs now) {
    const auto query = PERFLEET_TRY(find_query_command(command));
    std::vector<OptionSpec> options = query->selection();
    options.insert(options.end(), query->options.begin(), query->options.end());
    const Result<OptionValues> values = parse_options(options, texts);
    return values.ok() ? run_query(command, *values, store, paths, now) : Result<Answer>{Error{values.error()}};
}

}  // namespace perfleet
