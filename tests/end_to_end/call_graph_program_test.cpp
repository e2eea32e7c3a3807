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

#if defined(__x86_64__)
// There are no unwind tables of them: by frame pointers, and marked where there are none.
TEST_F(CallGraphProgram, ChainsOfProgramsOf32BitsAreWholeByFramePointersOrMarked) {
    std::ofstream{folder_ / "program.c"} << R"(
        __attribute__((noinline)) unsigned inner(unsigned count) {
            volatile unsigned sum = 0;
            for (unsigned i = 0; i < count; ++i) sum += i * i;
            return sum;
        }
        __attribute__((noinline)) unsigned outer(void) {
            unsigned sum = 0;
            for (unsigned i = 0; i < 40; ++i) sum += inner(5000000);
            return sum;
        }
        __asm__(".globl _start\n_start: xor %ebp, %ebp\n call outer\n mov $1, %eax\n xor %ebx, %ebx\n int $0x80\n");
    )";
    for (const std::string frames : {"no-omit", "omit"}) {
        const std::string program = folder_ / frames;
        const Finished made = run({"sh", "-c",
                                   "gcc -m32 -O1 -nostdlib -static -ffreestanding -fno-pic -f" + frames +
                                       "-frame-pointer -o '" + program + "' '" + (folder_ / "program.c") + "'"});
        ASSERT_EQ(made.ending.status, 0) << made.error_output;
        if (run({program}).ending.status != 0) {
            GTEST_SKIP() << "this kernel runs no programs of 32 bits";
        }
        const std::string data = folder_ / ("data-" + frames);
        const Finished recorded =
            run({program_path("perfleet"), "record", "-q", "--data", data, "-e", "cpu-clock:u", "-g", "--", program});
        ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
        const Finished exported =
            run({program_path("perfleet"), "export", "--data", data, "--to", "folded", "-o", "-"});
        const std::string chain =
            frames + (frames == "omit" ? ";[truncated: no tables];inner " : ";_start;outer;inner ");
        EXPECT_NE(exported.output.find(chain), std::string::npos) << exported.output;
    }
}
#endif

TEST_F(CallGraphProgram, WhatWasChosenIsSaid) {
    const Finished chosen =
        run({program_path("perfleet"), "record", "--data", folder_ / "said", "-e", "cpu-clock:u", "-g", "--", "true"});
    EXPECT_EQ(chosen.ending.status, 0) << chosen.error_output;
    EXPECT_NE(chosen.error_output.find("call chains "), std::string::npos) << chosen.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::call_graph_program_test
