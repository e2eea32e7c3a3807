// The bare-metal image in a real QEMU, over a virtio serial port or a network card to the real gateway, and on to
// `perfleet top` and the real `perf report`.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/columns/crc32c.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/block/block.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/visit_blocks.h"
#include "target-collector/wire/testing/held_address.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

constexpr std::uint64_t kStackBytesMax = 4U << 10;             // what PORTING.md says
constexpr std::uint64_t kStackBytesWithNetworkMax = 6U << 10;  // likewise
constexpr double kSharePointsMax = 4;
constexpr double kInStepPointsMin = 30;
constexpr std::uint64_t kSamplesMin = 3'000;
constexpr std::uint64_t kSamplesMinOnABusyHost = 500;  // the least that a run may give where time continues by itself

// The image, running.
class Machine {
public:
    enum class Port : std::uint8_t { kVirtio, kUart };

    explicit Machine(const std::string& gateway_endpoint, const std::vector<std::string>& more = {},
                     Port port = Port::kVirtio)
        : process_{command(
              "socket,host=127.0.0.1,reconnect=1,port=" + gateway_endpoint.substr(gateway_endpoint.rfind(':') + 1),
              port, more)} {}
    // Its output is kept in a file instead; `more` includes sink=file.
    struct ToFile {
        std::string path;
    };
    Machine(const ToFile& file, const std::vector<std::string>& more, Port port)
        : process_{command("file,path=" + file.path, port, more)} {}
    // Over its network card; `words` are options of the run.
    struct ToNetwork {
        std::string gateway_endpoint;
        std::vector<std::string> cable_faults = {};  // options of faulty_cable.py; none: a cable without faults
    };
    Machine(const ToNetwork& network, const std::string& words, const std::vector<std::string>& more = {})
        : process_{command_with_network(network, words, more)} {}

    void wait_for(const std::string& line) {
        EXPECT_TRUE(process_.wait_for_output(line).has_value()) << process_.output() << process_.error_output();
    }
    // Until it has switched itself off.
    void wait() {
        const auto ending = process_.wait();
        ASSERT_TRUE(ending.has_value()) << process_.output();
        EXPECT_EQ(ending->status, 0) << process_.error_output();
    }
    [[nodiscard]] std::string output() const { return process_.output(); }
    // Frames that this happened to on a faulty cable; only after wait().
    std::uint64_t frames(const std::string& fault) {
        const std::string text = field_of(process_.wait_for_error("cable ").value_or(""), fault);
        EXPECT_FALSE(text.empty()) << process_.error_output();
        return text.empty() ? 0 : std::stoull(text);
    }
    // How often it has printed that so far.
    [[nodiscard]] std::size_t count_of(const std::string& text) const {
        const std::string printed = output();
        std::size_t count = 0;
        for (std::size_t at = printed.find(text); at != std::string::npos; at = printed.find(text, at + text.size())) {
            ++count;
        }
        return count;
    }
    // The number after `name=` in the line with this beginning.
    std::uint64_t number(const std::string& line, const std::string& name) {
        const std::string text = field_of(process_.wait_for_output(line).value_or(""), name);
        EXPECT_FALSE(text.empty()) << line << ' ' << name << ": " << process_.output();
        return text.empty() ? 0 : std::stoull(text);
    }

private:
    static std::vector<std::string> command(const std::string& other_end, Port port,
                                            const std::vector<std::string>& more) {
        const std::string virtio =
            " -serial stdio -device virtio-serial-device -device virtserialport,chardev=telemetry,nr=1,name=telemetry";
        // The image's messages to the host come out on its console, not among QEMU's own warnings.
        const std::string uart =
            " -serial chardev:telemetry -chardev stdio,id=host -semihosting-config "
            "enable=on,target=native,chardev=host";
        const std::string words =
            "qemu-system-aarch64 -M virt -cpu cortex-a57 -m 64 -display none -nodefaults -no-reboot -chardev " +
            other_end + ",id=telemetry" + (port == Port::kVirtio ? virtio : uart);
        std::istringstream stream{words};
        std::vector<std::string> command{std::istream_iterator<std::string>{stream}, {}};
        command.insert(command.end(), {"-kernel", PERFLEET_BARE_METAL_IMAGE});
        command.insert(command.end(), more.begin(), more.end());
        return command;
    }
    // 10.0.2.100 is a process for each connection; nothing else is on the guest's network but DHCP.
    static std::vector<std::string> command_with_network(const ToNetwork& network, const std::string& words,
                                                         const std::vector<std::string>& more) {
        const std::string& endpoint = network.gateway_endpoint;
        std::vector<std::string> all = {
            "-netdev",
            "user,id=net,restrict=on,guestfwd=tcp:10.0.2.100:7411-cmd:" PERFLEET_GUEST_BRIDGE " 127.0.0.1 " +
                endpoint.substr(endpoint.rfind(':') + 1),
            "-device",
            "virtio-net-device,netdev=net",
            "-append",
            "gateway=10.0.2.100:7411 " + words};
        all.insert(all.end(), more.begin(), more.end());
        const std::vector<std::string> machine = command("null", Port::kVirtio, all);
        if (network.cable_faults.empty()) {
            return machine;
        }
        std::vector<std::string> on_cable{PERFLEET_PYTHON, "-ES", PERFLEET_FAULTY_CABLE};
        on_cable.insert(on_cable.end(), network.cable_faults.begin(), network.cable_faults.end());
        on_cable.insert(on_cable.end(), machine.begin(), machine.end());
        return on_cable;
    }

