// The bare-metal image in a real QEMU, over a virtio serial port to the real gateway, and on to `perfleet top` and the
// real `perf report`.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "target-collector/wire/held_address_test.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end {
namespace {

constexpr double kSharePointsMax = 4;
constexpr std::uint64_t kSamplesMin = 3'000;
constexpr std::uint64_t kSamplesMinOnABusyHost = 2'000;  // all that a minute may give where time goes on by itself

// The image, running.
class Machine {
public:
    explicit Machine(const std::string& gateway_endpoint, const std::vector<std::string>& more = {})
        : process_{command(gateway_endpoint, more)} {}

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
    // The number behind `name=` in the line that begins so.
    std::uint64_t number(const std::string& line, const std::string& name) {
        const std::string text = field_of(process_.wait_for_output(line).value_or(""), name);
        EXPECT_FALSE(text.empty()) << line << ' ' << name << ": " << process_.output();
        return text.empty() ? 0 : std::stoull(text);
    }

private:
    static std::vector<std::string> command(const std::string& gateway_endpoint, const std::vector<std::string>& more) {
        const std::string port = gateway_endpoint.substr(gateway_endpoint.rfind(':') + 1);
        const std::string words =
            "qemu-system-aarch64 -M virt -cpu cortex-a57 -m 64 -display none -nodefaults -no-reboot -serial stdio "
            "-device virtio-serial-device -chardev socket,id=gateway,host=127.0.0.1,reconnect=1,port=" +
            port + " -device virtserialport,chardev=gateway,nr=1,name=telemetry";
        std::istringstream stream{words};
        std::vector<std::string> command{std::istream_iterator<std::string>{stream}, {}};
        command.insert(command.end(), {"-kernel", PERFLEET_BARE_METAL_IMAGE});
        command.insert(command.end(), more.begin(), more.end());
        return command;
    }

    Process process_;
};

class BareMetal : public testing::Test {
protected:
    // Whoever is above the load's own threads, of one event: "timer" or "cycles".
    void expect_shares_as_they_were(Machine& machine, const std::string& event, std::uint64_t samples_min) {
        std::map<std::string, double> sampled;
        for (const auto& row : rows_of(perfleet_json({"top", "--data", data(), "--event", event}))) {
            sampled[row.at("symbol")] = row.at("children");
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
            const double took = 100 * static_cast<double>(machine.number("took", function)) / took_all;
            EXPECT_NEAR(100 * sampled[function] / sampled_all, took, kSharePointsMax) << event << ' ' << function;
        };
        for (const std::string& function : functions) {
            expect_share(function);
        }
        // With what they call, as their callers see it.
        expect_share("middle");
        expect_share("inner");
    }

    [[nodiscard]] std::string data() const { return folder_ / "data"; }

    TemporaryFolder folder_;
    HeldAddress address_;
};

TEST_F(BareMetal, ItsLoadIsSeenAsItWasThoughTheGatewayIsKilledInTheMiddle) {
    auto killed = std::make_unique<GatewayProgram>(data(), address_.endpoint());
    Machine machine{address_.endpoint()};
    machine.wait_for("acknowledged 3");
    killed->end(SIGKILL);
    GatewayProgram gateway{data(), address_.endpoint()};
    machine.wait();
    ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
    EXPECT_EQ(machine.number("sampled", "handshakes"), 2U);
    EXPECT_EQ(machine.number("sampled", "gateways"), 2U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);

    const auto ledgers = ledgers_of(data());
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().series.at({Kind::kSample, EventNumber{0}}).produced, machine.number("sampled", "timer"));
    EXPECT_EQ(ledgers.front().series.at({Kind::kSample, EventNumber{1}}).produced, machine.number("sampled", "cycles"));
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

// Here interrupts come at exact places, not at the next loop's head, and two runs do the same: all the more they must
// not be taken for one.
TEST_F(BareMetal, WhereTimeCountsInstructionsItsLoadIsSeenAsItWasAndEachRunIsASession) {
    GatewayProgram gateway{data(), address_.endpoint()};
    for (std::size_t run = 1; run <= 2; ++run) {
        Machine machine{address_.endpoint(), {"-icount", "shift=3"}};
        machine.wait();
        ASSERT_EQ(machine.number("sampled", "finished"), 1U) << machine.output();
        const auto ledgers = ledgers_of(data());
        ASSERT_EQ(ledgers.size(), run);
        for (const StoredLedger& ledger : ledgers) {
            ledger.expect_exact();
        }
        if (run == 1) {
            expect_shares_as_they_were(machine, "timer", kSamplesMin);
            expect_shares_as_they_were(machine, "cycles", kSamplesMin);
        }
    }
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
}

}  // namespace
}  // namespace perfleet::end_to_end
