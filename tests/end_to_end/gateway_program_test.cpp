#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "storage/store/open_store.h"
#include "target-collector/wire/testing/held_address.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::gateway_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};
constexpr uid_t kNobody = 65'534;

std::string gateway() { return program_path("perfleet-gateway"); }

sample::Frame batch_frame(std::uint64_t seq) {
    return sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket));
}

SessionRecord session() { return sample_session(kTarget, kSession); }

// How often each seq is stored.
std::map<std::uint64_t, int> stored_seqs(const std::string& data) {
    std::map<std::uint64_t, int> seqs;
    const auto reader = open_store_reader(data);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    const auto partitions = (*reader)->partitions();
    EXPECT_TRUE(partitions.ok());
    for (const Partition& partition : *partitions) {
        EXPECT_TRUE((*reader)
                        ->visit_batches(partition, kTarget, kSession,
                                        [&](const BatchRecord& record) {
                                            ++seqs[record.seq.value];
                                            return Visit::kContinue;
                                        })
                        .ok());
    }
    return seqs;
}

void expect_each_once(const std::map<std::uint64_t, int>& seqs, std::uint64_t last) {
    EXPECT_EQ(seqs.size(), last);
    for (const auto& [seq, count] : seqs) {
        EXPECT_EQ(count, 1) << "seq " << seq;
    }
}

TEST(GatewayProgram, SaysWhereItServesInOneLine) {
    const TemporaryFolder folder;
    Process process{{gateway(), "--data", folder / "data", "--listen", "tcp://127.0.0.1:*", "--listen",
                     "ipc://" + (folder / "socket"), "--query", "none"}};
    const auto line = process.wait_for_output("ready ");
    ASSERT_TRUE(line.has_value()) << process.error_output();
    EXPECT_EQ(field_of(*line, "query"), "none");
    const std::string listen = field_of(*line, "listen");
    const std::size_t comma = listen.find(',');
    EXPECT_EQ(listen.substr(comma + 1), "ipc://" + (folder / "socket"));
    SamplePeer peer{listen.substr(0, comma)};
    EXPECT_EQ(peer.greet(session()).session, kSession);
    process.send_signal(SIGTERM);
    const auto ending = process.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << process.error_output();
    EXPECT_EQ(process.output(), *line + "\n");
    EXPECT_EQ(process.error_output(), "");
}

TEST(GatewayProgram, HelpAndVersionSucceed) {
    EXPECT_NE(run({gateway(), "--help"}).output.find("--listen"), std::string::npos);
    EXPECT_EQ(run({gateway(), "--help"}).ending.status, 0);
    EXPECT_TRUE(run({gateway(), "--version"}).output.starts_with("perfleet-gateway "));
}

TEST(GatewayProgram, BadUsageExitsWithTwoAndTouchesNothing) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{},
                                               {"--data", data, "--what"},
                                               {"--data", data, "--listen", "tcp://0.0.0.0:7411"},
                                               {"--data", data, "--listen", "tcp://example.org:7411"},
                                               {"--data", data, "--listen", "7411"},
                                               {"--data", data, "extra"}}) {
        std::vector<std::string> command{gateway(), "--query", "none"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const Finished finished = run(command);
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        EXPECT_NE(finished.error_output, "");
        EXPECT_EQ(finished.output, "");
    }
    EXPECT_FALSE(std::filesystem::exists(data));
    const Finished remote = run({gateway(), "--query", "none", "--data", data, "--listen", "tcp://0.0.0.0:7411"});
    EXPECT_NE(remote.error_output.find("tcp://0.0.0.0:7411"), std::string::npos);
    EXPECT_NE(remote.error_output.find("tunnel"), std::string::npos);
}

TEST(GatewayProgram, ABadValueIsNamedWithItsOptionBeforeTheFolderIsTouched) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    const std::vector<std::vector<std::string>> cases{
        // If a variable isn't set: none of these may mean "without".
        {"--key", "", "--collectors", ""},
        {"--collectors", "", "--key", "k"},
        {"--query-key", "", "--query-clients", ""},
        {"--query-clients", "", "--query-key", "k"},
        {"--listen", ""},
        {"--query", ""},
        {"--metrics", ""},
        {"--retention", ""},
        {"--data", ""},
        {"--query", "tcp://0.0.0.0:*"},
        {"--query", "inproc://here"},
        {"--listen", "inproc://here"},
        {"--stop-within", "nan"},
        {"--connections", "0"},
    };
    for (const auto& arguments : cases) {
        std::vector<std::string> command{gateway()};
        if (arguments.front() != "--data") {
            command.insert(command.end(), {"--data", data});
        }
        if (arguments.front() != "--listen") {
            command.insert(command.end(), {"--listen", "tcp://127.0.0.1:*"});
        }
        if (arguments.front() != "--query") {
            command.insert(command.end(), {"--query", "none"});
        }
        command.insert(command.end(), arguments.begin(), arguments.end());
        const Finished finished = run(command);
        EXPECT_EQ(finished.ending.status, 2) << arguments.front() << finished.error_output;
        EXPECT_NE(finished.error_output.find(arguments.front()), std::string::npos) << finished.error_output;
        EXPECT_LT(finished.error_output.size(), 400U) << finished.error_output;
    }
    EXPECT_FALSE(std::filesystem::exists(data));
}