    Process process_;
};

class BareMetal : public testing::Test {
protected:
    // In points of the share of one function.
    double largest_error(Machine& machine, const std::string& event) {
        std::map<std::string, double> sampled;
        for (const auto& row : rows_of(perfleet_json({"top", "--data", data(), "--event", event}))) {
            sampled[row.at("symbol")] = row.at("children_samples");
        }
        const std::vector<std::string> functions = {"heavy", "medium", "light", "outer"};
        double took_all = 0;
        double sampled_all = 0;
        for (const std::string& function : functions) {
            took_all += static_cast<double>(machine.number("took", function));
            sampled_all += sampled[function];
        }
        double largest = 0;
        for (const std::string& function : functions) {
            const double took = static_cast<double>(machine.number("took", function)) / took_all;
            largest = std::max(largest, 100 * std::abs(sampled[function] / sampled_all - took));
        }
        return largest;
    }

    // The callers above the load's own threads, of one event: "timer" or "cycles".
    void expect_shares_as_they_were(Machine& machine, const std::string& event, std::uint64_t samples_min) {
        std::map<std::string, double> sampled;
        for (const auto& row : rows_of(perfleet_json({"top", "--data", data(), "--event", event}))) {
            sampled[row.at("symbol")] = row.at("children_samples");
        }
        const std::vector<std::string> functions = {"heavy", "medium", "light", "outer"};
        double took_all = 0;
        double sampled_all = 0;
        for (const std::string& function : functions) {
            took_all += static_cast<double>(machine.number("took", function));
            sampled_all += sampled[function];
        }
        EXPECT_GE(sampled_all, samples_min);
        const auto expect_share = [&](const std::string& function) {
            const double took = static_cast<double>(machine.number("took", function)) / took_all;
            const double by_chance = 4 * std::sqrt(took * (1 - took) / sampled_all);
            EXPECT_NEAR(100 * sampled[function] / sampled_all, 100 * took, std::max(kSharePointsMax, 100 * by_chance))
                << event << ' ' << function;
        };
        for (const std::string& function : functions) {
            expect_share(function);
        }
        // With their callees, as their callers see them.
        expect_share("middle");
        expect_share("inner");
    }

    [[nodiscard]] std::string data() const { return folder_ / "data"; }

    TemporaryFolder folder_;
    HeldAddress address_;
};

TEST_F(BareMetal, ItsLoadIsSeenAsItWasThoughTheGatewayIsKilledInTheMiddle) {
    auto killed = std::make_unique<GatewayProgram>(data(), address_.endpoint());
    Machine machine{address_.endpoint(), {"-append", "handshakes=2"}};
    machine.wait_for("acknowledged 3");
    killed->end(SIGKILL);
    GatewayProgram gateway{data(), address_.endpoint()};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "handshakes"), 2U);
    EXPECT_EQ(machine.number("sampled", "gateways"), 2U);
    EXPECT_LE(machine.number("sampled", "stack_bytes"), kStackBytesMax);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);

    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    // A busy host makes samples late: the samples that the counters requested are in the ledger, taken or not.
    EXPECT_EQ(ledgers.front().series.at({Kind::kSample, EventNumber{0}}).produced,
              machine.number("sampled", "timer") + machine.number("sampled", "timer_missed"));
    EXPECT_EQ(ledgers.front().series.at({Kind::kSample, EventNumber{1}}).produced,
              machine.number("sampled", "cycles") + machine.number("sampled", "cycles_missed"));
    expect_shares_as_they_were(machine, "timer", kSamplesMinOnABusyHost);
    expect_shares_as_they_were(machine, "cycles", kSamplesMinOnABusyHost);

    // perf sees the same, with symbols of the image's own file.
    const std::string file = folder_ / "perf.data";
    (void)perfleet({"export", "--to", "perf.data", "-o", file, "--data", data()});
    Process::Options at_home;
    at_home.environment = {"HOME=" + folder_.path().string()};
    const Finished report =
        run({"perf", "report", "-i", file, "--stdio", "--no-children", "-g", "none", "-n"}, at_home);
    EXPECT_EQ(report.ending.status, 0) << report.error_output;
    for (const char* expected : {"heavy", "medium", "light", "inner", "perfleet-virt.elf", "shares", "nested"}) {
        EXPECT_NE(report.output.find(expected), std::string::npos) << expected << " in\n" << report.output;
    }
    EXPECT_EQ(report.output.find("[unknown]"), std::string::npos) << report.output;
}

// QEMU's console, by which a test unplugs the network card.
class Monitor {
public:
    explicit Monitor(std::string path) : path_{std::move(path)} {}
    [[nodiscard]] std::string options() const { return "unix:" + path_ + ",server=on,wait=off"; }

