// perfleet relay between targets without keys and a gateway that requires them.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "target-collector/wire/line_stream.h"
#include "target-collector/wire/testing/held_address.h"
#include "target-collector/wire/testing/socket_stream.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/sampled_target.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::relay_test {
namespace {

class RelayTest : public testing::Test {
protected:
    RelayTest() {
        keys_.enrol("board-7", {{"rack", "r12"}});
        keys_.make("stranger");
        start_gateway();
    }

    void start_gateway() {
        gateway_ = std::make_unique<GatewayProgram>(
            data(), address_.endpoint(), "none", program_path("perfleet-gateway"), Process::Options{},
            std::vector<std::string>{"--key", keys_.secret("gateway"), "--collectors", keys_.folder()});
    }
    std::vector<std::string> command(const std::vector<std::string>& side, const std::string& key = "board-7") {
        std::vector<std::string> words{
            program_path("perfleet"), "relay",         "--gateway",         address_.endpoint(), "--key",
            keys_.secret(key),        "--gateway-key", keys_.pub("gateway")};
        words.insert(words.end(), side.begin(), side.end());
        return words;
    }
    void start_relay(const std::vector<std::string>& side, const std::string& key = "board-7") {
        relay_ = std::make_unique<Process>(command(side, key));
        const auto ready = relay_->wait_for_output("ready ");
        ASSERT_TRUE(ready.has_value()) << relay_->error_output();
        listen_ = field_of(*ready, "listen");
    }
    void expect_relay_to_end_well(const std::string& summary) {
        relay_->send_signal(SIGTERM);
        const auto ending = relay_->wait();
        ASSERT_TRUE(ending.has_value());
        EXPECT_EQ(ending->status, 0);
        EXPECT_NE(relay_->error_output().find(summary), std::string::npos) << relay_->error_output();
    }
    // One for each of these targets, whose rows are all there: the key's target, whatever they state.
    void expect_stored(const std::map<SessionId, std::uint64_t>& rows) {
        EXPECT_EQ(gateway_->end(SIGTERM).status, 0);
        const auto ledgers = ledgers_of(data());
        EXPECT_EQ(ledgers.size(), rows.size());
        for (const StoredLedger& ledger : ledgers) {
            ledger.expect_exact();
            EXPECT_EQ(ledger.session.target_name, "board-7");
            EXPECT_EQ(ledger.session.target, target_id_of("board-7"));
            EXPECT_EQ(ledger.session.labels, (TestKeys::Labels{{"rack", "r12"}}));
            EXPECT_EQ(ledger.series.at(kSamples).produced, rows.at(ledger.session.session));
        }
    }
    [[nodiscard]] std::string data() const { return folder_ / "data"; }

    TemporaryFolder folder_;
    HeldAddress address_;
    TestKeys keys_;
    std::unique_ptr<GatewayProgram> gateway_;
    std::unique_ptr<Process> relay_;
    std::string listen_;
};

TEST_F(RelayTest, CarriesSeveralTargetsThroughDeathsOfTheGatewayAndOfItself) {
    const HeldAddress relay_address;
    start_relay({"--listen", relay_address.endpoint()});
    struct One {
        One(const std::string& endpoint, SessionId session) : stream{endpoint}, target{stream, small_target(session)} {
            stream.piece_bytes_max = 3'000;
        }
        SocketStream stream;
        SampledTarget target;
    };
    std::list<One> targets;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        targets.emplace_back(listen_, i == 3 ? SessionId{} : SessionId{7, i});
    }
    // Over the connection of this number: the relay closes it with the gateway's.
    const auto sample_all = [&](std::uint64_t connection) {
        std::vector<std::jthread> threads;
        for (One& one : targets) {
            threads.emplace_back([&one, connection] { one.target.sample_until_acknowledged(10, connection); });
        }
    };
    sample_all(1);
    gateway_->end(SIGKILL);
    start_gateway();
    sample_all(2);
    relay_->send_signal(SIGKILL);
    (void)relay_->wait();
    start_relay({"--listen", relay_address.endpoint()});
    sample_all(3);
    std::map<SessionId, std::uint64_t> rows;
    for (One& one : targets) {
        one.target.finish();
        rows[one.target.collector->status().session] = one.target.rows;
        EXPECT_EQ(one.target.collector->status().gateway_changes, 1U);
    }
    expect_relay_to_end_well("3 targets relayed, 0 turned away; ");
    EXPECT_NE(relay_->error_output().find(", 0 dropped"), std::string::npos) << relay_->error_output();
    expect_stored(rows);
}

