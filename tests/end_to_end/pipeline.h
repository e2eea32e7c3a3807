// Queries to the whole pipeline under test: by the command line, and by the real perf.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace perfleet::end_to_end {

// `perfleet ARGUMENTS`, which must succeed; its standard output.
[[nodiscard]] std::string perfleet(std::vector<std::string> arguments);

// `perfleet ARGUMENTS --format json` as JSON.
[[nodiscard]] nlohmann::json perfleet_json(std::vector<std::string> arguments);

// Rows of a table answer as objects by column name.
[[nodiscard]] std::vector<nlohmann::json> rows_of(const nlohmann::json& answer);

// produced = stored + expired + the sum of lost (+ pending, when there is any).
void expect_ledger_adds_up(const nlohmann::json& answer);

// What the real `perf report` counts in a file, by (command, symbol). Its standard error must be empty, except for lost
// records where some were lost. HOME is `home`, so that no user's ~/.debug or ~/.perfconfig matters.
[[nodiscard]] std::map<std::pair<std::string, std::string>, std::uint64_t> perf_report_counts(const std::string& file,
                                                                                              const std::string& home,
                                                                                              bool may_miss_some);

// Sums `top`'s self counts by (command, symbol).
[[nodiscard]] std::map<std::pair<std::string, std::string>, std::uint64_t> top_counts(const nlohmann::json& top);

}  // namespace perfleet::end_to_end
