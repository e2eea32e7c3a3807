// Source lines and inlined functions of a real program, in each of the ways to look at a profile.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "exporters/sink/testing/page_json.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::source_lines_program_test {
namespace {

class SourceLinesProgram : public testing::Test {
protected:
    void SetUp() override {
        const Finished recorded = run({program_path("perfleet"), "record", "-q", "-e", "cpu-clock", "-F", "1999", "-g",
                                       "--data", data_, "--", PERFLEET_INLINE_FIXTURE, "800"});
        ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    }

    [[nodiscard]] Finished perfleet(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        arguments.insert(arguments.end(), {"--data", data_});
        Finished finished = run(arguments);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished;
    }
    [[nodiscard]] nlohmann::json table(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"--format", "json"});
        return nlohmann::json::parse(perfleet(arguments).output);
    }
    static std::size_t index_of(const nlohmann::json& table, const std::string& name) {
        std::size_t index = 0;
        while (table["columns"][index]["name"] != name) {
            ++index;
        }
        return index;
    }
    static std::uint64_t sum_of(const nlohmann::json& table, const std::string& column) {
        std::uint64_t sum = 0;
        for (const auto& row : table["rows"]) {
            sum += row[index_of(table, column)].get<std::uint64_t>();
        }
        return sum;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
};

TEST_F(SourceLinesProgram, InlinedFunctionsAreFrames) {
    const auto plain = table({"top"});
    const auto inlined = table({"top", "--inlines"});
    EXPECT_EQ(sum_of(plain, "self_samples"), sum_of(inlined, "self_samples"));
    const auto children_of = [](const nlohmann::json& top, const std::string& symbol) {
        for (const auto& row : top["rows"]) {
            if (row[index_of(top, "symbol")] == symbol) {
                return row[index_of(top, "children_samples")].get<std::uint64_t>();
            }
        }
        return std::uint64_t{0};
    };
    EXPECT_GT(children_of(plain, "fixture::outer"), 0U);
    EXPECT_EQ(children_of(inlined, "fixture::outer"), children_of(plain, "fixture::outer"));
    EXPECT_EQ(children_of(inlined, "main"), children_of(plain, "main"));
    EXPECT_EQ(children_of(plain, "fixture::innermost (inlined)"), 0U);
    EXPECT_GT(children_of(inlined, "fixture::innermost (inlined)"), 0U);

    // In the order of the source.
    std::vector<std::string> path;
    bool is_seen = false;
    const auto tree = table({"tree", "--inlines"});
    for (const auto& row : tree["rows"]) {
        path.resize(row[index_of(tree, "depth")].get<std::size_t>());
        path.push_back(row[index_of(tree, "symbol")]);
        const std::vector<std::string> wanted{"fixture::outer", "fixture::Values::sum (inlined)",
                                              "fixture::middle (inlined)", "fixture::innermost (inlined)"};
        is_seen = is_seen || (path.size() > 4 && std::equal(wanted.begin(), wanted.end(), path.end() - 4));
    }
    EXPECT_TRUE(is_seen);
    const std::string chain =
        "main;fixture::outer;fixture::Values::sum (inlined);fixture::middle (inlined);"
        "fixture::innermost (inlined) ";
    EXPECT_NE(perfleet({"export", "--to", "folded", "-o", "-", "--inlines"}).output.find(chain), std::string::npos);
    EXPECT_EQ(perfleet({"export", "--to", "folded", "-o", "-"}).output.find("(inlined)"), std::string::npos);
    const std::string page = folder_ / "page.html";
    (void)perfleet({"flamegraph", "--inlines", "-o", page});
    EXPECT_NE(json_of_page(run({"cat", page}).output).find("fixture::innermost (inlined)"), std::string::npos);
}

TEST_F(SourceLinesProgram, LinesAddUpToTheirFunctions) {
    const auto plain = table({"top", "--image", "inline_fixture_5"});
    const auto lines = table({"top", "--lines", "--image", "inline_fixture_5"});
    EXPECT_EQ(sum_of(plain, "self_samples"), sum_of(lines, "self_samples"));
    std::map<std::string, std::uint64_t> selves;
    bool has_line = false;
    for (const auto& row : lines["rows"]) {
        selves[row[index_of(lines, "symbol")]] += row[index_of(lines, "self_samples")].get<std::uint64_t>();
        const auto& line = row[index_of(lines, "line")];
        has_line = has_line || (line.is_string() && line.get<std::string>().starts_with("inline_fixture.cpp:"));
    }
    EXPECT_TRUE(has_line);
    for (const auto& row : plain["rows"]) {
        EXPECT_EQ(selves[row[index_of(plain, "symbol")]], row[index_of(plain, "self_samples")].get<std::uint64_t>());
    }
}

// `perf report -n --sort KEY` of the export. Where it knows no line it names the address. Of the dynamic linker, which
// is built in one unit, its addr2line names the unit's file for some functions of others.
TEST_F(SourceLinesProgram, CountsByLineAndProcessorArePerfs) {
    const std::string file = folder_ / "perf.data";
    (void)perfleet({"export", "--to", "perf.data", "-o", file});
    const auto is_of_linker = [](const std::string& image) { return image.find("ld-linux") != std::string::npos; };
    // Percent, samples, image if asked for, `file:line` or a processor.
    const std::regex row{"[^|]*\\| *([0-9]+) *\\|(?:(.*[^ ]) *\\|)?(.*:)?([0-9]+) *"};
    for (const auto& [key, column] : {std::pair{"dso,srcline", "line"}, {"cpu", "cpu"}}) {
        const Finished perf = run(
            {"perf", "report", "-i", file, "--stdio", "-g", "none", "--no-children", "-n", "-t", "|", "--sort", key});
        ASSERT_EQ(perf.ending.status, 0) << perf.error_output;
        std::map<std::string, std::uint64_t> expected;
        std::istringstream lines{perf.output};
        std::smatch match;
        for (std::string line; std::getline(lines, line);) {
            const bool is_row = !line.starts_with('#') && std::regex_match(line, match, row);
            const bool is_known = is_row && !is_of_linker(match.str(2)) && !match.str(3).starts_with("??") &&
                                  (match.str(3).empty() || match.str(4) != "0");
            if (is_known) {
                expected[match.str(3) + std::to_string(std::stoull(match.str(4)))] += std::stoull(match.str(1));
            }
        }
        const auto top = table({"top", "--sort", key});
        std::map<std::string, std::uint64_t> counts;
        for (const auto& one : top["rows"]) {
            const auto& value = one[index_of(top, column)];
            const auto self = one[index_of(top, "self_samples")].get<std::uint64_t>();
            const bool is_linker = value.is_string() && is_of_linker(one[index_of(top, "image")].get<std::string>());
            if (value != "[unknown]" && self != 0 && !is_linker) {
                counts[value.is_string() ? value.get<std::string>() : value.dump()] += self;
            }
        }
        EXPECT_FALSE(expected.empty()) << perf.output;
        EXPECT_EQ(counts, expected) << perf.output;
        EXPECT_EQ(sum_of(top, "self_samples"), sum_of(table({"top"}), "self_samples"));
    }
}

TEST_F(SourceLinesProgram, OptionsAreRefusedWhereTheyMeanNothing) {
    const Finished refused = run({program_path("perfleet"), "export", "--to", "speedscope", "--inlines", "-o",
                                  folder_ / "x.json", "--data", data_});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find("--inlines: isn't for --to speedscope"), std::string::npos)
        << refused.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::source_lines_program_test