    void say(const std::string& command) const {
        const FileDescriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
        ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        const std::string line = command + "\n";
        ASSERT_TRUE(write_all(socket.get(), std::as_bytes(std::span{line})));
        // A prompt, the command's echo, and the next prompt when it is done.
        std::string heard;
        for (std::array<char, 4'096> piece{}; heard.rfind("(qemu) ") == heard.find("(qemu) ");) {
            const ssize_t size = ::read(socket.get(), piece.data(), piece.size());
            ASSERT_GT(size, 0) << heard;
            heard.append(piece.data(), static_cast<std::size_t>(size));
        }
    }

private:
    std::string path_;
};

TEST_F(BareMetal, OverItsNetworkCardCountsAreExactThoughTheLinkGoesAndTheGatewayFreezes) {
    if (!PERFLEET_HAS_TARGET_NETWORK) {
        GTEST_SKIP() << "the image was built without lwIP";
    }
    constexpr std::chrono::seconds kAway{3};
    GatewayProgram gateway{data(), address_.endpoint()};
    const Monitor monitor{folder_ / "monitor"};
    Machine machine{
        Machine::ToNetwork{address_.endpoint()}, "seconds=8 samples=700 handshakes=1", {"-monitor", monitor.options()}};
    machine.wait_for("acknowledged 1");
    monitor.say("set_link net off");
    std::this_thread::sleep_for(kAway);
    monitor.say("set_link net on");
    gateway.process().send_signal(SIGSTOP);
    std::this_thread::sleep_for(kAway);
    gateway.process().send_signal(SIGCONT);
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("network", "frames_damaged"), 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
}

// Functions are traced so often that the cable carries frames all the time, and more rows than it can are lost.
TEST_F(BareMetal, OverAFaultyCableCountsAreExact) {
    if (!PERFLEET_HAS_TARGET_NETWORK) {
        GTEST_SKIP() << "the image was built without lwIP";
    }
    const char* const asked = std::getenv("PERFLEET_TEST_CABLE");
    std::istringstream words{asked != nullptr ? asked
                                              : "--seed 5 --lost 0.05 --doubled 0.05 --reordered 0.05 --damaged 0.05"};
    const std::vector<std::string> faults{std::istream_iterator<std::string>{words}, {}};
    GatewayProgram gateway{data(), address_.endpoint()};
    Machine machine{Machine::ToNetwork{address_.endpoint(), faults},
                    "seconds=2 samples=500 handshakes=1 trace=on turns=200"};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    for (std::size_t i = 2; i < faults.size(); i += 2) {
        EXPECT_GT(machine.frames(faults[i].substr(2)), 0U) << faults[i] << " of " << machine.frames("frames");
    }
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    const auto& series = ledgers.front().series;
    std::uint64_t traced = 0;
    for (const auto& [one, counts] : series) {
        if (one.kind == Kind::kTracepoint) {
            EXPECT_GT(counts.stored, 0U) << one.event.value;
            traced += counts.produced;
        }
    }
    EXPECT_EQ(traced, machine.number("sampled", "traced"));
    for (const auto& [number, name] : {std::pair{std::uint16_t{0}, "timer"}, std::pair{std::uint16_t{1}, "cycles"}}) {
        EXPECT_EQ(series.at({Kind::kSample, EventNumber{number}}).produced,
                  machine.number("sampled", name) + machine.number("sampled", std::string{name} + "_missed"));
    }
}

// Beyond loopback a gateway accepts only peers with keys.
TEST_F(BareMetal, OverItsNetworkCardItIsTheTargetOfItsKey) {
    if (!PERFLEET_HAS_TARGET_NETWORK || !PERFLEET_HAS_TARGET_KEYS) {
        GTEST_SKIP() << "the image was built without lwIP or libsodium";
    }
    const TestKeys keys;
    const Finished made = run({program_path("perfleet"), "keygen", "board-7", "--label", "rack=r12", "--raw",
                               keys.pub("gateway"), "--out", folder_.path().string()});
    ASSERT_EQ(made.ending.status, 0) << made.error_output;
    GatewayProgram gateway{data(), address_.endpoint(),
                           "none", program_path("perfleet-gateway"),
                           {},     {"--key", keys.secret("gateway"), "--collectors", keys.folder()}};
    Machine machine{Machine::ToNetwork{address_.endpoint()},
                    "seconds=1 samples=700 handshakes=1 keys=on",
                    {"-device", "loader,file=" + (folder_ / "board-7.raw") + ",addr=0x405ff000,force-raw=on"}};
    EXPECT_TRUE(gateway.process().wait_for_error("perfleet-gateway: refused a peer at 127.0.0.1: its key").has_value());
    std::filesystem::copy(folder_ / "board-7.pub", keys.folder());
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "handshakes"), 1U);
    EXPECT_LE(machine.number("sampled", "stack_bytes"), kStackBytesWithNetworkMax);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    const std::string targets = perfleet({"targets", "--data", data(), "--format", "csv"});
    EXPECT_NE(targets.find("board-7"), std::string::npos) << targets;
    EXPECT_NE(targets.find("rack=r12"), std::string::npos) << targets;
}

