// Programs on a store in a pool of Ceph: copied in and out, a gateway that is killed, several that share it, one that
// is frozen and fenced off. On a cluster of storage/engine/testing/with_ceph_cluster; skipped without one. With faults
// of all kinds: tests/chaos/gateways.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/peers/key_file.h"
#include "storage/limits/store_limits.h"
#include "storage/store/testing/stores.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::rados_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 3};
constexpr SessionId kRemovedSession{1, 4};
constexpr BucketNumber kBucket{400'000};

class RadosProgram : public testing::Test {
protected:
    void SetUp() override {
        if (test_rados_pool() == nullptr) {
            GTEST_SKIP() << "no cluster: run it by storage/engine/testing/with_ceph_cluster";
        }
        place_ = new_rados_place().text();
    }

    static void put(SamplePeer& peer, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket)));
        }
        peer.wait_for_prefix(last);
    }

    // The gateway's endpoint.
    [[nodiscard]] static std::string holder_of(TargetId target, const std::string& asked) {
        SamplePeer peer{asked};
        const auto hello = sample::hello(sample_session(target, SessionId{target.value, 1}));
        peer.send(hello);
        const auto reply = peer.wait_for_any({sample::ReplyType::kWelcome, sample::ReplyType::kElsewhere}, [&] {
            peer.send(hello);  // while the shard has no owner there is no answer
        });
        return reply.type == sample::ReplyType::kWelcome ? asked : reply.endpoint;
    }

    // Of a target that connects to the second of two gateways.
    [[nodiscard]] static std::string name_of_last_shard() {
        for (std::uint64_t target = 1;; ++target) {
            std::string name = "target-" + std::to_string(target);
            if (shard_of(target_id_of(name), ShardCount{}) == limits::kShardsDefault - 1) {
                return name;
            }
        }
    }

    [[nodiscard]] static Finished copy(const std::string& from, const std::string& to) {
        return run({program_path("perfleet"), "copy", "--data", from, "--to", to});
    }

    // Of commands that read all of it, each one's output.
    [[nodiscard]] static std::vector<std::string> answers(const std::string& source, const std::string& where) {
        std::vector<std::string> answers;
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"top"}, {"sessions"}, {"losses"}, {"tree"}, {"script"}, {"targets"}}) {
            std::vector<std::string> words{program_path("perfleet")};
            words.insert(words.end(), command.begin(), command.end());
            words.insert(words.end(), {source, where, "--all"});
            const Finished finished = run(words);
            EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
            answers.push_back(finished.output);
        }
        return answers;
    }

    static void expect_each_row_once(const std::string& where, std::uint64_t rows) {
        const Finished losses = run({program_path("perfleet"), "losses", "--data", where, "--all", "--format", "json"});
        EXPECT_EQ(losses.ending.status, 0) << losses.error_output;
        const auto ledger = nlohmann::json::parse(losses.output)["ledger"];
        EXPECT_EQ(ledger["produced"], rows);
        EXPECT_EQ(ledger["stored"], rows);
        EXPECT_EQ(ledger["lost"], nlohmann::json::object());
    }

    std::string place_;
};

TEST_F(RadosProgram, CopiesAStoreInAndOutAndAnswersTheSame) {
    const TemporaryFolder folder;
    {
        GatewayProgram gateway{folder / "data"};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        put(peer, 1, 50);
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }
    const Finished in = copy(folder / "data", place_);
    EXPECT_EQ(in.ending.status, 0) << in.error_output;
    EXPECT_NE(in.error_output.find("on both sides"), std::string::npos) << in.error_output;
    const Finished out = copy(place_, folder / "back");
    EXPECT_EQ(out.ending.status, 0) << out.error_output;
    EXPECT_NE(out.error_output.find("on both sides"), std::string::npos) << out.error_output;
    const std::vector<std::string> expected = answers("--data", folder / "data");
    EXPECT_EQ(answers("--data", place_), expected);
    EXPECT_EQ(answers("--data", folder / "back"), expected);
    const Finished verified = run({program_path("perfleet"), "inspect", "--verify", "--data", place_});
    EXPECT_EQ(verified.ending.status, 0) << verified.error_output;
    const std::string perfleet = program_path("perfleet");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{perfleet, "record", "--data", place_, "--", "true"},
          {perfleet, "backup", "--data", place_, "--to", folder / "backup"}}) {
        const Finished refused = run(words);
        EXPECT_NE(refused.ending.status, 0);
        EXPECT_NE(refused.error_output.find("is a store on RADOS"), std::string::npos) << refused.error_output;
        EXPECT_EQ(refused.error_output.find("perfleet copy --data " + place_ + " --to DIR") != std::string::npos,
                  words[1] == "backup")
            << refused.error_output;
    }
}