TEST(GatewayProgram, ASecondOneOnTheSameFolderIsRefused) {
    const TemporaryFolder folder;
    GatewayProgram first{folder / "data"};
    const Finished second =
        run({gateway(), "--data", folder / "data", "--listen", "tcp://127.0.0.1:*", "--query", "none"});
    EXPECT_EQ(second.ending.status, 1);
    EXPECT_NE(second.error_output.find(folder / "data"), std::string::npos) << second.error_output;
    EXPECT_NE(second.error_output.find("another process"), std::string::npos) << second.error_output;
    SamplePeer peer{first.listen()};  // the first one continues
    peer.greet(session());
}

TEST(GatewayProgram, ATakenPortIsNamed) {
    const TemporaryFolder folder;
    const GatewayProgram first{folder / "one"};
    const Finished second = run({gateway(), "--data", folder / "two", "--listen", first.listen(), "--query", "none"});
    EXPECT_EQ(second.ending.status, 1);
    EXPECT_NE(second.error_output.find(first.listen()), std::string::npos) << second.error_output;
}

TEST(GatewayProgram, WrongFoldersAreNamedWithAWayOut) {
    const TemporaryFolder folder;
    std::ofstream{folder / "file"} << "text";
    std::filesystem::create_directory(folder / "foreign");
    std::ofstream{(folder / "foreign") + "/notes.txt"} << "text";
    for (const char* name : {"file", "foreign", "file/below"}) {
        const Finished finished =
            run({gateway(), "--data", folder / name, "--listen", "tcp://127.0.0.1:*", "--query", "none"});
        EXPECT_EQ(finished.ending.status, 1) << name;
        EXPECT_NE(finished.error_output.find(folder / name), std::string::npos) << finished.error_output;
    }
    EXPECT_TRUE(std::filesystem::exists((folder / "foreign") + "/notes.txt"));
}

TEST(GatewayProgram, AFolderWithoutPermissionIsNamed) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root, to become somebody else";
    }
    const TemporaryFolder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    Process::Options options;
    options.user = kNobody;
    options.folder = "/";
    if (run({gateway(), "--version"}, options).ending.status != 0) {
        GTEST_SKIP() << "the build folder is closed to others";
    }
    std::filesystem::create_directory(folder / "closed");
    std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_all);
    const Finished finished =
        run({gateway(), "--data", folder / "closed", "--listen", "tcp://127.0.0.1:*", "--query", "none"}, options);
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find(folder / "closed"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("ermission"), std::string::npos) << finished.error_output;
}

TEST(GatewayProgram, AcknowledgedBatchesSurviveSigkill) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    const HeldAddress address;  // the same one for all of them
    std::uint64_t acknowledged = 0;
    constexpr std::uint64_t kBatchesARound = 40;
    for (int round = 0; round < 4; ++round) {
        GatewayProgram program{data, address.endpoint()};
        SamplePeer peer{address.endpoint()};
        const std::uint64_t prefix = peer.greet(session()).prefix;
        EXPECT_GE(prefix, acknowledged);
        for (std::uint64_t seq = prefix + 1; seq <= prefix + kBatchesARound; ++seq) {
            peer.send(batch_frame(seq));
        }
        // In the middle: the first is durable, the others are on their way.
        while (!HasFailure() && acknowledged <= prefix) {
            acknowledged = peer.wait_for(sample::ReplyType::kAck).prefix;
        }
        EXPECT_EQ(program.end(SIGKILL).signal, SIGKILL);
    }
    GatewayProgram program{data, address.endpoint()};
    SamplePeer peer{address.endpoint()};
    const std::uint64_t prefix = peer.greet(session()).prefix;
    EXPECT_GE(prefix, acknowledged);
    for (std::uint64_t seq = 1; seq <= prefix + 5; ++seq) {
        peer.send(batch_frame(seq));  // all of them again, and some more
    }
    peer.wait_for_prefix(prefix + 5);
    EXPECT_EQ(program.end(SIGTERM).status, 0);
    expect_each_once(stored_seqs(data), prefix + 5);
}

TEST(GatewayProgram, StopsInOrderAndGoesOnAtTheNextStart) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    for (std::uint64_t round = 0; round < 2; ++round) {
        GatewayProgram program{data};
        SamplePeer peer{program.listen()};
        EXPECT_EQ(peer.greet(session()).prefix, 10 * round);
        for (std::uint64_t seq = 10 * round + 1; seq <= 10 * round + 10; ++seq) {
            peer.send(batch_frame(seq));
        }
        peer.send(sample::probe());
        peer.wait_for(sample::ReplyType::kHelloAgain);  // so all were taken, but maybe not committed
        const Ending ending = program.end(round == 0 ? SIGTERM : SIGINT);
        EXPECT_EQ(ending.status, 0) << program.process().error_output();
        // Its last acknowledgement can be lost with the connection; the next Welcome repeats it.
    }
    expect_each_once(stored_seqs(data), 20);
}

TEST(GatewayProgram, CanBeReadWhileItServes) {
    const TemporaryFolder folder;
    GatewayProgram program{folder / "data"};
    SamplePeer peer{program.listen()};
    peer.greet(session());
    peer.send(batch_frame(1));
    peer.wait_for_prefix(1);
    expect_each_once(stored_seqs(folder / "data"), 1);
}

}  // namespace
}  // namespace perfleet::end_to_end::gateway_program_test