TEST_F(BareMetal, DoesNotRunWithKeysThatAreNone) {
    Machine machine{Machine::ToNetwork{address_.endpoint()}, "keys=on"};
    machine.wait_for("no ke");  // none there, or none compiled in
    machine.wait();
}

// By DHCP, over a card of the modern kind: the other tests' devices are legacy ones. PERFLEET_TEST_KILLS: how often it
// is killed, once if not said.
TEST_F(BareMetal, OverItsNetworkCardTheGatewayGetsExactCountsThoughItIsKilledInTheMiddle) {
    if (!PERFLEET_HAS_TARGET_NETWORK) {
        GTEST_SKIP() << "the image was built without lwIP";
    }
    const char* const asked = std::getenv("PERFLEET_TEST_KILLS");
    const std::uint64_t kills = asked == nullptr ? 1 : std::stoull(asked);
    auto gateway = std::make_unique<GatewayProgram>(data(), address_.endpoint());
    Machine machine{Machine::ToNetwork{address_.endpoint()},
                    "seconds=2 samples=700 handshakes=" + std::to_string(kills + 1),
                    {"-global", "virtio-mmio.force-legacy=false"}};
    machine.wait_for("acknowledged 1");
    for (std::uint64_t i = 0; i < kills; ++i) {
        gateway->end(SIGKILL);
        const std::size_t acknowledged = machine.count_of("acknowledged ");
        gateway = std::make_unique<GatewayProgram>(data(), address_.endpoint());
        // One may be on its way from the gateway that was killed. After the last kill the run may end at once.
        if (i + 1 < kills) {
            machine.wait_for("acknowledged " + std::to_string(acknowledged + 2));
        }
    }
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "handshakes"), kills + 1);
    EXPECT_EQ(machine.number("sampled", "gateways"), kills + 1);
    EXPECT_LE(machine.number("sampled", "stack_bytes"), kStackBytesWithNetworkMax);
    EXPECT_GE(machine.number("network", "connections"), kills + 1);
    EXPECT_EQ(machine.number("network", "frames_damaged"), 0U);
    EXPECT_EQ(gateway->end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    for (const auto& [number, name] : {std::pair{0, "timer"}, std::pair{1, "cycles"}}) {
        const auto& counts =
            ledgers.front().series.at({Kind::kSample, EventNumber{static_cast<std::uint16_t>(number)}});
        const std::uint64_t missed = machine.number("sampled", std::string{name} + "_missed");
        EXPECT_EQ(counts.produced, machine.number("sampled", name) + missed);
        EXPECT_EQ(counts.stored, machine.number("sampled", name));
    }
}

// Here interrupts come at exact places, not at the next loop's head, and two runs do the same, because nothing random
// exists: all the more they must not be taken for one.
TEST_F(BareMetal, WhereTimeCountsInstructionsItsLoadIsSeenAsItWasAndEachRunIsASession) {
    GatewayProgram gateway{data(), address_.endpoint()};
    for (std::size_t run = 1; run <= 2; ++run) {
        Machine machine{address_.endpoint(), {"-icount", "shift=3", "-M", "dtb-randomness=off"}};
        machine.wait();
        ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
        const auto ledgers = ledgers_of(data());
        ASSERT_EQ(ledgers.size(), run);
        for (const StoredLedger& ledger : ledgers) {
            ledger.expect_exact();
            // Of QEMU's Cortex-A57.
            EXPECT_EQ(ledger.session.labels, (Labels{{"pmu_counter_bits", "32"},
                                                     {"pmu_counters", "6"},
                                                     {"pmu_fixed", "1"},
                                                     {"pmu_fixed_bits", "64"},
                                                     {"pmu_fixed_mask", "0x80000000"},
                                                     {"pmu_mask", "0x8000003f"}}));
        }
        if (run == 1) {
            expect_shares_as_they_were(machine, "timer", kSamplesMin);
            expect_shares_as_they_were(machine, "cycles", kSamplesMin);
        }
    }
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
}

// The purpose of jitter: if the period is as long as the load's loop, all samples come from one place of it.
TEST_F(BareMetal, APeriodInStepWithTheLoadIsWrongAndJitterIsNot) {
    GatewayProgram gateway{data(), address_.endpoint()};
    Machine machine{address_.endpoint(),
                    {"-icount", "shift=3", "-append", "period=loop turns=800 seconds=3 samples=3000"}};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_shares_as_they_were(machine, "timer", kSamplesMin);
    EXPECT_GE(largest_error(machine, "cycles"), kInStepPointsMin);
}

// Runs without anything random, and without input from outside.
class BareMetalOverAgain : public BareMetal {
protected:
    enum class Sink : std::uint8_t { kGateway, kFile };