TEST_F(RadosProgram, StoresWhatClientsPushOnceAlsoAfterAKill) {
    for (const int signal : {SIGKILL, SIGTERM}) {
        GatewayProgram gateway{place_,
                               "tcp://127.0.0.1:*",
                               "tcp://127.0.0.1:*",
                               program_path("perfleet-gateway"),
                               {},
                               {"--http", "127.0.0.1:*", "--http-import"}};
        for (int i = 0; i < 2; ++i) {
            const Finished pushed = run({"curl", "-gsS", "--max-time", "120", "--retry", "10", "--data-binary",
                                         "main;work 1\nmain;idle 1\n", "-w", "%{http_code}",
                                         "http://" + gateway.http() + "/ingest?name=shop.cpu{hostname=web-7}"});
            EXPECT_EQ(pushed.output, "200") << pushed.error_output;
        }
        (void)gateway.end(signal);
    }
    const Finished top = run({program_path("perfleet"), "top", "--data", place_, "--all", "--event", "samples",
                              "--select", "{target=\"web-7\"}", "--format", "json"});
    EXPECT_EQ(nlohmann::json::parse(top.output)["measure"]["total"], 2) << top.output << top.error_output;
}

// Of everything that reads a store: its standard output and its warnings. Exports go to standard output, too.
std::vector<std::string> all_answers(const std::string& where) {
    std::vector<std::vector<std::string>> commands{
        {"top"},      {"top", "--by", "thread"}, {"top", "--comm", "sh"},  {"tree"},    {"script"}, {"tracepoints"},
        {"counters"}, {"kernel-entries"},        {"utilisation"},          {"latency"}, {"losses"}, {"targets"},
        {"sessions"}, {"symbols", "list"},       {"diff", "last", "last"},
    };
    for (const char* const command : {"top", "tree", "counters", "losses", "targets", "sessions"}) {
        for (const char* const format : {"json", "csv"}) {
            commands.push_back({command, "--format", format});
        }
    }
    for (const char* const format : {"perf.data", "folded", "html", "pprof", "speedscope", "firefox", "perfetto"}) {
        commands.push_back({"export", "--to", format, "-o", "-"});
    }
    std::vector<std::string> answers;
    for (const std::vector<std::string>& command : commands) {
        std::vector<std::string> words{program_path("perfleet")};
        words.insert(words.end(), command.begin(), command.end());
        words.insert(words.end(), {"--data", where});
        const Finished finished = run(words);
        EXPECT_EQ(finished.ending.status, 0) << command.front() << ": " << finished.error_output;
        std::string title;
        for (const std::string& word : command) {
            title += word + " ";
        }
        answers.push_back(title + "\n" + finished.output + finished.error_output);
    }
    return answers;
}

// With another number of shards, and once more as it was.
TEST_F(RadosProgram, EveryCommandAnswersARecordingTheSameFromFolderAndPool) {
    const TemporaryFolder folder;
    const std::string loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    const Finished recorded =
        run({program_path("perfleet"), "record", "--data", folder / "data", "-q", "-g", "--", "sh", "-c", loop});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const auto copied = [&](const std::string& from, const std::string& to, const std::string& shards) {
        const Finished finished =
            run({program_path("perfleet"), "copy", "--data", from, "--to", to, "--shards", shards});
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        const std::size_t at = finished.error_output.find("checksum ");
        return at == std::string::npos ? "" : finished.error_output.substr(at);
    };
    const std::string checksum = copied(folder / "data", place_, "40");
    EXPECT_NE(checksum, "");
    EXPECT_EQ(copied(place_, folder / "back", "16"), checksum);
    const std::vector<std::string> expected = all_answers(folder / "data");
    for (const std::string& where : {place_, folder / "back"}) {
        const std::vector<std::string> found = all_answers(where);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i], expected[i]) << where;
        }
    }
}

