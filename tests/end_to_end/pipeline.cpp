#include "tests/end_to_end/pipeline.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

using nlohmann::json;

std::string perfleet(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_path("perfleet"));
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    return finished.output;
}

json perfleet_json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const std::string output = perfleet(std::move(arguments));
    json answer = json::parse(output, nullptr, false);
    EXPECT_FALSE(answer.is_discarded()) << output;
    return answer;
}

std::vector<json> rows_of(const json& answer) {
    std::vector<json> rows;
    for (const json& values : answer.at("rows")) {
        json row = json::object();
        for (std::size_t i = 0; i < values.size(); ++i) {
            row[answer.at("columns").at(i).at("name").get<std::string>()] = values.at(i);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

void expect_ledger_adds_up(const json& answer) {
    const json& ledger = answer.at("ledger");
    std::uint64_t accounted = ledger.at("stored").get<std::uint64_t>() + ledger.at("expired").get<std::uint64_t>();
    for (const auto& [reason, count] : ledger.at("lost").items()) {
        accounted += count.get<std::uint64_t>();
    }
    accounted += ledger.value("pending", std::uint64_t{0});
    EXPECT_EQ(ledger.at("produced").get<std::uint64_t>(), accounted) << ledger.dump();
}

std::map<std::pair<std::string, std::string>, std::uint64_t> perf_report_counts(const std::string& file,
                                                                                const std::string& home) {
    Process::Options options;
    options.environment = {"HOME=" + home, "PERF_CONFIG=/dev/null"};
    // Named widths: left to itself perf cuts a command's name to the length of the first one that its thread had.
    const Finished report = run({"/usr/bin/perf", "report", "--stdio", "--no-children", "-g", "none", "--percent-limit",
                                 "0", "-F", "sample,comm,sym", "-w", "12,16,2000", "-t", "|", "-i", file},
                                options);
    EXPECT_EQ(report.ending.status, 0);
    EXPECT_EQ(report.error_output, "");
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    static const std::regex kLine{R"(^\s*(\d+)\s*\|(.*?)\s*\|\[[.kguH!]\] (.*?)\s*$)"};
    std::istringstream lines{report.output};
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_match(line, match, kLine)) {
            counts[{match[2], match[3]}] += std::stoull(match[1]);
        }
    }
    return counts;
}

std::map<std::pair<std::string, std::string>, std::uint64_t> top_counts(const json& top) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const json& row : rows_of(top)) {
        counts[{row.at("command").get<std::string>(), row.at("symbol").get<std::string>()}] +=
            row.at("self").get<std::uint64_t>();
    }
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
    return counts;
}

}  // namespace perfleet::end_to_end
