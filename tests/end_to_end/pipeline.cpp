#include "tests/end_to_end/pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

using nlohmann::json;

namespace {

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

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
                                                                                const std::string& home,
                                                                                bool may_miss_some) {
    Process::Options options;
    options.environment = {"HOME=" + home, "PERF_CONFIG=/dev/null"};
    // Named widths: by default perf cuts a command's name to the length of the first one of its thread.
    const Finished report = run({"/usr/bin/perf", "report", "--stdio", "--no-children", "-g", "none", "--percent-limit",
                                 "0", "-F", "sample,comm,sym", "-w", "12,16,2000", "-t", "|", "-i", file},
                                options);
    EXPECT_EQ(report.ending.status, 0);
    if (!may_miss_some || report.error_output.find(" and lost ") == std::string::npos) {
        EXPECT_EQ(report.error_output, "");
    }
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    std::istringstream lines{report.output};
    for (std::string line; std::getline(lines, line);) {
        // "     661|shares_workload |[.] work_a"
        const std::size_t first = line.find('|');
        const std::size_t second = first == std::string::npos ? first : line.find('|', first + 1);
        const std::size_t mark = second == std::string::npos ? second : line.find("] ", second);
        const std::uint64_t count = std::strtoull(line.c_str(), nullptr, 10);
        if (mark == std::string::npos || count == 0) {
            continue;
        }
        counts[{trimmed(line.substr(first + 1, second - first - 1)), trimmed(line.substr(mark + 2))}] += count;
    }
    return counts;
}

std::map<std::pair<std::string, std::string>, std::uint64_t> top_counts(const json& top) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const json& row : rows_of(top)) {
        counts[{row.at("command").get<std::string>(), row.at("symbol").get<std::string>()}] +=
            row.at("self_samples").get<std::uint64_t>();
    }
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
    return counts;
}

}  // namespace perfleet::end_to_end