// At their full ratio for as long as it lives: writes that take space are refused.
class FullOsds {
public:
    FullOsds() {
        for (const char* ratio : {"nearfull", "backfillfull", "full"}) {  // an OSD uses the largest
            set(ratio, "0.00001");
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (run({"ceph", "osd", "dump"}).output.find("exists,full") == std::string::npos) {
            if (std::chrono::steady_clock::now() > end) {
                ADD_FAILURE() << "the cluster isn't full";
                return;
            }
        }
    }
    ~FullOsds() {
        set("full", "0.95");
        set("backfillfull", "0.9");
        set("nearfull", "0.85");
    }

private:
    static void set(const std::string& name, const std::string& ratio) {
        const Finished finished = run({"ceph", "osd", "set-" + name + "-ratio", ratio});
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    }
};

// That is how a full cluster gets space.
TEST_F(RadosProgram, SessionsAreRemovedAndOldOnesDroppedWhenTheClusterIsFull) {
    {
        GatewayProgram gateway{place_};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        put(peer, 1, 20);
        SamplePeer another{gateway.listen()};
        another.greet(sample_session(kTarget, kRemovedSession));
        another.send(sample::batch(sample_batch(kTarget, kRemovedSession, Seq{1}, kBucket)));
        another.wait_for_prefix(1);
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }
    const FullOsds full;
    const Finished removed =
        run({program_path("perfleet"), "sessions", "rm", "--data", place_, "00000000000000010000000000000004"});
    EXPECT_EQ(removed.ending.status, 0) << removed.error_output;
    GatewayProgram gateway{place_, "tcp://127.0.0.1:*", "none", program_path("perfleet-gateway"),
                           {},     {"--retain", "2d"}};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    while (gateway.process().error_output().find("dropped what was stored of the hour from") == std::string::npos) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << gateway.process().error_output();
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const Finished losses = run({program_path("perfleet"), "losses", "--data", place_, "--all", "--format", "json"});
    const auto ledger = nlohmann::json::parse(losses.output)["ledger"];
    EXPECT_EQ(ledger["expired"], 42) << losses.output;
    EXPECT_EQ(ledger["stored"], 0);
    const Finished inspected = run({program_path("perfleet"), "inspect", "--data", place_, "--format", "csv"});
    EXPECT_EQ(inspected.output.find("\npartition,"), std::string::npos) << inspected.output;
}

TEST_F(RadosProgram, GatewayGoesOnAfterItWasKilled) {
    {
        GatewayProgram gateway{place_};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        put(peer, 1, 40);
        EXPECT_EQ(gateway.end(SIGKILL).signal, SIGKILL);
    }
    GatewayProgram gateway{place_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kSession));
    put(peer, 20, 60);
    EXPECT_EQ(answers("--gateway", gateway.query()), answers("--data", place_));
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_each_row_once(place_, 120);
}

