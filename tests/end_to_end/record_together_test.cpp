// Several `perfleet record`s on one data folder, beside each other and beside a gateway that writes there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/select/matcher.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::record_together_test {
namespace {

constexpr int kCalls = 20'000;

// "… N rows, M of them tracepoint entries, L lost; … session ID"; N has those that were lost, too.
struct Said {
    std::string session;
    std::uint64_t row_count = 0;
};

Said said_by(const std::string& text) {
    Said said;
    const std::size_t rows = text.find(" rows, ");
    const std::size_t session = text.find("; session ", rows);
    if (rows == std::string::npos || session == std::string::npos) {
        ADD_FAILURE() << text;
        return said;
    }
    said.row_count = std::stoull(text.substr(text.rfind(' ', rows - 1) + 1));
    said.session = text.substr(session + 10, 32);
    return said;
}

class RecordTogether : public testing::Test {
protected:
    // Profiles calls that are made when let_go() was called.
    [[nodiscard]] std::unique_ptr<Process> record() const {
        const std::string work = "echo started; until [ -e '" + folder_ / "go" + "' ]; do sleep 0.02; done; exec '" +
                                 workload_path("getppid_workload") + "' " + std::to_string(kCalls);
        auto process = std::make_unique<Process>(
            std::vector<std::string>{program_path("perfleet"), "record", "--data", data_, "--exit-wait", "60", "-e",
                                     "syscalls:sys_enter_getppid", "--", "sh", "-c", work});
        EXPECT_TRUE(process->wait_for_output("started").has_value()) << process->error_output();
        return process;
    }
    void let_go() const { std::ofstream{folder_ / "go"} << "go"; }

    // It succeeds, and the rows that it reports will be looked for in the store.
    void expect_stored(Process& recorder) {
        const auto ending = recorder.wait();
        ASSERT_TRUE(ending.has_value()) << recorder.error_output();
        EXPECT_EQ(ending->status, 0) << recorder.error_output();
        const Said said = said_by(recorder.error_output());
        EXPECT_GE(said.row_count, static_cast<std::uint64_t>(kCalls));
        said_.emplace(said.session, said.row_count);
    }

    // Of every session that was reported as stored, and no other that ended.
    void expect_exact() const {
        std::size_t ended_count = 0;
        for (const StoredLedger& ledger : ledgers_of(data_)) {
            if (!ledger.end.has_value()) {
                continue;
            }
            ++ended_count;
            ledger.expect_exact();
            std::uint64_t produced = 0;
            for (const auto& [series, counts] : ledger.series) {  // a busy machine loses samples: its timer is late
                produced += is_definition(series.kind) ? 0 : counts.stored + counts.lost;
            }
            const auto said = said_.find(session_hex(ledger.session.session));
            ASSERT_NE(said, said_.end()) << session_hex(ledger.session.session);
            EXPECT_EQ(produced, said->second);
        }
        EXPECT_EQ(ended_count, said_.size());
    }

    // The owner of the store's lock; 0: none.
    [[nodiscard]] pid_t writer() const {
        const int fd = ::open((data_ + "/LOCK").c_str(), O_RDWR | O_CLOEXEC);
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        const bool is_known = fd >= 0 && ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
        ::close(fd);
        return is_known ? lock.l_pid : 0;
    }

