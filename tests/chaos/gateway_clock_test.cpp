// A gateway starts with a clock that lies in the past, as on machines without a battery: nothing is lost because of it.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "schemas/vocabulary/time.h"
#include "target-collector/wire/testing/held_address.h"
#include "tests/chaos/test_world.h"
#include "tests/end_to_end/collector_scrape.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::chaos::gateway_clock_test {
namespace {

using end_to_end::GatewayProgram;
using end_to_end::Process;
using end_to_end::program_path;

void wait_until_it_says(const Process& process, const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{end_to_end::kTimeoutS};
    while (process.error_output().find(text) == std::string::npos) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << process.error_output();
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
}

TEST(GatewayClock, WhatIsHoursAheadWaitsUntilItIsSet) {
    const end_to_end::TemporaryFolder folder;
    const HeldAddress address;
    // A collector that knows the gateway's clock counts hours by it, so the first batch is sealed before that.
    Process collector{{program_path("perfleet-collector"), "--gateway", address.endpoint(), "--metrics", "127.0.0.1:0",
                       "-e", "cpu-clock", "--", "sleep", "1000"}};
    end_to_end::scrape_until(end_to_end::metrics_of(collector), [](const ScrapedPage& seen) {
        return seen.value("perfleet_collector_batches_sealed_total") >= 1;
    });
    World world{folder / "page"};
    world.set_clock(-5 * kBucketDurationS * kNsPerSecond);
    GatewayProgram behind{folder / "data", address.endpoint(), "none", program_path("perfleet-gateway"),
                          world.options()};
    wait_until_it_says(collector, "doesn't take this session for now: its clock is hours behind");
    wait_until_it_says(behind.process(), "of 5 hours in the future");
    EXPECT_EQ(behind.end(SIGTERM).status, 0);
    EXPECT_TRUE(end_to_end::ledgers_of(folder / "data").empty());
    GatewayProgram right{folder / "data", address.endpoint()};
    wait_until_it_says(collector, "takes this session now");
    collector.send_signal(SIGTERM);
    EXPECT_TRUE(collector.wait().has_value()) << "still running";
    EXPECT_NE(collector.error_output().find("all acknowledged"), std::string::npos) << collector.error_output();
    EXPECT_EQ(right.end(SIGTERM).status, 0);
    const auto ledgers = end_to_end::ledgers_of(folder / "data");
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_TRUE(ledgers.front().lost.empty());
}

TEST(GatewayClock, ATimeoutThatIsNoneIsNamed) {
    for (const char* value : {"-1", "nan", "604801"}) {
        const end_to_end::Finished finished =
            end_to_end::run({program_path("perfleet-gateway"), "--data", "/", "--clock-timeout", value});
        EXPECT_EQ(finished.ending.status, 2) << value;
        EXPECT_NE(finished.error_output.find("--clock-timeout"), std::string::npos) << finished.error_output;
    }
}

}  // namespace
}  // namespace perfleet::chaos::gateway_clock_test