TEST_F(RelayTest, ATargetWaitsWhileTheGatewayTakesNothingAndLosesNothing) {
    start_relay({"--listen", "ipc://" + (folder_ / "relay.sock")});
    SocketStream stream{listen_};
    SampledTarget target{stream, small_target(SessionId{7, 1})};
    target.sample_until_acknowledged(3);
    gateway_->process().send_signal(SIGSTOP);
    // As much as the credit allows, and then its spool is full.
    target.run_until([&] {
        target.sample();
        return target.collector->status().batches_dropped > 0;
    });
    gateway_->process().send_signal(SIGCONT);
    target.finish();
    expect_relay_to_end_well(", 0 dropped");
    expect_stored({{SessionId{7, 1}, target.rows}});
}

TEST_F(RelayTest, AnOrdinaryCollectorMayComeInToo) {
    start_relay({"--listen", "tcp://127.0.0.1:*"});
    const Finished collector = run({program_path("perfleet-collector"), "--gateway", listen_, "-e", "task-clock", "-c",
                                    "1000000", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"});
    EXPECT_EQ(collector.ending.status, 0) << collector.error_output;
    EXPECT_EQ(gateway_->end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().session.target_name, "board-7");
}

TEST_F(RelayTest, AKeyThatIsNotEnrolledIsToldAndNoTargetIsGreeted) {
    start_relay({"--listen", "tcp://127.0.0.1:*"}, "stranger");
    SocketStream stream{listen_};
    SampledTarget target{stream, small_target(SessionId{7, 1})};
    bool is_reported = false;
    std::jthread reader{[&] {
        is_reported =
            relay_->wait_for_error("perfleet relay: " + address_.endpoint() + ": it refuses this key").has_value();
        relay_->send_signal(SIGTERM);
    }};
    target.run_until([&] { return stream.connection() == 0; });  // the relay has ended
    reader.join();
    EXPECT_TRUE(is_reported) << relay_->error_output();
    EXPECT_EQ(target.driver.counts().handshakes, 0U);
    EXPECT_TRUE(stream.read_bytes.empty());
}

enum class LetIn : std::uint8_t { kYes, kNo, kNeither };

// A ZMTP target that is accepted is greeted first; another one's connection is closed.
LetIn is_let_in(int socket) {
    pollfd waiting{socket, POLLIN, 0};
    char byte = 0;
    if (::poll(&waiting, 1, kTimeoutS * 1'000) != 1) {
        return LetIn::kNeither;
    }
    return ::recv(socket, &byte, 1, 0) == 1 ? LetIn::kYes : LetIn::kNo;
}

int connect_to(const std::string& endpoint) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
}

constexpr int kManyTargets = 40;

TEST_F(RelayTest, WhoComesInBeyondTheDescriptorsThatThereAreIsTurnedAway) {
    for (const std::string limits : {"ulimit -n 120", "ulimit -S -n 120"}) {
        std::vector<std::string> words{"sh", "-c", limits + "; exec \"$@\"", "sh"};
        const auto relay = command({"--listen", "tcp://127.0.0.1:*"});
        words.insert(words.end(), relay.begin(), relay.end());
        relay_ = std::make_unique<Process>(words);
        const auto ready = relay_->wait_for_output("ready ");
        ASSERT_TRUE(ready.has_value()) << relay_->error_output();
        std::map<LetIn, int> counts;
        std::vector<int> sockets;
        for (int i = 0; i < kManyTargets; ++i) {
            sockets.push_back(connect_to(field_of(*ready, "listen")));
            ++counts[is_let_in(sockets.back())];
        }
        std::for_each(sockets.begin(), sockets.end(), [](int socket) { ::close(socket); });
        EXPECT_EQ(counts[LetIn::kNeither], 0) << limits;
        const bool is_hard = limits == "ulimit -n 120";
        EXPECT_EQ(counts[LetIn::kNo] > 0, is_hard) << "what it may have it takes: " << limits;
        EXPECT_GE(counts[LetIn::kYes], 8) << limits;
        expect_relay_to_end_well(std::to_string(counts[LetIn::kNo]) + " turned away");
        const std::string said = relay_->error_output();
        EXPECT_EQ(said.find("those beyond are turned away") != std::string::npos, is_hard) << said;
        EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 2) << said;
    }
}

TEST_F(RelayTest, AShortageOfDescriptorsIsToldOnceAndPasses) {
    start_relay({"--listen", "tcp://127.0.0.1:*"});
    rlimit before{};
    ASSERT_EQ(::prlimit(relay_->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
    const rlimit none{3, before.rlim_max};
    ASSERT_EQ(::prlimit(relay_->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
    const int early = connect_to(listen_);
    const std::string told = "perfleet relay: cannot accept connections now";
    ASSERT_TRUE(relay_->wait_for_error(told).has_value());
    const int late = connect_to(listen_);
    ASSERT_EQ(::prlimit(relay_->pid(), RLIMIT_NOFILE, &before, nullptr), 0);
    EXPECT_EQ(is_let_in(early), LetIn::kYes);
    EXPECT_EQ(is_let_in(late), LetIn::kYes);
    ::close(early);
    ::close(late);
    expect_relay_to_end_well(", 0 turned away");
    const std::string said = relay_->error_output();
    EXPECT_EQ(said.find(told), said.rfind(told)) << said;
}

TEST_F(RelayTest, SaysWhatIsWrong) {
    const auto expect_usage = [&](const std::vector<std::string>& words, const std::string& what) {
        const Finished finished = run(words);
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        EXPECT_NE(finished.error_output.find(what), std::string::npos) << finished.error_output;
    };
    expect_usage(command({}), "no target to relay; give --listen");
    expect_usage(command({"--listen", "tcp://0.0.0.0:7411"}), "without keys this program listens on this machine only");
    expect_usage(command({"--listen", "inproc://here"}), "targets come in over tcp:// or ipc://");
    expect_usage(command({"--serial", data()}), "neither a serial line nor a socket");
    expect_usage(command({"--serial", "/dev/ptmx", "--baud", "123"}), "--baud 123: no speed of serial lines");
    expect_usage({program_path("perfleet"), "relay", "--listen", "tcp://127.0.0.1:*"}, "--gateway");
    expect_usage(
        {program_path("perfleet"), "relay", "--gateway", "tcp://127.0.0.1:1", "--key", keys_.secret("board-7")},
        "--gateway-key");
    expect_usage({program_path("perfleet"), "relay", "--listen", "tcp://127.0.0.1:*", "--gateway", "tcp://127.0.0.1:1",
                  "--key", "", "--gateway-key", ""},
                 "key: is empty");
    expect_usage(command({"--listen", ""}), "--listen: is empty");
    const Finished busy = run(command({"--listen", address_.endpoint()}));
    EXPECT_EQ(busy.ending.status, 1);
    EXPECT_NE(busy.error_output.find("another program listens there"), std::string::npos) << busy.error_output;
}

// The master's side of a pseudo terminal: the board's end of the cable.
class Terminal final : public LinePort {
public:
    Terminal() : master_{::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)} {
        EXPECT_EQ(::grantpt(master_), 0);
        EXPECT_EQ(::unlockpt(master_), 0);
        // Held open, or the master can't be read before anybody else opens it; raw from the first byte.
        slave_ = ::open(path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
        termios raw{};
        EXPECT_EQ(::tcgetattr(slave_, &raw), 0);
        ::cfmakeraw(&raw);
        EXPECT_EQ(::tcsetattr(slave_, TCSANOW, &raw), 0);
    }
    ~Terminal() {
        ::close(slave_);
        ::close(master_);
    }
    [[nodiscard]] std::string path() const { return ::ptsname(master_); }

    std::size_t write(std::span<const std::byte> bytes) override {
        std::vector<std::byte> piece{bytes.begin(), bytes.begin() + std::min<std::ptrdiff_t>(std::ssize(bytes), 100)};
        auto damage = to_host_;
        damage.pass(piece);
        const ssize_t size = ::write(master_, piece.data(), piece.size());
        if (size == std::ssize(piece)) {
            to_host_ = damage;
        } else {
            to_host_.pass(std::span{piece}.first(size > 0 ? static_cast<std::size_t>(size) : 0));
        }
        return size > 0 ? static_cast<std::size_t>(size) : 0;
    }
    std::size_t read(std::span<std::byte> into) override {
        const ssize_t size = ::read(master_, into.data(), into.size());
        const std::size_t count = size > 0 ? static_cast<std::size_t>(size) : 0;
        to_target_.pass(into.first(count));
        return count;
    }

    // One bit of so many bytes on average, each way; 0: none.
    void flip_a_bit_in(std::uint32_t to_host_bytes, std::uint32_t to_target_bytes) {
        to_host_.mean_bytes = to_host_bytes;
        to_target_.mean_bytes = to_target_bytes;
    }
    [[nodiscard]] std::uint64_t flips_to_host() const { return to_host_.flips; }
    [[nodiscard]] std::uint64_t flips_to_target() const { return to_target_.flips; }

private:
    struct Damage {
        std::mt19937 random;
        std::uint32_t mean_bytes = 0;
        std::uint64_t flips = 0;

        void pass(std::span<std::byte> bytes) {
            for (std::byte& byte : bytes) {
                if (mean_bytes != 0 && random() % mean_bytes == 0) {
                    byte ^= static_cast<std::byte>(1U << (random() % 8));
                    ++flips;
                }
            }
        }
    };

    int master_;
    int slave_ = -1;
    Damage to_host_{std::mt19937{1}};
    Damage to_target_{std::mt19937{2}};
};

TEST_F(RelayTest, ABoardAtASerialLineIsRelayedAlsoAfterAReset) {
    Terminal terminal;
    start_relay({"--serial", terminal.path()});
    std::map<SessionId, std::uint64_t> rows;
    for (int run = 1; run <= 2; ++run) {
        LineStream stream{terminal, LineStream::End::kTarget};
        SampledTarget target{stream, small_target(SessionId{})};
        target.sample_until_acknowledged(3);
        gateway_->end(SIGKILL);
        start_gateway();
        target.sample_until_acknowledged(3, 2);
        target.finish();
        rows[target.collector->status().session] = target.rows;
        const std::string_view text = "\r\nReset. Booting ...\r\n";
        (void)terminal.write(std::as_bytes(std::span{text}));
    }
    expect_relay_to_end_well(", 0 dropped");
    expect_stored(rows);
}

// Whatever a flipped bit hits (a row, an acknowledgement, ZMTP's own bytes), nothing wrong is stored and nothing lost.
TEST_F(RelayTest, FlippedBitsOfASerialLineAreCountedAndNeverStored) {
    Terminal terminal;
    start_relay({"--serial", terminal.path()});
    LineStream stream{terminal, LineStream::End::kTarget};
    SampledTarget target{stream, small_target(SessionId{7, 1})};
    target.sample_until_acknowledged(3);
    terminal.flip_a_bit_in(10'000, 200);
    target.run_until([&] {
        if (target.collector->status().batches_kept < 20) {
            target.sample();
        }
        return terminal.flips_to_host() >= 4 && terminal.flips_to_target() >= 4;
    });
    terminal.flip_a_bit_in(0, 0);
    target.finish();
    EXPECT_EQ(target.collector->status().batches_dropped, 0U);
    EXPECT_EQ(target.collector->status().batches_refused, 0U);
    EXPECT_GT(target.collector->status().replies_ignored, 0U);
    relay_->send_signal(SIGTERM);
    ASSERT_TRUE(relay_->wait().has_value());
    EXPECT_NE(relay_->error_output().find(" damaged, "), std::string::npos) << relay_->error_output();
    EXPECT_EQ(relay_->error_output().find(", 0 damaged, "), std::string::npos) << relay_->error_output();
    expect_stored({{SessionId{7, 1}, target.rows}});
}

}  // namespace
}  // namespace perfleet::end_to_end::relay_test