    // The stored rows of a session that is sent through this port, in a store of its own.
    std::vector<std::string> answers_of_run(const std::string& session, Machine::Port port,
                                            Sink sink = Sink::kGateway) {
        const std::string store = data() + session;
        const std::vector<std::string> more = {"-icount",
                                               "shift=3",
                                               "-M",
                                               "dtb-randomness=off",
                                               "-rtc",
                                               "base=2024-05-06T07:08:09,clock=vm",
                                               "-append",
                                               "stream=after seconds=3 samples=3000 session=" + session +
                                                   (port == Machine::Port::kUart ? " port=uart console=host" : "") +
                                                   (sink == Sink::kFile ? " sink=file" : "")};
        if (sink == Sink::kFile) {
            const std::string file = folder_ / (session + ".frames");
            Machine machine{Machine::ToFile{file}, more, port};
            machine.wait();
            EXPECT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
            (void)perfleet({"import", "--format", "frames", "--data", store, file});
        } else {
            GatewayProgram gateway{store, address_.endpoint()};
            Machine machine{address_.endpoint(), more, port};
            machine.wait();
            EXPECT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
            EXPECT_EQ(gateway.end(SIGTERM).status, 0);
        }
        return answers_of(store, session);
    }

private:
    std::vector<std::string> answers_of(const std::string& store, const std::string& session) {
        const auto ledgers = ledgers_of(store);
        EXPECT_EQ(ledgers.size(), 1U);
        EXPECT_EQ(ledgers.front().session.session.low, static_cast<std::uint64_t>(session.back() - '0'));
        std::vector<std::string> answers;
        for (const char* event : {"timer", "cycles"}) {
            for (const char* command : {"top", "tree"}) {
                answers.push_back(perfleet({command, "--data", store, "--event", event, "--format", "json"}));
            }
            const std::string file = folder_ / (event + session);
            (void)perfleet({"export", "--to", "folded", "-o", file, "--data", store, "--event", event});
            std::ifstream folded{file};
            answers.emplace_back(std::istreambuf_iterator<char>{folded}, std::istreambuf_iterator<char>{});
        }
        answers.push_back(perfleet({"utilisation", "--data", store, "--format", "json"}));
        // The session's own columns and warnings.
        for (std::string& answer : answers) {
            for (const std::string& name : {session, "session " + session.substr(0, 8)}) {
                for (std::size_t at = answer.find(name); at != std::string::npos; at = answer.find(name)) {
                    answer.erase(at, name.size());
                }
            }
        }
        for (const auto& [series, counts] : ledgers.front().series) {
            answers.push_back(std::string{kind_name(series.kind)} + ' ' + std::to_string(counts.stored));
        }
        EXPECT_GT(answers.front().size(), 500U);
        for (const std::string& rows : rows_of(store, ledgers.front())) {
            answers.push_back(rows);
        }
        return answers;
    }

    // For each series a line that only the same rows in the same order have, whatever their batches.
    static std::vector<std::string> rows_of(const std::string& store, const StoredLedger& ledger) {
        const auto reader = open_store_reader(store);
        EXPECT_TRUE(reader.ok()) << reader.error().message;
        const auto partitions = (*reader)->partitions();
        EXPECT_TRUE(partitions.ok()) << partitions.error().message;
        std::vector<std::string> lines;
        for (const auto& [series, counts] : ledger.series) {
            std::map<ColumnId, std::string> columns;  // a text a value
            for (const Partition& partition : *partitions) {
                const auto visited = visit_blocks(
                    **reader, partition, ledger.session.target, ledger.session.session, series,
                    [&, kind = series.kind](const BlockKey&, std::string_view bytes) {
                        const auto block = parse_block_untrusted(bytes);
                        DecodedRows rows;
                        EXPECT_TRUE(block.ok() && rows.decode(*block).ok());
                        for (const ColumnRule& rule : columns_of(kind)) {
                            for (std::size_t row = 0; row < rows.row_count(); ++row) {
                                columns[rule.id] += rule.shape == ColumnShape::kBytes
                                                        ? std::string{rows.bytes(rule.id, row)} + '\n'
                                                        : std::to_string(rows.integers(rule.id)[row]) + '\n';
                            }
                        }
                        return Visit::kContinue;
                    });
                EXPECT_TRUE(visited.ok());
            }
            for (const auto& [id, text] : columns) {
                lines.push_back(std::string{kind_name(series.kind)} + '/' + std::to_string(series.event.value) + ' ' +
                                std::string{column_name(id)} + ": " + std::to_string(text.size()) + " B, checksum " +
                                std::to_string(crc32c(0, std::as_bytes(std::span{text}))));
            }
        }
        EXPECT_GT(lines.size(), 10U);
        return lines;
    }
};

TEST_F(BareMetalOverAgain, TwoRunsWhereTimeCountsInstructionsGiveTheSameAnswers) {
    EXPECT_EQ(answers_of_run("20000000000000000000000000000001", Machine::Port::kVirtio),
              answers_of_run("70000000000000000000000000000008", Machine::Port::kVirtio));
}

