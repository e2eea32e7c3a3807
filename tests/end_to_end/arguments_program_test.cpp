// What every program says of its arguments.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::arguments_program_test {
namespace {

// The program refuses these arguments, and says so in these words.
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
                   "perfleet top: option '--data' belongs behind the command: perfleet top --data");
}

TEST(ArgumentsProgram, SuggestNothingThatIsFar) {
    expect_refused({"perfleet", "solve-it"}, "perfleet: unknown command 'solve-it'\n");
    expect_refused({"perfleet", "top", "word"}, "perfleet top: unexpected argument 'word'\n");
}

}  // namespace
}  // namespace perfleet::end_to_end::arguments_program_test
