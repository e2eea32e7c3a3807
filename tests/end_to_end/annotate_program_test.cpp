// `perfleet annotate` of a real program.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "exporters/sink/testing/page_json.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::annotate_program_test {
namespace {

class AnnotateProgram : public testing::Test {
protected:
    void SetUp() override {
        if (run({"sh", "-c", "command -v objdump"}).ending.status != 0) {
            GTEST_SKIP() << "objdump is not installed";
        }
        // A copy, to be replaced by another build.
        record("cp '" + workload_path("shares_workload") + "'");
    }

    // `make` is a command that makes the program of its last argument.
    void record(const std::string& make) const {
        const Finished recorded =
            run({"sh", "-c",
                 make + " '" + program_ + "' && '" + program_path("perfleet") +
                     "' record -q -e cpu-clock -F 1999 --data '" + data_ + "' -- '" + program_ + "' 0.5"});
        ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    }

    [[nodiscard]] Finished perfleet(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        arguments.insert(arguments.end(), {"--data", data_});
        return run(arguments);
    }
    [[nodiscard]] nlohmann::json table(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"--format", "json"});
        const Finished finished = perfleet(arguments);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished.ending.status == 0 ? nlohmann::json::parse(finished.output) : nlohmann::json{};
    }
    static std::size_t index_of(const nlohmann::json& table, const std::string& name) {
        std::size_t index = 0;
        while (table["columns"][index]["name"] != name) {
            ++index;
        }
        return index;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    std::string program_ = folder_ / "program";
};

TEST_F(AnnotateProgram, CountsOfInstructionsAddUpToTop) {
    const auto top = table({"top", "--image", "program"});
    const auto& first = top["rows"][0];
    const std::string symbol = first[index_of(top, "symbol")];
    const auto annotated = table({"annotate", symbol});
    std::uint64_t samples = 0;
    std::size_t instruction_count = 0;
    std::size_t counted_count = 0;
    for (const auto& row : annotated["rows"]) {
        if (const auto& count = row[index_of(annotated, "self")]; !count.is_null()) {
            samples += count.get<std::uint64_t>();
            instruction_count += row[index_of(annotated, "text")] == "" ? 0 : 1;
            counted_count += count == 0 ? 0 : 1;
        }
    }
    EXPECT_EQ(samples, first[index_of(top, "self")]);
    EXPECT_GT(instruction_count, 5U);
    // The processor decides on how many instructions samples fall: as many as script shows addresses.
    std::set<std::string> addresses;
    std::istringstream rows{perfleet({"script", "--format", "json", "-F", "ip,sym"}).output};
    for (std::string line; std::getline(rows, line);) {
        const auto row = nlohmann::json::parse(line);
        if (row["sym"] == symbol) {
            addresses.insert(row["ip"].get<std::string>());
        }
    }
    EXPECT_EQ(counted_count, addresses.size());
    EXPECT_GT(counted_count, 0U);

    const Finished text = perfleet({"annotate", symbol, "--no-source"});
    EXPECT_NE(text.output.find("ret"), std::string::npos) << text.output;
    EXPECT_EQ(text.output.find("\x1b["), std::string::npos) << "no colours in a pipe";
    const Finished source = perfleet({"annotate", symbol});
    EXPECT_NE(source.output.find(".c"), std::string::npos) << source.output;
}

TEST_F(AnnotateProgram, ShowsFunctionsOfStrippedPrograms) {
    const std::string place = "[program+0x";
    std::filesystem::remove_all(data_);  // whose symbols are of the same build
    record("strip -o '" + program_ + "' '" + workload_path("shares_workload") + "' && true");
    const auto top = table({"top", "--image", "program"});
    std::vector<std::string> symbols;
    for (const auto& row : top["rows"]) {
        symbols.push_back(row[index_of(top, "symbol")]);
        EXPECT_EQ(symbols.back().compare(0, place.size(), place), 0) << symbols.back();
    }
    EXPECT_GE(symbols.size(), 3U) << "its three functions";
    const auto annotated = table({"annotate", symbols.at(0)});
    std::uint64_t samples = 0;
    for (const auto& row : annotated["rows"]) {
        const auto& count = row[index_of(annotated, "self")];
        samples += count.is_null() ? 0 : count.get<std::uint64_t>();
    }
    EXPECT_EQ(samples, top["rows"][0][index_of(top, "self")]);
    const Finished text = perfleet({"annotate", symbols.at(0)});
    EXPECT_NE(text.output.find("ret"), std::string::npos) << text.output;

    // In another build they would begin elsewhere, so what compares has one row of them.
    record("true");
    const std::string page = folder_ / "page.html";
    ASSERT_EQ(perfleet({"flamegraph", "--before", "last~1", "-o", page}).ending.status, 0);
    for (const std::string& compared :
         {perfleet({"diff", "--format", "csv"}).output, json_of_page(run({"cat", page}).output)}) {
        EXPECT_NE(compared.find("[program]"), std::string::npos);
        EXPECT_EQ(compared.find(place), std::string::npos);
    }
}

TEST_F(AnnotateProgram, NamesWhatIsMissing) {
    const auto top = table({"top", "--image", "program"});
    const std::string symbol = top["rows"][0][index_of(top, "symbol")];
    const Finished no_objdump = perfleet({"annotate", symbol, "--objdump", "no-such-objdump"});
    EXPECT_EQ(no_objdump.ending.status, 1);
    EXPECT_NE(no_objdump.error_output.find("binutils"), std::string::npos) << no_objdump.error_output;
    const Finished no_symbol = perfleet({"annotate"});
    EXPECT_EQ(no_symbol.ending.status, 2);
    EXPECT_NE(no_symbol.error_output.find("name a function"), std::string::npos) << no_symbol.error_output;
    const Finished no_samples = perfleet({"annotate", "nowhere_at_all"});
    EXPECT_EQ(no_samples.ending.status, 1);
    EXPECT_NE(no_samples.error_output.find("no samples"), std::string::npos) << no_samples.error_output;

    // Another build in its place: never its instructions.
    ASSERT_EQ(run({"cp", workload_path("getppid_workload"), program_}).ending.status, 0);
    const Finished other_build = perfleet({"annotate", symbol});
    EXPECT_EQ(other_build.output.find("ret"), std::string::npos) << other_build.output;
    EXPECT_NE(other_build.error_output.find("build"), std::string::npos) << other_build.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::annotate_program_test