TEST_F(BareMetalOverAgain, TheUartAndFilesBringWhatTheVirtioPortBrings) {
    const auto answers = answers_of_run("20000000000000000000000000000001", Machine::Port::kVirtio);
    EXPECT_EQ(answers_of_run("20000000000000000000000000000002", Machine::Port::kUart), answers);
    EXPECT_EQ(answers_of_run("20000000000000000000000000000003", Machine::Port::kVirtio, Sink::kFile), answers);
    EXPECT_EQ(answers_of_run("20000000000000000000000000000004", Machine::Port::kUart, Sink::kFile), answers);
}

// No gateway could grant it one: none is there, and nothing random.
TEST_F(BareMetal, AFileIsGivenItsSessionAtImport) {
    const std::string file = folder_ / "run.frames";
    Machine machine{Machine::ToFile{file},
                    {"-icount", "shift=3", "-M", "dtb-randomness=off", "-append", "sink=file seconds=1 samples=500"},
                    Machine::Port::kVirtio};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    const std::vector<std::string> import{"import", "--format", "frames", "--data", data(), file};
    EXPECT_NE(perfleet(import).find(" of qemu-virt: "), std::string::npos);
    EXPECT_NE(perfleet(import).find("was there already; "), std::string::npos);
    ASSERT_EQ(ledgers_of(data()).size(), 1U);
    auto as_another = import;
    as_another.emplace_back("--new-session");
    (void)perfleet(as_another);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 2U);
    for (const StoredLedger& ledger : ledgers) {
        ledger.expect_exact();
        const auto& counts = ledger.series.at({Kind::kSample, EventNumber{0}});
        EXPECT_EQ(counts.stored, machine.number("sampled", "timer"));
    }
}

TEST_F(BareMetal, OverTheUartNothingIsLostThoughTheGatewayIsKilledInTheMiddle) {
    auto killed = std::make_unique<GatewayProgram>(data(), address_.endpoint());
    Machine machine{address_.endpoint(), {"-append", "port=uart console=host"}, Machine::Port::kUart};
    machine.wait_for("acknowledged 3");
    killed->end(SIGKILL);
    GatewayProgram gateway{data(), address_.endpoint()};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "gateways"), 2U);
    EXPECT_EQ(machine.number("sampled", "dropped"), 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().series.at({Kind::kSample, EventNumber{0}}).stored, machine.number("sampled", "timer"));
}

TEST_F(BareMetal, NothingIsLostWhileTheHostReadsNothingForTwoSeconds) {
    GatewayProgram gateway{data(), address_.endpoint()};
    // The board has no battery either.
    const UtcNs before = utc_now();
    Machine machine{address_.endpoint(), {"-rtc", "base=1970-01-01T00:10:00"}};
    machine.wait_for("acknowledged 3");
    gateway.process().send_signal(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds{2});
    gateway.process().send_signal(SIGCONT);
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "dropped"), 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    const auto& counts = ledgers.front().series.at({Kind::kSample, EventNumber{0}});
    EXPECT_EQ(counts.stored, machine.number("sampled", "timer"));
    EXPECT_EQ(counts.produced, counts.stored + machine.number("sampled", "timer_missed"));
    EXPECT_GE(ledgers.front().session.start_point.utc_ns, before);
    EXPECT_LE(ledgers.front().session.start_point.utc_ns, utc_now());
    EXPECT_EQ(rows_of(perfleet_json({"sessions", "--data", data(), "--from", "-1h"})).size(), 1U);
}