    TemporaryFolder folder_;
    // Longer than the address of a socket can be.
    std::string data_ = folder_ / (std::string(100, 'd') + "/data");
    std::map<std::string, std::uint64_t> said_;  // by session
};

TEST_F(RecordTogether, EightGoOnWhenTheOneThatWritesIsKilled) {
    std::vector<std::unique_ptr<Process>> recorders;
    for (int i = 0; i < 8; ++i) {
        recorders.push_back(record());
    }
    const pid_t killed = writer();
    EXPECT_NE(killed, 0);
    for (const auto& recorder : recorders) {
        if (recorder->pid() == killed) {
            recorder->send_signal(SIGKILL);
        }
    }
    let_go();
    for (const auto& recorder : recorders) {
        if (recorder->pid() != killed) {
            expect_stored(*recorder);
        }
    }
    EXPECT_EQ(said_.size(), 7U);
    expect_exact();
    EXPECT_FALSE(std::filesystem::exists(data_ + "/gateway.sock"));
}

TEST_F(RecordTogether, AllAtOnceInAFolderThatIsNew) {
    constexpr std::size_t kCount = 6;
    std::vector<std::unique_ptr<Process>> recorders;
    for (std::size_t i = 0; i < kCount; ++i) {
        recorders.push_back(std::make_unique<Process>(
            std::vector<std::string>{program_path("perfleet"), "record", "--data", data_, "--exit-wait", "60", "-e",
                                     "cpu-clock", "--", "echo", "ran"}));
    }
    for (const auto& recorder : recorders) {
        const auto ending = recorder->wait();
        ASSERT_TRUE(ending.has_value()) << recorder->error_output();
        EXPECT_EQ(ending->status, 0) << recorder->error_output();
        EXPECT_EQ(recorder->output(), "ran\n");
        const Said said = said_by(recorder->error_output());
        said_.emplace(said.session, said.row_count);
    }
    EXPECT_EQ(said_.size(), kCount);
    expect_exact();
}

TEST_F(RecordTogether, BesideAGatewayAndAfterIt) {
    // A user with write access to the store may have any number of sessions.
    GatewayProgram gateway{data_, "tcp://127.0.0.1:*",       "none", program_path("perfleet-gateway"),
                           {},    {"--target-sessions", "1"}};
    struct ::stat socket {};
    ASSERT_EQ(::stat((data_ + "/gateway.sock").c_str(), &socket), 0);
    EXPECT_EQ(socket.st_mode & 07777U, 0600U);
    const auto one = record();
    const auto other = record();
    EXPECT_EQ(writer(), gateway.process().pid());
    for (int i = 0; i < 2; ++i) {
        const Finished short_one =
            run({program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock", "--", "true"});
        EXPECT_EQ(short_one.ending.status, 0) << short_one.error_output;
        const Said said = said_by(short_one.error_output);
        said_.emplace(said.session, said.row_count);
    }
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    let_go();
    expect_stored(*one);
    expect_stored(*other);
    GatewayProgram again{data_};
    const auto third = record();
    expect_stored(*third);
    EXPECT_EQ(again.end(SIGTERM).status, 0);
    expect_exact();
}

// Only users with write access to the folder need no key; for others it is as before.
TEST_F(RecordTogether, BesideAGatewayWithKeysWhichNobodyElseReachesWithout) {
    TestKeys keys;
    keys.enrol("board");
    const std::string other_socket = "ipc://" + folder_ / "socket";
    GatewayProgram gateway{
        data_,  "tcp://127.0.0.1:*",
        "none", program_path("perfleet-gateway"),
        {},     {"--listen", other_socket, "--key", keys.secret("gateway"), "--collectors", keys.folder()}};
    const std::string tcp = gateway.listen().substr(0, gateway.listen().find(','));
    const auto collect = [](const std::string& endpoint, const std::vector<std::string>& more) {
        std::vector<std::string> command{program_path("perfleet-collector"), "--gateway", endpoint, "-e", "cpu-clock"};
        command.insert(command.end(), more.begin(), more.end());
        command.insert(command.end(), {"--", "true"});
        return run(command);
    };
    const auto recorder = record();
    for (const std::string& endpoint : {tcp, other_socket}) {
        EXPECT_EQ(collect(endpoint, {"--exit-wait", "1"}).ending.status, 1) << endpoint;
    }
    const Finished enrolled =
        collect(tcp, {"--key", keys.secret("board"), "--gateway-key", keys.pub("gateway"), "--exit-wait", "60"});
    EXPECT_EQ(enrolled.ending.status, 0) << enrolled.error_output;
    const Said collected = said_by(enrolled.error_output);
    said_.emplace(collected.session, collected.row_count);
    let_go();
    expect_stored(*recorder);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_exact();
    EXPECT_EQ(ledgers_of(data_).size(), 2U) << "a peer without a key came in";
}

// The process that has the store doesn't serve it, as `perfleet import` doesn't.
TEST_F(RecordTogether, WhatNobodyStoresIsKeptForTheNextRecording) {
    const std::vector<std::string> command{program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock"};
    const auto recorded = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = command;
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    const Finished first = recorded({"--", "true"});
    ASSERT_EQ(first.ending.status, 0) << first.error_output;
    const Said in_store = said_by(first.error_output);
    said_.emplace(in_store.session, in_store.row_count);

    const int fd = ::open((data_ + "/LOCK").c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    ASSERT_EQ(::fcntl(fd, F_SETLK, &lock), 0);
    const Finished kept = recorded({"--exit-wait", "0.1", "--", "sh", "-c", "echo ran; exit 3"});
    ::close(fd);
    EXPECT_EQ(kept.output, "ran\n");
    EXPECT_EQ(kept.ending.status, 1) << kept.error_output;
    const std::string& said = kept.error_output;
    EXPECT_NE(said.find("kept in " + data_ + "/unstored/"), std::string::npos) << said;
    const Said in_file = said_by(said);
    said_.emplace(in_file.session, in_file.row_count);

    const Finished next = recorded({"--", "true"});
    EXPECT_EQ(next.ending.status, 0) << next.error_output;
    EXPECT_NE(next.error_output.find("stored " + std::to_string(in_file.row_count) + " rows that an earlier recording"),
              std::string::npos)
        << next.error_output;
    const Said last = said_by(next.error_output);
    said_.emplace(last.session, last.row_count);
    expect_exact();
    EXPECT_FALSE(std::filesystem::exists(data_ + "/unstored"));
}

}  // namespace
}  // namespace perfleet::end_to_end::record_together_test
