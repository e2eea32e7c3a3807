// Which key is accepted, and for which target: real programs, and peers that lie.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/wire/protocol.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/pseudo_terminal.h"
#include "tests/end_to_end/sample_peer.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::keys_test {
namespace {

constexpr SessionId kSessionA{1, 2};
constexpr SessionId kSessionB{1, 3};
constexpr BucketNumber kBucket{400'000};
constexpr auto kIdentity = static_cast<std::uint16_t>(protocol::RefusedReason::kIdentity);

std::vector<std::string> collector(const std::string& gateway, const std::vector<std::string>& options) {
    std::vector<std::string> command{program_path("perfleet-collector"), "--gateway", gateway, "-e", "cpu-clock"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", "true"});
    return command;
}

// A session as a collector with the key of `name` describes it.
SessionRecord session_of(const std::string& name, SessionId session) {
    SessionRecord record = sample_session(target_id_of(name), session);
    record.target_name = name;
    record.labels.clear();
    return record;
}

sample::Frame batch_of(const std::string& name, SessionId session, std::uint64_t seq) {
    return sample::batch(sample_batch(target_id_of(name), session, Seq{seq}, kBucket));
}

class KeyedGateway : public testing::Test {
protected:
    KeyedGateway() {
        keys_.enrol("a");
        keys_.enrol("b");
    }

    SamplePeer peer(const std::string& name, const std::string& server = "gateway") {
        const ConnectKeys keys = keys_.connect_keys(name, server);
        return SamplePeer{gateway_.listen(), &keys};
    }

    // One more batch of this target is stored.
    void expect_served(SamplePeer& peer, const std::string& name, SessionId session) {
        const std::uint64_t prefix = peer.greet(session_of(name, session)).prefix;
        peer.send(batch_of(name, session, prefix + 1));
        peer.wait_for_prefix(prefix + 1);
    }

    sample::Reply expect_refused(SamplePeer& peer, const SessionRecord& record) {
        peer.send(sample::hello(record));
        sample::Reply refused = peer.wait_for(sample::ReplyType::kRefused);
        EXPECT_EQ(refused.reason, kIdentity);
        EXPECT_EQ(refused.seq, 0U);
        return refused;
    }

    TemporaryFolder folder_;
    TestKeys keys_;
    GatewayProgram gateway_{folder_ / "data",
                            "tcp://127.0.0.1:*",
                            "none",
                            program_path("perfleet-gateway"),
                            {},
                            {"--key", keys_.secret("gateway"), "--collectors", keys_.folder()}};
};

TEST_F(KeyedGateway, ACollectorIsTheTargetOfItsKey) {
    keys_.enrol("board-7", {{"rack", "r12"}});
    const Finished collected = run(collector(gateway_.listen(), {"--key", keys_.secret("board-7"), "--gateway-key",
                                                                 keys_.pub("gateway"), "--exit-wait", "60"}));
    EXPECT_EQ(collected.ending.status, 0) << collected.error_output;
    const Finished targets = run({program_path("perfleet"), "targets", "--data", folder_ / "data", "--format", "csv"});
    EXPECT_NE(targets.output.find("board-7"), std::string::npos) << targets.output << targets.error_output;
    EXPECT_NE(targets.output.find("rack=r12"), std::string::npos) << targets.output;
}

TEST_F(KeyedGateway, RowsOfARefusedSessionAreLost) {
    const Finished collected = run(collector(
        gateway_.listen(), {"--key", keys_.secret("a"), "--gateway-key", keys_.pub("gateway"), "--label", "no=such"}));
    EXPECT_EQ(collected.ending.status, 1) << collected.error_output;
    const std::string& said = collected.error_output;
    EXPECT_NE(said.find("refuses this session"), std::string::npos) << said;
    // "perfleet-collector: N rows, M of them samples, N lost (refused N); …"
    const std::size_t end = said.find(" rows, ");
    ASSERT_NE(end, std::string::npos) << said;
    const std::size_t begin = said.rfind(' ', end - 1) + 1;
    const std::string count = said.substr(begin, end - begin);
    EXPECT_NE(count, "0") << said;
    EXPECT_NE(said.find(", " + count + " lost (refused " + count + "); "), std::string::npos) << said;
}

TEST_F(KeyedGateway, TellsWhyItRefusesACollector) {
    keys_.make("stranger");
    keys_.make("other-gateway");
    const std::string waiting = "perfleet-collector: waiting for the gateway at " + gateway_.listen() + ": ";
    const auto expect_reported = [&](const std::vector<std::string>& options, const std::string& why) {
        Process process{collector(gateway_.listen(), options)};  // goes on trying until it is killed
        EXPECT_TRUE(process.wait_for_error(waiting + why).has_value()) << process.error_output();
    };
    SamplePeer good = peer("a");
    expect_served(good, "a", kSessionA);
    expect_reported({"--key", keys_.secret("stranger"), "--gateway-key", keys_.pub("gateway")}, "it refuses this key");
    expect_reported({"--key", keys_.secret("a"), "--gateway-key", keys_.pub("other-gateway")}, "it ends the handshake");
    expect_reported({}, "it ");  // requires a key, or ends the handshake: the gateway may close before it has sent
                                 // anything
    EXPECT_TRUE(
        gateway_.process().wait_for_error("perfleet-gateway: refused a peer at 127.0.0.1: its key").has_value());
    expect_served(good, "a", kSessionA);
}

TEST_F(KeyedGateway, ATargetCantWriteAsAnother) {
    SamplePeer a = peer("a");
    SamplePeer b = peer("b");
    expect_served(b, "b", kSessionB);
    EXPECT_NE(expect_refused(a, session_of("b", SessionId{7, 7})).text.find("key of 'a'"), std::string::npos);
    SessionRecord other_id = session_of("a", SessionId{7, 7});
    other_id.target = target_id_of("b");
    expect_refused(a, other_id);
    expect_refused(a, session_of("b", kSessionB));
    expect_refused(a, session_of("a", kSessionB));  // its own name, the other's session
    SessionRecord labelled = session_of("a", kSessionA);
    labelled.labels = {{"rack", "r1"}};
    EXPECT_NE(expect_refused(a, labelled).text.find("rack"), std::string::npos);
    // And without a Hello.
    a.send(batch_of("b", kSessionB, 2));
    a.wait_for(sample::ReplyType::kHelloAgain);
    expect_served(a, "a", kSessionA);
    a.send(batch_of("b", kSessionB, 2));
    a.wait_for(sample::ReplyType::kHelloAgain);
    EXPECT_EQ(gateway_.end(SIGTERM).status, 0);
    for (const StoredLedger& ledger : ledgers_of(folder_ / "data")) {
        EXPECT_EQ(ledger.seqs.size(), 1U);
        const std::string name = ledger.session.session == kSessionA ? "a" : "b";
        EXPECT_EQ(ledger.session.target, target_id_of(name));
        EXPECT_EQ(ledger.session.target_name, name);
    }
}

TEST_F(KeyedGateway, NameAndLabelsMayBeLeftToTheEnrolment) {
    keys_.enrol("c", {{"rack", "r12"}});  // never there without its label
    SamplePeer c = peer("c");
    SessionRecord record = session_of("c", kSessionA);
    record.target_name.clear();
    record.target = TargetId{};
    EXPECT_EQ(c.greet(record).session, kSessionA);
    c.send(batch_of("c", kSessionA, 1));
    c.wait_for_prefix(1);
    EXPECT_EQ(gateway_.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(folder_ / "data");
    ASSERT_EQ(ledgers.size(), 1U);
    EXPECT_EQ(ledgers[0].session.target_name, "c");
    const TestKeys::Labels labels{{"rack", "r12"}};
    EXPECT_EQ(ledgers[0].session.labels, labels);
}

TEST_F(KeyedGateway, ARevokedKeyIsCutOffAndComesBackWhenItIsEnrolledAgain) {
    SamplePeer a = peer("a");
    SamplePeer b = peer("b");
    expect_served(a, "a", kSessionA);
    expect_served(b, "b", kSessionB);
    keys_.revoke("a");
    EXPECT_NE(a.wait_for_trouble().find("it refuses this key; is a.pub"), std::string::npos);
    expect_served(b, "b", kSessionB);
    keys_.enrol("a");
    expect_served(a, "a", kSessionA);
}

TEST_F(KeyedGateway, ANewLabelIsThatOfLaterSessions) {
    SamplePeer a = peer("a");
    expect_served(a, "a", kSessionA);
    keys_.enrol("a", {{"rack", "r12"}});
    a.wait_for_connection();  // the one before was ended
    SamplePeer next = peer("a");
    SessionRecord record = session_of("a", SessionId{9, 9});
    record.labels = {{"rack", "r12"}};
    EXPECT_EQ(next.greet(record).session, record.session);
    SamplePeer again = peer("a");
    expect_served(again, "a", kSessionA);
}

TEST_F(KeyedGateway, ABadFileIsReportedAndTheOthersWork) {
    std::ofstream{keys_.folder() + "/bad.pub"} << "name = bad\npublic-key = short\n";
    EXPECT_TRUE(gateway_.process()
                    .wait_for_error("perfleet-gateway: allow-list " + keys_.folder() + "/bad.pub:2: ")
                    .has_value());
    SamplePeer a = peer("a");
    expect_served(a, "a", kSessionA);
}

TEST(KeyFiles, ThoseThatOthersCanReadAreRefusedByEveryProgram) {
    const TemporaryFolder folder;
    TestKeys keys;
    keys.make("a");
    for (const char* name : {"gateway", "a"}) {
        ASSERT_EQ(::chmod(keys.secret(name).c_str(), 0640), 0);
    }
    const auto expect_refused = [&](const std::vector<std::string>& command, const std::string& file) {
        const Finished finished = run(command);
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        EXPECT_NE(finished.error_output.find("chmod 600 " + file), std::string::npos) << finished.error_output;
    };
    expect_refused({program_path("perfleet-gateway"), "--data", folder / "data", "--listen", "tcp://127.0.0.1:*",
                    "--query", "none", "--key", keys.secret("gateway"), "--collectors", keys.folder()},
                   keys.secret("gateway"));
    EXPECT_FALSE(std::filesystem::exists(folder / "data"));
    expect_refused(collector("tcp://127.0.0.1:1", {"--key", keys.secret("a"), "--gateway-key", keys.pub("gateway")}),
                   keys.secret("a"));
    expect_refused({program_path("perfleet"), "targets", "--gateway", "tcp://127.0.0.1:1", "--key", keys.secret("a"),
                    "--gateway-key", keys.pub("gateway")},
                   keys.secret("a"));
}

TEST(KeyFiles, KeygenWritesNewFilesThatOnlyTheOwnerReads) {
    const TemporaryFolder folder;
    const std::vector<std::string> command{
        program_path("perfleet"), "keygen", "board-7", "--label", "rack=r12", "--label", "app=x=y", "--out",
        folder.path().string()};
    const Finished made = run(command);
    EXPECT_EQ(made.ending.status, 0) << made.error_output;
    EXPECT_EQ(made.output, (folder / "board-7.key") + "\n" + (folder / "board-7.pub") + "\n");
    struct stat status {};
    ASSERT_EQ(::stat((folder / "board-7.key").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U);
    const auto secret = load_secret_key(folder / "board-7.key");
    ASSERT_TRUE(secret.ok()) << secret.error().message;
    const auto text = read_key_file(folder / "board-7.pub");
    ASSERT_TRUE(text.ok());
    const auto enrolment = parse_enrolment(*text, "pub");
    ASSERT_TRUE(enrolment.ok()) << enrolment.error().message;
    EXPECT_EQ(encode_public_key(enrolment->key), secret->public_text);
    const TestKeys::Labels labels{{"app", "x=y"}, {"rack", "r12"}};
    EXPECT_EQ(enrolment->labels, labels);
    // Keys for a target without files: the gateway's public one, its own secret one.
    const Finished raw = run({program_path("perfleet"), "keygen", "board-8", "--raw", folder / "board-7.pub", "--out",
                              folder.path().string()});
    EXPECT_EQ(raw.ending.status, 0) << raw.error_output;
    std::ifstream file{folder / "board-8.raw", std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    ASSERT_EQ(bytes.size(), 64U);
    PublicKey first;
    PublicKey second;
    std::memcpy(first.bytes.data(), bytes.data(), 32);
    std::memcpy(second.bytes.data(), bytes.data() + 32, 32);
    EXPECT_EQ(first, enrolment->key);
    EXPECT_EQ(encode_public_key(second), load_secret_key(folder / "board-8.key")->secret_text);
    ASSERT_EQ(::stat((folder / "board-8.raw").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U);
    const Finished again = run(command);
    EXPECT_EQ(again.ending.status, 1);
    EXPECT_NE(again.error_output.find(folder / "board-7.key"), std::string::npos);
    EXPECT_EQ(load_secret_key(folder / "board-7.key")->secret_text, secret->secret_text);
    EXPECT_EQ(run({program_path("perfleet"), "keygen", "b", "--label", "arch=z80", "--out", folder.path().string()})
                  .ending.status,
              2);
    for (const char* bad : {"a/b", "a b", ""}) {
        EXPECT_EQ(run({program_path("perfleet"), "keygen", bad, "--out", folder.path().string()}).ending.status, 2);
    }
}

TEST(KeyFiles, KeygenNamesEachFileOnceOnATerminal) {
    const TemporaryFolder folder;
    const TerminalRun made =
        run_in_terminal({program_path("perfleet"), "keygen", "board-7", "--out", folder.path().string()}, 200);
    EXPECT_EQ(made.ending.status, 0) << made.output;
    for (const std::string& path : {folder / "board-7.key", folder / "board-7.pub"}) {
        EXPECT_NE(made.output.find(path), std::string::npos) << made.output;
        EXPECT_EQ(made.output.find(path), made.output.rfind(path)) << made.output;
    }
}

TEST(KeyFiles, WhatNobodyGetsToReadIsAFailure) {
    const TemporaryFolder folder;
    for (const std::string& arguments : {"keygen board-7 --out '" + folder.path().string() + "'",
                                         std::string{"--version"}, std::string{"record --help"}}) {
        const Finished lost = run({"sh", "-c", "exec '" + program_path("perfleet") + "' " + arguments + " >/dev/full"});
        EXPECT_EQ(lost.ending.status, 1) << arguments;
        EXPECT_NE(lost.error_output.find("standard output: "), std::string::npos) << lost.error_output;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::keys_test
