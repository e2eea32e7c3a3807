// Table commands in a terminal of 80 columns, and off a terminal.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/open_store.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/pseudo_terminal.h"

namespace perfleet::terminal_program_test {
namespace {

using end_to_end::program_path;
using end_to_end::TerminalRun;
using end_to_end::widest_line;

class TerminalProgram : public ::testing::Test {
protected:
    void SetUp() override {
        Result<std::unique_ptr<Store>> store = open_store(data_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        deliver(make_scenario(9), DeliveryOrder{}, **store);
    }

    [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        arguments.insert(arguments.end(), {"--data", data_});
        return arguments;
    }
    [[nodiscard]] TerminalRun in_terminal(const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& environment = {}) const {
        return end_to_end::run_in_terminal(command(arguments), 80, environment);
    }
    [[nodiscard]] std::string in_pipe(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment = {}) const {
        return end_to_end::run(command(arguments), {environment, {}, {}}).output;
    }

    end_to_end::TemporaryFolder folder_;
    std::string data_ = folder_ / "store-in-a-folder-of-a-long-name-that-no-line-of-eighty-columns-has-space-for";
};

TEST_F(TerminalProgram, NoTableIsWiderThanTheTerminal) {
    for (const char* name : {"targets", "sessions", "controls", "losses", "top", "tree", "counters", "tracepoints",
                             "latency", "kernel-entries", "utilisation", "inspect"}) {
        const TerminalRun shown = in_terminal({name, "--no-pager"});
        EXPECT_EQ(shown.ending.status, 0) << shown.output;
        EXPECT_LE(widest_line(shown.output), 80U) << shown.output;
        EXPECT_EQ(in_pipe({name}).find('\x1b'), std::string::npos) << name;
    }
}

TEST_F(TerminalProgram, NamesAreWholeInAPipeAndWhereItIsAsked) {
    const std::string piped = in_pipe({"sessions"});
    EXPECT_GT(widest_line(piped), 80U);
    EXPECT_EQ(piped.find("…"), std::string::npos);
    const TerminalRun wide = in_terminal({"sessions", "--wide", "--no-pager", "--color", "never"});
    EXPECT_EQ(wide.output, piped);
}

TEST_F(TerminalProgram, ColoursAreThereWhereTheyAreWanted) {
    const auto has_color = [&](const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment = {}) {
        std::vector<std::string> all{"top", "--no-pager"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return in_terminal(all, environment).output.find("\x1b[") != std::string::npos;
    };
    EXPECT_TRUE(has_color({}));
    EXPECT_TRUE(has_color({}, {"NO_COLOR="}));
    EXPECT_FALSE(has_color({}, {"NO_COLOR=1"}));
    EXPECT_FALSE(has_color({}, {"TERM=dumb"}));
    EXPECT_FALSE(has_color({"--color", "never"}));
    EXPECT_TRUE(has_color({"--color", "always"}, {"NO_COLOR=1"}));
    EXPECT_NE(in_pipe({"top", "--color", "always"}).find("\x1b["), std::string::npos);
    EXPECT_EQ(in_pipe({"top", "--color", "always", "--format", "csv"}).find("\x1b["), std::string::npos);
}

TEST_F(TerminalProgram, APagerShowsTheAnswerWithItsWarnings) {
    const std::vector<std::string> marks{"PAGER=sed s/^/1:/", "PERFLEET_PAGER=sed s/^/2:/"};
    const TerminalRun shown = in_terminal({"top", "--all", "--color", "never"}, marks);
    EXPECT_EQ(shown.ending.status, 0);
    EXPECT_TRUE(shown.output.starts_with("2:")) << shown.output;
    EXPECT_NE(shown.output.find("\n2:perfleet: warning: "), std::string::npos) << shown.output;
    EXPECT_TRUE(in_terminal({"top", "--all"}, {"PAGER=sed s/^/1:/"}).output.starts_with("1:"));
    EXPECT_EQ(in_terminal({"top", "--no-pager"}, marks).output.find("2:"), std::string::npos);
    EXPECT_EQ(in_pipe({"top"}, marks).find("2:"), std::string::npos);
}

TEST_F(TerminalProgram, APagerThatIsLeftOrMissingIsNoError) {
    const TerminalRun left = in_terminal({"top", "--all"}, {"PAGER=true"});
    EXPECT_EQ(left.ending.status, 0) << left.output;
    EXPECT_EQ(left.output, "");
    const TerminalRun missing = in_terminal({"top", "--all"}, {"PAGER=no-such-pager"});
    EXPECT_EQ(missing.ending.status, 0);
    EXPECT_NE(missing.output.find("\nrows: "), std::string::npos) << missing.output;
    const TerminalRun none = in_terminal({"top", "--all"}, {"PAGER="});
    EXPECT_NE(none.output.find("\nrows: "), std::string::npos) << none.output;
}

TEST_F(TerminalProgram, ErrorsAreNoWiderThanTheTerminal) {
    const TerminalRun shown =
        end_to_end::run_in_terminal({program_path("perfleet"), "top", "--data", folder_ / "no store there"}, 80);
    EXPECT_EQ(shown.ending.status, 1);
    EXPECT_LE(widest_line(shown.output), 80U) << shown.output;
}

}  // namespace
}  // namespace perfleet::terminal_program_test
