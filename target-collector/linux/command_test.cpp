#include "target-collector/linux/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "schemas/peers/key_file.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/linux/link/clock_relation.h"

namespace perfleet {
namespace {

// Waits for the end, which comes.
int wait_for(Command& command) {
    pollfd end{command.end_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&end, 1, 60'000), 1);
    return command.exit_status().value_or(-1);
}

int exit_status_of(const std::vector<std::string>& words) {
    auto command = Command::start(words);
    EXPECT_TRUE(command.ok());
    const auto ran = (*command)->run();
    EXPECT_TRUE(ran.ok());
    return wait_for(**command);
}

class TemporaryFolder {
public:
    TemporaryFolder() {
        path_ = (std::filesystem::temp_directory_path() / "command-XXXXXX").string();
        EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string write(const std::string& name, const std::string& content, ::mode_t mode) const {
        std::string path = path_ + "/" + name;
        std::ofstream(path) << content;
        ::chmod(path.c_str(), mode);
        return path;
    }

private:
    std::string path_;
};

TEST(Command, EndsAsAShellShowsIt) {
    EXPECT_EQ(exit_status_of({"true"}), 0);
    EXPECT_EQ(exit_status_of({"sh", "-c", "exit 3"}), 3);
    EXPECT_EQ(exit_status_of({"sh", "-c", "kill -9 $$"}), 128 + SIGKILL);
}

TEST(Command, DoesNothingBeforeItIsRun) {
    const TemporaryFolder folder;
    const std::string mark = folder.write("mark", "", 0600);
    ::unlink(mark.c_str());
    {
        auto command = Command::start({"touch", mark});
        ASSERT_TRUE(command.ok());
        EXPECT_FALSE((*command)->exit_status().has_value());
    }
    EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(Command, IsFoundOrNamed) {
    const TemporaryFolder folder;
    EXPECT_TRUE(find_command("sh").ok());
    EXPECT_EQ(find_command("/bin/sh").value(), "/bin/sh");
    for (const std::string& name : {std::string("no-such-command"), std::string("/no/such/command"), std::string()}) {
        const auto found = find_command(name);
        ASSERT_FALSE(found.ok());
        EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
        EXPECT_NE(found.error().message.find("'" + name + "'"), std::string::npos);
    }
    const auto closed = find_command(folder.write("closed", "#!/bin/sh\n", 0644));
    ASSERT_FALSE(closed.ok());
    EXPECT_EQ(closed.error().code, ErrorCode::kInvalid);
}

TEST(Command, WithAMissingInterpreterIsNotFound) {
    const TemporaryFolder folder;
    const std::string script = folder.write("script", "#! /no/such/interpreter -e\n", 0755);
    const auto found = find_command(script);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(found.error().message,
              "can't run the command '" + script + "': its interpreter '/no/such/interpreter' isn't there");
}

TEST(Command, AScriptWithoutInterpreterIsTheShells) {
    const TemporaryFolder folder;
    EXPECT_EQ(exit_status_of({folder.write("script", "exit $1\n", 0755), "7"}), 7);
}

TEST(Command, TerminateEndsIt) {
    auto command = Command::start({"sleep", "1000"});
    ASSERT_TRUE(command.ok());
    ASSERT_TRUE((*command)->run().ok());
    (*command)->terminate();
    EXPECT_EQ(wait_for(**command), 128 + SIGTERM);
}

// Values of the FNV authors' test suite.
TEST(TargetIdentity, IsThePublishedHashOfTheName) {
    EXPECT_EQ(target_id_of("").value, 0xcbf29ce484222325U);
    EXPECT_EQ(target_id_of("a").value, 0xaf63dc4c8601ec8cU);
    EXPECT_EQ(target_id_of("foobar").value, 0x85944171f73967e8U);
}

TEST(TargetIdentity, SessionsDiffer) {
    EXPECT_NE(new_session_id(), new_session_id());
    EXPECT_FALSE(new_session_id().is_none());
}

TEST(ClockRelation, AgreesWithTheSystemsClocksWithinItsUncertainty) {
    const auto before = std::chrono::system_clock::now().time_since_epoch();
    const ClockPoint point = observe_clocks();
    const auto after = std::chrono::system_clock::now().time_since_epoch();
    EXPECT_GE(point.utc_ns.value, std::chrono::nanoseconds(before).count());
    EXPECT_LE(point.utc_ns.value, std::chrono::nanoseconds(after).count());
    EXPECT_GT(point.uncertainty_ns, 0U);
    EXPECT_LE(point.ticks.value, monotonic_now().value);
}

TEST(ClockRelation, TellsASecondPointOnlyAfterAStepOrAMinute) {
    const ClockPoint now = observe_clocks();
    EXPECT_FALSE(ClockWatch(now).observe().has_value());
    ClockPoint stepped = now;
    stepped.utc_ns.value -= 50'000'000;
    EXPECT_TRUE(ClockWatch(stepped).observe().has_value());
    ClockPoint old = now;
    old.ticks.value -= 61'000'000'000;
    old.utc_ns.value -= 61'000'000'000;
    ClockWatch watch(old);
    EXPECT_TRUE(watch.observe().has_value());
    EXPECT_FALSE(watch.observe().has_value());
}

TEST(ClockRelation, BucketsCountByTheGatewayOnceItIsKnown) {
    BucketClock clock;
    const std::int64_t own = observe_clocks().utc_ns.value;
    EXPECT_LT(std::abs(clock.now(monotonic_now()).value - own), 60'000'000'000);
    clock.set_gateway_utc(UtcNs{1'000}, Ticks{500});
    EXPECT_EQ(clock.now(Ticks{700}).value, 1'200);
}

}  // namespace
}  // namespace perfleet