// A peer that sends bytes of ZMTP, whatever they mean.
class RawPeer {
public:
    RawPeer() : listening_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(listening_, generic, sizeof address), 0);
        EXPECT_EQ(::listen(listening_, 1), 0);
        socklen_t size = sizeof address;
        EXPECT_EQ(::getsockname(listening_, generic, &size), 0);
        endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ~RawPeer() {
        ::close(connection_);
        ::close(listening_);
    }
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

    void accept() {
        const timeval patience{60, 0};
        EXPECT_EQ(::setsockopt(listening_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
        connection_ = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
        EXPECT_GE(connection_, 0);
        EXPECT_EQ(::setsockopt(connection_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    }
    // False: nothing reads it.
    bool send(const std::string& bytes) {
        for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t sent = ::send(connection_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
            if (sent <= 0) {
                return false;
            }
            at += static_cast<std::size_t>(sent);
        }
        return true;
    }
    // False: it ends, or sends nothing for a minute.
    bool wait_for(const std::string& bytes) {
        std::array<char, 4096> buffer{};
        for (std::string text; text.find(bytes) == std::string::npos;) {
            const ssize_t received = ::recv(connection_, buffer.data(), buffer.size(), 0);
            if (received <= 0) {
                return false;
            }
            text = text.substr(text.size() - std::min(text.size(), bytes.size())) +
                   std::string(buffer.data(), static_cast<std::size_t>(received));
        }
        return true;
    }

private:
    int listening_;
    int connection_ = -1;
    std::string endpoint_;
};

// More buffers than half of those that the queue's 16-bit counts can distinguish.
TEST_F(BareMetal, ItHearsWhatComesAfterFortyThousandBuffersOnOneConnection) {
    constexpr std::size_t kBuffers = 40'000;
    constexpr std::size_t kBufferSizeBytes = 512;
    RawPeer peer;
    Machine machine{peer.endpoint(), {"-append", "seconds=600"}};  // as long as it takes to read
    peer.accept();
    const auto command = [](const std::string& body) {
        return std::string{'\x04', static_cast<char>(body.size())} + body;
    };
    const std::string greeting = "\xff" + std::string(8, '\0') + "\x7f\x03\x01NULL" + std::string(48, '\0');
    ASSERT_EQ(greeting.size(), 64U);
    const std::string zeros(3, '\0');
    ASSERT_TRUE(peer.send(greeting + command("\x05READY\x0bSocket-Type" + zeros + "\x06ROUTER")));
    const std::string nonsense = std::string{'\0', '\xff'} + std::string(255, 'x');
    for (std::size_t sent = 0; sent < kBuffers * kBufferSizeBytes; sent += nonsense.size()) {
        ASSERT_TRUE(peer.send(nonsense)) << "after " << sent << " bytes";
    }
    ASSERT_TRUE(peer.send(command("\x04PING" + std::string(2, '\0') + "seen")));
    EXPECT_TRUE(peer.wait_for("\x04PONGseen"));
}

// Two threads signal each other without a tick: where time counts instructions, each round takes as long as any other.
TEST_F(BareMetal, TheKanataCircleIsAStraightLineWhereTimeCountsInstructions) {
    std::vector<std::string> answers;
    for (const char* run : {"1", "2"}) {
        const std::string store = data() + run;
        GatewayProgram gateway{store, address_.endpoint()};
        // In a store of its own each: they may have one name.
        Machine machine{
            address_.endpoint(),
            {"-icount", "shift=0", "-append", "circle=20,20,10,7 session=20000000000000000000000000000001"}};
        machine.wait();
        ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
        EXPECT_EQ(machine.number("sampled", "circles"), 70U);
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
        const auto ledgers = ledgers_of(store);
        ASSERT_EQ(ledgers.size(), 1U);
        ledgers.front().expect_exact();
        EXPECT_EQ(ledgers.front().series.at({Kind::kLatency, EventNumber{0}}).stored, 70U);
        answers.push_back(perfleet({"latency", "--kbench", "--skip", "1", "--data", store, "--format", "json"}));
        // A(N) = c + N p, the same c and p through all groups, and no test differs from another of its group.
        const auto rows = rows_of(perfleet_json({"latency", "--kbench", "--skip", "1", "--data", store}));
        ASSERT_EQ(rows.size(), 10U);
        for (std::size_t i = 1; i < rows.size(); ++i) {
            EXPECT_EQ(rows[i].at("sd_a"), 0.0) << i;
            EXPECT_EQ(rows[i].at("test_size"), 20 * (i + 1)) << i;
            EXPECT_EQ(rows[i].at("tests"), 6) << i;
            EXPECT_EQ(rows[i].at("slope"), rows.back().at("slope")) << i;
            EXPECT_EQ(rows[i].at("fixed_cost"), rows.back().at("fixed_cost")) << i;
        }
        EXPECT_GT(rows.back().at("slope").get<double>(), 100);
    }
    EXPECT_EQ(answers.front(), answers.back());
}

TEST_F(BareMetal, StartAndStopOfEachFunctionAddUpToWhatItTook) {
    GatewayProgram gateway{data(), address_.endpoint()};
    Machine machine{address_.endpoint(), {"-append", "trace=on seconds=3 samples=1000"}};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "untraced"), 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    std::uint64_t stored = 0;
    int untraced_count = 0;  // calls during which the run ended: added up, and not traced any more
    for (const auto& row : rows_of(perfleet_json({"tracepoints", "--data", data()}))) {
        const std::uint64_t count = row.at("rows");
        const auto took = static_cast<double>(machine.number("took", row.at("event")));
        const double untraced = took - row.at("mean").get<double>() * static_cast<double>(count);
        EXPECT_GE(untraced, -1e-9 * took) << row;
        EXPECT_LE(untraced, row.at("max").get<double>()) << row;
        untraced_count += untraced > 1e-9 * took ? 1 : 0;
        EXPECT_GT(count, 10U);
        stored += count;
    }
    EXPECT_LE(untraced_count, 1);
    EXPECT_EQ(stored, machine.number("sampled", "traced"));
    EXPECT_GT(stored, 0U);
}

// While it is stopped its loop continues: it answers, and reports that it was stopped. An image refuses what it can't
// do.
TEST_F(BareMetal, AnOperatorStopsItGivesItAnotherPeriodAndStartsItAgain) {
    constexpr std::uint64_t kPeriodNs = 200'000;
    GatewayProgram gateway{data(), address_.endpoint()};
    // It can't end before it is stopped, and ends soon when it samples five times as often.
    Machine machine{address_.endpoint(), {"-append", "seconds=1 samples=12000"}};
    machine.wait_for("acknowledged 1");
    const auto control = [&](std::vector<std::string> words) {
        std::vector<std::string> command{program_path("perfleet"),
                                         "control",
                                         "--data",
                                         data(),
                                         "--target",
                                         "qemu-virt",
                                         "--format",
                                         "json",
                                         "--wait",
                                         "30"};
        command.insert(command.end(), words.begin(), words.end());
        const Finished finished = run(command);
        EXPECT_FALSE(finished.output.empty()) << finished.error_output;
        return finished.output.empty() ? nlohmann::json{} : rows_of(nlohmann::json::parse(finished.output)).at(0);
    };
    EXPECT_EQ(control({"stop"}).at("outcome"), "applied");
    const auto state = [&] {
        return rows_of(perfleet_json({"sessions", "--data", data()})).at(0).at("state").get<std::string>();
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    while (state() != "stopped") {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << machine.output();
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    const auto too_long = control({"--period", "99000000"});
    EXPECT_EQ(too_long.at("outcome"), "refused");
    EXPECT_EQ(too_long.at("reason"), "periods of 100,000 to 10,000,000 ns, or cycles");
    EXPECT_EQ(control({"--frequency", "99"}).at("reason"), "it samples by periods: --period");
    EXPECT_EQ(control({"--period", std::to_string(kPeriodNs)}).at("outcome"), "applied");
    EXPECT_EQ(control({"start"}).at("outcome"), "applied");
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    const auto timer = ledgers.front().series.at({Kind::kSample, EventNumber{0}});
    EXPECT_EQ(timer.stored, machine.number("sampled", "timer"));

    // Each sample stands for the period that it was taken with: first the one, then the other.
    const std::string file = folder_ / "perf.data";
    (void)perfleet({"export", "--to", "perf.data", "-o", file, "--data", data(), "--event", "timer"});
    Process::Options at_home;
    at_home.environment = {"HOME=" + folder_.path().string()};
    const Finished script = run({"perf", "script", "-i", file, "-F", "period", "-G"}, at_home);
    std::istringstream lines{script.output};
    std::vector<std::uint64_t> periods{std::istream_iterator<std::uint64_t>{lines}, {}};
    EXPECT_EQ(periods.size(), timer.stored) << script.error_output;
    const auto changed = std::find(periods.begin(), periods.end(), kPeriodNs);
    EXPECT_GT(changed - periods.begin(), 0);
    EXPECT_GT(periods.end() - changed, 0);
    EXPECT_TRUE(std::all_of(periods.begin(), changed, [](std::uint64_t one) { return one == 1'000'000; }));
    EXPECT_TRUE(std::all_of(changed, periods.end(), [](std::uint64_t one) { return one == kPeriodNs; }));
    const auto changes = rows_of(perfleet_json({"controls", "--data", data()}));
    ASSERT_EQ(changes.size(), 3U);
    EXPECT_EQ(changes[2].at("command"), "start");
}

// Windows of a second in which two threads have the core in turn, and the kernel some of it.
TEST_F(BareMetal, EachThreadsTimeIsToldAndAddsUpToAllOfIt) {
    GatewayProgram gateway{data(), address_.endpoint()};
    Machine machine{address_.endpoint(), {"-icount", "shift=3", "-append", "seconds=3 samples=1000"}};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    struct Window {
        double total = 0;
        double shares = 0;
        double nested = 0;
        std::uint64_t switches = 0;
    };
    std::map<std::uint64_t, Window> windows;
    for (const auto& row : rows_of(perfleet_json({"utilisation", "--data", data()}))) {
        EXPECT_TRUE(row.at("fault").is_null()) << row;
        Window& window = windows[row.at("window")];
        const std::string thread = row.at("thread");
        if (thread == "others") {
            EXPECT_EQ(row.at("cycles"), 0U) << "the threads' add up to the whole, exactly";
            continue;
        }
        EXPECT_GT(row.at("entries"), 100U) << row;
        EXPECT_GT(row.at("kernel_cycles"), 0U) << row;
        EXPECT_LT(row.at("kernel_cycles").get<double>(), row.at("cycles").get<double>() / 2) << row;
        (thread == "total"    ? window.total
         : thread == "shares" ? window.shares
                              : window.nested) = row.at("cycles").get<double>();
        window.switches += thread == "total" ? row.at("schedules").get<std::uint64_t>() : 0;
    }
    ASSERT_GE(windows.size(), 2U);
    const double took_shares = static_cast<double>(machine.number("took", "heavy") + machine.number("took", "medium") +
                                                   machine.number("took", "light"));
    const double took_nested = static_cast<double>(machine.number("took", "outer"));
    for (const auto& [number, window] : windows) {
        EXPECT_GT(window.switches, 2U);
        EXPECT_EQ(window.shares + window.nested, window.total) << number;
        EXPECT_NEAR(100 * window.shares / window.total, 100 * took_shares / (took_shares + took_nested),
                    kSharePointsMax);
    }
}

TEST_F(BareMetal, AnOptionThatIsNoneIsNamed) {
    Machine machine{address_.endpoint(), {"-append", "seconds=1 period=loops"}};
    machine.wait();
    EXPECT_NE(machine.output().find("-append: no option of this image: period=loops"), std::string::npos)
        << machine.output();
}

}  // namespace
}  // namespace perfleet::end_to_end