TEST_F(RadosProgram, GatewaysShareAStoreAndAnswerForAllOfIt) {
    GatewayProgram first{place_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    GatewayProgram second{place_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    const TemporaryFolder folder;
    EXPECT_EQ(GatewayProgram{folder / "data"}.end(SIGTERM).status, 0);
    const Finished alone = copy(folder / "data", place_);
    EXPECT_EQ(alone.ending.status, 1);
    EXPECT_NE(alone.error_output.find("a gateway writes there (tcp://127.0.0.1:"), std::string::npos)
        << alone.error_output;
    // Until each has its part.
    std::set<std::string> holders;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    while (holders.size() < 2) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
        holders.clear();
        for (std::uint64_t target = 1; target <= limits::kShardsDefault; ++target) {
            holders.insert(holder_of(TargetId{target}, first.listen()));
        }
    }
    EXPECT_EQ(holders, (std::set<std::string>{first.listen(), second.listen()}));
    for (std::uint64_t target = 1; target <= limits::kShardsDefault; ++target) {
        const std::string holder = holder_of(TargetId{target}, second.listen());
        SamplePeer peer{holder};
        peer.greet(sample_session(TargetId{target}, SessionId{target, 1}));
        peer.send(sample::batch(sample_batch(TargetId{target}, SessionId{target, 1}, Seq{1}, kBucket)));
        peer.wait_for_prefix(1);
    }
    const std::vector<std::string> expected = answers("--data", place_);
    EXPECT_EQ(answers("--gateway", first.query()), expected);
    EXPECT_EQ(answers("--gateway", second.query()), expected);
    EXPECT_EQ(first.end(SIGTERM).status, 0);
    EXPECT_EQ(second.end(SIGTERM).status, 0);
    expect_each_row_once(place_, std::uint64_t{2} * limits::kShardsDefault);
}

TEST_F(RadosProgram, CollectorGoesToTheGatewayThatHoldsItsShard) {
    GatewayProgram first{place_};
    GatewayProgram second{place_};
    const std::string name = name_of_last_shard();
    while (!HasFailure() && holder_of(target_id_of(name), first.listen()) != second.listen()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    const Finished collector = run({program_path("perfleet-collector"), "--gateway", first.listen(), "--target", name,
                                    "-e", "page-faults", "-c", "1", "--", "true"});
    EXPECT_EQ(collector.ending.status, 0) << collector.error_output;
    EXPECT_NE(collector.error_output.find(second.listen()), std::string::npos) << collector.error_output;
    EXPECT_EQ(first.end(SIGTERM).status, 0);
    EXPECT_EQ(second.end(SIGTERM).status, 0);
    const Finished top = run({program_path("perfleet"), "targets", "--data", place_});
    EXPECT_NE(top.output.find(name), std::string::npos) << top.output << top.error_output;
}

TEST_F(RadosProgram, CollectorGoesToNoGatewayWhoseKeyItDoesNotKnowAndSaysSo) {
    TestKeys keys;
    const std::string name = name_of_last_shard();
    keys.enrol(name);
    const auto gateway = [&](const std::string& key) {
        return std::make_unique<GatewayProgram>(place_, "tcp://127.0.0.1:*", "none", program_path("perfleet-gateway"),
                                                Process::Options{},
                                                std::vector<std::string>{"--key", key, "--collectors", keys.folder()});
    };
    const auto first = gateway(keys.secret("gateway"));
    const auto second = gateway(keys.make("second"));
    const auto collect = [&](const std::string& gateways, const std::string& gateway_keys, const char* exit_wait) {
        return run({program_path("perfleet-collector"), "--gateway", gateways, "--gateway-key", gateway_keys, "--key",
                    keys.secret(name), "-e", "page-faults", "-c", "1", "--exit-wait", exit_wait, "--", "true"});
    };
    // Once the second one has its part, which is the last shards.
    const std::string said =
        "waiting for the gateway at " + first->listen() + ": it sends this target to " + second->listen();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    for (std::string error_output; error_output.find(said) == std::string::npos;) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << error_output;
        error_output = collect(first->listen(), keys.pub("gateway"), "4").error_output;
    }
    const Finished both =
        collect(first->listen() + "," + second->listen(), keys.pub("gateway") + "," + keys.pub("second"), "60");
    EXPECT_EQ(both.ending.status, 0) << both.error_output;
    EXPECT_NE(both.error_output.find("connected to the gateway at " + second->listen()), std::string::npos)
        << both.error_output;
    EXPECT_EQ(first->end(SIGTERM).status, 0);
    EXPECT_EQ(second->end(SIGTERM).status, 0);
}

// The target stays with its relay, which follows.
TEST_F(RadosProgram, RelayGoesToTheGatewayThatHoldsTheShardOfItsTarget) {
    GatewayProgram first{place_};
    GatewayProgram second{place_};
    const std::string name = name_of_last_shard();
    while (!HasFailure() && holder_of(target_id_of(name), first.listen()) != second.listen()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    Process relay{{program_path("perfleet"), "relay", "--listen", "tcp://127.0.0.1:*", "--gateway", first.listen()}};
    const auto ready = relay.wait_for_output("ready ");
    ASSERT_TRUE(ready.has_value()) << relay.error_output();
    SessionRecord session = sample_session(target_id_of(name), kSession);
    session.target_name = name;
    SamplePeer peer{field_of(*ready, "listen")};
    peer.greet(session);
    peer.send(sample::batch(sample_batch(session.target, kSession, Seq{1}, kBucket)));
    peer.wait_for_prefix(1);
    relay.send_signal(SIGTERM);
    const auto ending = relay.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0);
    EXPECT_NE(relay.error_output().find("1 target relayed, 0 turned away"), std::string::npos) << relay.error_output();
    EXPECT_EQ(first.end(SIGTERM).status, 0);
    EXPECT_EQ(second.end(SIGTERM).status, 0);
    expect_each_row_once(place_, 2);
}

// Of all OSDs for as long as it lives.
class FrozenOsds {
public:
    FrozenOsds() { send(SIGSTOP); }
    ~FrozenOsds() { send(SIGCONT); }

private:
    static void send(int signal) {
        for (const char* number : {"0", "1", "2"}) {
            std::ifstream file{std::string{std::getenv("PERFLEET_TEST_RADOS_DIR")} + "/osd." + number + ".pid"};
            pid_t pid = 0;
            ASSERT_TRUE(file >> pid);
            ASSERT_EQ(kill(pid, signal), 0);
        }
    }
};

TEST_F(RadosProgram, GatewayStopsInTimeWhileTheClusterDoesNotAnswer) {
    {
        GatewayProgram gateway{place_};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        put(peer, 1, 10);
        const FrozenOsds frozen;
        peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{11}, kBucket)));
        (void)gateway.end(SIGTERM);  // 1, if the batch had arrived
        EXPECT_EQ(gateway.process().error_output().find("didn't stop in time"), std::string::npos)
            << gateway.process().error_output();
    }
    GatewayProgram gateway{place_};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kSession));
    put(peer, 11, 12);
    {
        const FrozenOsds frozen;
        EXPECT_EQ(gateway.end(SIGTERM).status, 0) << "nothing of a collector waits";
    }
    expect_each_row_once(place_, 24);
}

