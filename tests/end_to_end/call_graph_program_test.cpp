// Call chains of Debian's own programs, which have no frame pointers.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::call_graph_program_test {
namespace {

class CallGraphProgram : public testing::Test {
protected:
    // Of the samples of `program`, how many have a chain that begins where programs begin.
    [[nodiscard]] double share_of_whole_chains(const std::string& mode, const std::string& program,
                                               const std::string& arguments) const {
        const std::string data = folder_ / ("data-" + mode);
        const Finished recorded = run({"sh", "-c",
                                       "exec '" + program_path("perfleet") + "' record -q --data '" + data +
                                           "' -e cpu-clock:u -F 1999 --call-graph " + mode + " -- " + program + " " +
                                           arguments + " > /dev/null"});
        EXPECT_EQ(recorded.ending.status, 0) << recorded.error_output;
        const Finished exported =
            run({program_path("perfleet"), "export", "--data", data, "--to", "folded", "-o", "-", "--comm", program});
        EXPECT_EQ(exported.ending.status, 0) << exported.error_output;
        std::istringstream lines{exported.output};
        double all = 0;
        double whole = 0;
        for (std::string line; std::getline(lines, line);) {
            const double count = std::stod(line.substr(line.rfind(' ') + 1));
            const std::size_t root = line.find(';') + 1;
            const std::string outermost = line.substr(root, line.find_first_of("; ", root) - root);
            all += count;
            // A stripped program's _start has no name; the loader's has.
            whole += outermost == "_start" || outermost.starts_with("[" + program + "+0x") ||
                             outermost == "__libc_start_main"
                         ? count
                         : 0;
        }
        EXPECT_GT(all, 100) << exported.output;
        return whole / all;
    }

    TemporaryFolder folder_;
};

TEST_F(CallGraphProgram, ChainsThroughLibrariesOfDebianAreWhole) {
    const std::string input = folder_ / "input";
    std::ofstream file{input};
    for (unsigned i = 0; i < 400'000; ++i) {
        file << i * 2'654'435'761U % 1'000'003 << '\n';
    }
    file.close();
    EXPECT_GT(share_of_whole_chains("dwarf", "xz", "-3 -k -c '" + input + "'"), 0.95);
    EXPECT_LT(share_of_whole_chains("fp", "xz", "-3 -k -c '" + input + "'"), 0.5);
    // What -g stands for: BPF, or copies where that isn't possible.
    EXPECT_GT(share_of_whole_chains("auto", "xz", "-3 -k -c '" + input + "'"), 0.95);
}

TEST_F(CallGraphProgram, WhatWasChosenIsSaid) {
    const Finished chosen =
        run({program_path("perfleet"), "record", "--data", folder_ / "said", "-e", "cpu-clock:u", "-g", "--", "true"});
    EXPECT_EQ(chosen.ending.status, 0) << chosen.error_output;
    EXPECT_NE(chosen.error_output.find("call chains "), std::string::npos) << chosen.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::call_graph_program_test
