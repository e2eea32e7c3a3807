// What every program prints about its arguments.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"
#include "tests/end_to_end/pseudo_terminal.h"

namespace perfleet::end_to_end::arguments_program_test {
namespace {

// The program refuses these arguments, with these words.
void expect_refused(std::vector<std::string> command, const std::string& words) {
    command.front() = program_path(command.front());
    const Finished finished = run(command);
    EXPECT_EQ(finished.ending.status, 2) << words;
    EXPECT_EQ(finished.output, "");
    EXPECT_NE(finished.error_output.find(words), std::string::npos) << finished.error_output;
}

TEST(ArgumentsProgram, SuggestWhatWasMeant) {
    expect_refused({"perfleet", "tpo"}, "perfleet: unknown command 'tpo'; did you mean 'top'?");
    expect_refused({"perfleet", "top", "--fromat=json"},
                   "perfleet top: unknown option '--fromat'; did you mean '--format'?");
    expect_refused({"perfleet-gateway", "--memroy", "1g", "--data", "folder"},
                   "perfleet-gateway: unknown option '--memroy'; did you mean '--memory'?");
    expect_refused({"perfleet", "record", "--al-cpus"},
                   "perfleet record: unknown option '--al-cpus'; did you mean '--all-cpus'?");
    expect_refused({"perfleet-collector", "--gatway", "tcp://127.0.0.1:1", "-a"},
                   "perfleet-collector: unknown option '--gatway'; did you mean '--gateway'?");
    expect_refused({"perfleet-query", "--lisen", "tcp://127.0.0.1:*", "--data", "folder"},
                   "perfleet-query: unknown option '--lisen'; did you mean '--listen'?");
}

TEST(ArgumentsProgram, AnUnknownOptionGoesBeforeAMissingOne) {
    expect_refused({"perfleet-gateway", "--dat", "folder"},
                   "perfleet-gateway: unknown option '--dat'; did you mean '--data'?");
}

TEST(ArgumentsProgram, SayWhereAnOptionBelongs) {
    expect_refused({"perfleet", "--data", "folder", "top"},
                   "perfleet top: option '--data' belongs after the command: perfleet top --data");
}

TEST(ArgumentsProgram, SuggestNothingThatIsFar) {
    expect_refused({"perfleet", "solve-it"}, "perfleet: unknown command 'solve-it'\n");
    expect_refused({"perfleet", "top", "word"}, "perfleet: unexpected argument 'word': no perf.data file");
}

TEST(ArgumentsProgram, WordsOfACommandAreItsOwn) {
    const TemporaryFolder folder;
    const std::vector<std::string> words{"[a,b]", "[]", "[x", "[[1],[2]]", "\x1f[a]", "x,y", ""};
    std::vector<std::string> command{
        program_path("perfleet"), "record", "-q", "--data", folder.path(), "--", "printf", "%s\n"};
    command.insert(command.end(), words.begin(), words.end());
    std::string expected;
    for (const std::string& word : words) {
        expected += word + "\n";
    }
    EXPECT_EQ(run(command).output, expected);
    expect_refused({"perfleet", "top", "[a,b]"}, "unexpected argument '[a,b]'");
    expect_refused({"perfleet", "[a,b]"}, "unknown command '[a,b]'");
}

std::vector<std::string> commands_of_help(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines{help.substr(help.find("Subcommands:"))};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  ") && line[2] != ' ') {
            names.push_back(line.substr(2, line.find(' ', 2) - 2));
        }
    }
    return names;
}

TEST(ArgumentsProgram, HelpNamesTheChoicesOfAnOption) {
    const std::string help = run({program_path("perfleet"), "latency", "--help"}).output;
    for (const char* choice : {"log2", "cumulative", "bernat-intended", "sel4bench-legacy"}) {
        EXPECT_NE(help.find(choice), std::string::npos) << choice << " in\n" << help;
    }
}

TEST(ArgumentsProgram, HelpFitsIntoEightyColumns) {
    std::vector<std::vector<std::string>> programs{
        {"perfleet"}, {"perfleet-collector"}, {"perfleet-gateway"}, {"perfleet-query"}};
    const std::vector<std::string> commands = commands_of_help(run({program_path("perfleet"), "--help"}).output);
    EXPECT_GT(commands.size(), 15U);
    for (const std::string& command : commands) {
        programs.push_back({"perfleet", command});
    }
    for (std::vector<std::string> program : programs) {
        const std::string name = program.front() + " " + program.back();
        program.front() = program_path(program.front());
        program.emplace_back("--help");
        const Finished help = run(program);
        EXPECT_EQ(help.ending.status, 0) << name;
        EXPECT_LE(widest_line(help.output), 80U) << name << "\n" << help.output;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::arguments_program_test