// By whichever gateway holds its shard.
TEST_F(RadosProgram, SessionsAreNamedAndRemovedAndCollectorsControlledBesideGateways) {
    GatewayProgram first{place_};
    GatewayProgram second{place_};
    const std::string perfleet = program_path("perfleet");
    const auto session_hex_of = [](std::uint64_t target) {
        return std::string(15, '0') + "1" + std::string(14, '0') + (target < 10 ? "0" : "") + std::to_string(target);
    };
    // Two gateways have eight shards each: of nine targets in neighbouring shards one is elsewhere.
    std::set<std::string> holders;
    for (std::uint64_t target = 1; holders.size() < 2; target = target % limits::kShardsDefault + 1) {
        holders.insert(holder_of(TargetId{target}, first.listen()));
    }
    std::vector<std::unique_ptr<SamplePeer>> peers;
    for (std::uint64_t target = 1; target <= 9; ++target) {
        auto peer = std::make_unique<SamplePeer>(holder_of(TargetId{target}, first.listen()));
        peer->greet(sample_session(TargetId{target}, SessionId{1, target}));
        peer->send(sample::batch(sample_batch(TargetId{target}, SessionId{1, target}, Seq{1}, kBucket)));
        peer->wait_for_prefix(1);
        peers.push_back(std::move(peer));
    }
    std::vector<std::unique_ptr<Process>> naming;
    for (std::uint64_t target = 1; target <= 9; ++target) {
        naming.push_back(std::make_unique<Process>(std::vector<std::string>{
            perfleet, "sessions", "name", session_hex_of(target), "run-" + std::to_string(target), "--data", place_}));
    }
    for (const auto& name : naming) {
        const auto ending = name->wait();
        EXPECT_TRUE(ending.has_value() && ending->status == 0) << name->error_output();
    }
    const Finished stopped =
        run({perfleet, "control", "stop", "--session", session_hex_of(3), "--wait", "1", "--data", place_});
    EXPECT_NE(stopped.output.find("no answer"), std::string::npos) << stopped.output << stopped.error_output;
    peers[2]->wait_for(sample::ReplyType::kControl);
    const Finished removed = run({perfleet, "sessions", "rm", "run-4", "run-5", "--data", place_});
    EXPECT_EQ(removed.ending.status, 0) << removed.error_output;
    EXPECT_EQ(first.end(SIGTERM).status, 0);
    EXPECT_EQ(second.end(SIGTERM).status, 0);
    const Finished sessions = run({perfleet, "sessions", "--data", place_});
    for (std::uint64_t target = 1; target <= 9; ++target) {
        const bool is_gone = target == 4 || target == 5;
        EXPECT_EQ(sessions.output.find("run-" + std::to_string(target)) == std::string::npos, is_gone)
            << sessions.output;
    }
    const Finished refused = run({perfleet, "control", "stop", "--select", "{}", "--data", place_});
    EXPECT_EQ(refused.ending.status, 1);
    EXPECT_NE(refused.error_output.find("no gateway serves"), std::string::npos) << refused.error_output;
}

TEST_F(RadosProgram, FrozenGatewayWritesNothingOnceAnotherHasTakenOver) {
    GatewayProgram frozen{place_};
    SamplePeer old_peer{frozen.listen()};
    old_peer.greet(sample_session(kTarget, kSession));
    put(old_peer, 1, 10);
    frozen.process().send_signal(SIGSTOP);
    GatewayProgram taking{place_};
    SamplePeer peer{taking.listen()};
    peer.greet(sample_session(kTarget, kSession));
    put(peer, 11, 20);
    frozen.process().send_signal(SIGCONT);
    // A seq that the other one doesn't know: if it were written, it would count.
    old_peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{30}, kBucket)));
    old_peer.wait_for(sample::ReplyType::kHelloAgain);
    put(peer, 21, 25);
    EXPECT_EQ(frozen.end(SIGTERM).status, 0);
    EXPECT_EQ(taking.end(SIGTERM).status, 0);
    expect_each_row_once(place_, 50);
}

}  // namespace
}  // namespace perfleet::end_to_end::rados_program_test
