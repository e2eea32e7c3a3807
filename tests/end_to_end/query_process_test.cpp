// The gateway's query process, played by small shell programs that stand beside a copy of the gateway.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::query_process_test {
namespace {

// Prints where it answers, writes its process id to `pids` in its data's parent folder, and waits.
constexpr const char* kGoodProgram = R"(#!/bin/sh
[ "$1" = --data ] && [ "$3" = --listen ] || exit 3
echo $$ >> "$2/../pids"
echo "$4" >> "$2/../endpoints"
case "$4" in *'*') echo "ready query=tcp://127.0.0.1:4242";; *) echo "ready query=$4";; esac
exec sleep 100000
)";

class QueryProcessTest : public testing::Test {
protected:
    QueryProcessTest() {
        std::filesystem::create_directory(folder_ / "bin");
        std::filesystem::copy_file(program_path("perfleet-gateway"), gateway_);
    }

    void install(const std::string& text) const {
        const std::string path = (folder_ / "bin") + "/perfleet-query";
        std::ofstream{path} << text;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    [[nodiscard]] Finished run_gateway() const {
        return run({gateway_, "--data", data_, "--listen", "tcp://127.0.0.1:*", "--query", "tcp://127.0.0.1:*"});
    }

    // The lines of a file that the query process writes.
    [[nodiscard]] std::vector<std::string> lines_of(const std::string& name) const {
        std::ifstream file{folder_ / name};
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) {
            lines.push_back(line);
        }
        return lines;
    }

    // A terminated orphan may wait long until the init process reaps it.
    [[nodiscard]] static bool is_running(pid_t pid) {
        std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        return !text.empty() && text.compare(text.rfind(')') + 1, 2, " Z") != 0;
    }

    TemporaryFolder folder_;
    std::string gateway_ = (folder_ / "bin") + "/perfleet-gateway";
    std::string data_ = folder_ / "data";
};

TEST_F(QueryProcessTest, IsStartedAndStoppedWithTheGateway) {
    install(kGoodProgram);
    GatewayProgram program{data_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", gateway_};
    EXPECT_EQ(program.query(), "tcp://127.0.0.1:4242");
    ASSERT_EQ(lines_of("pids").size(), 1U);
    const pid_t pid = std::atoi(lines_of("pids").front().c_str());
    EXPECT_TRUE(is_running(pid));
    EXPECT_EQ(program.end(SIGTERM).status, 0) << program.process().error_output();
    EXPECT_FALSE(is_running(pid));
}

TEST_F(QueryProcessTest, IsStartedAgainAtTheSamePlaceWhenItDies) {
    install(kGoodProgram);
    GatewayProgram program{data_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", gateway_};
    ASSERT_EQ(lines_of("pids").size(), 1U);
    kill(std::atoi(lines_of("pids").front().c_str()), SIGKILL);
    EXPECT_TRUE(program.process().wait_for_error("perfleet-gateway: the query process answers again").has_value());
    const auto pids = lines_of("pids");
    ASSERT_EQ(pids.size(), 2U);
    EXPECT_NE(pids[0], pids[1]);
    EXPECT_EQ(lines_of("endpoints"), (std::vector<std::string>{"tcp://127.0.0.1:*", "tcp://127.0.0.1:4242"}));
    EXPECT_NE(program.process().error_output().find("signal 9"), std::string::npos);
    EXPECT_EQ(program.end(SIGTERM).status, 0);
}

TEST_F(QueryProcessTest, DoesNotOutliveAKilledGateway) {
    install(kGoodProgram);
    GatewayProgram program{data_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", gateway_};
    ASSERT_EQ(lines_of("pids").size(), 1U);
    const pid_t pid = std::atoi(lines_of("pids").front().c_str());
    // The query process holds the gateway's standard error: the output ends when both have closed it, which a process
    // does a moment before it is gone.
    EXPECT_EQ(program.end(SIGKILL).signal, SIGKILL);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kTimeoutS);
    while (is_running(pid)) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "process " << pid << " outlived its gateway";
        std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
}

TEST_F(QueryProcessTest, IsNamedWhenItIsMissing) {
    const Finished finished = run_gateway();
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find((folder_ / "bin") + "/perfleet-query"), std::string::npos)
        << finished.error_output;
    EXPECT_NE(finished.error_output.find("--query none"), std::string::npos) << finished.error_output;
}

TEST_F(QueryProcessTest, ThatFailsAtTheStartFailsTheGateway) {
    install("#!/bin/sh\necho its own messages >&2\nexit 1\n");
    const Finished finished = run_gateway();
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find("its own messages"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("exit status 1"), std::string::npos) << finished.error_output;
    EXPECT_EQ(finished.output, "");
}

}  // namespace
}  // namespace perfleet::end_to_end::query_process_test
