// What an operator sees of a collector: metrics compared with a workload whose rows are known, and with its gateway's.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/end_to_end/collector_scrape.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::collector_metrics_test {
namespace {

constexpr std::uint64_t kCalls = 100'000;

std::string collector() { return program_path("perfleet-collector"); }

TEST(CollectorMetricsProgram, CountEveryCallOfAWorkloadAndAgreeWithTheGateway) {
    const TemporaryFolder folder;
    Process gateway{{program_path("perfleet-gateway"), "--data", folder / "data", "--listen", "tcp://127.0.0.1:*",
                     "--query", "none", "--metrics", "127.0.0.1:*"}};
    const auto ready = gateway.wait_for_output("ready ");
    ASSERT_TRUE(ready.has_value()) << gateway.error_output();
    Process process{{collector(), "--gateway", field_of(*ready, "listen"), "--metrics", "127.0.0.1:*", "-e",
                     "syscalls:sys_enter_getppid", "-c", "1", "--", workload_path("getppid_workload"),
                     std::to_string(kCalls), "stay"}};
    const std::string metrics = metrics_of(process);
    ASSERT_TRUE(process.wait_for_output("getppid calls=").has_value()) << process.error_output();

    const std::string produced = "perfleet_collector_rows_produced_total{kind=\"tracepoint\"}";
    const std::string acknowledged = "perfleet_collector_batches_acknowledged_total";
    const std::string stored = "perfleet_gateway_batches_total{outcome=\"stored\"}";
    // It keeps reading counters and sealing them, now and then; between two batches both are equal.
    ScrapedPage gateways;
    const ScrapedPage page = scrape_until(metrics, [&](const ScrapedPage& seen) {
        gateways = scrape(field_of(*ready, "metrics"));
        const auto batches = seen.value(acknowledged);
        return seen.value(produced) >= kCalls && seen.value("perfleet_collector_batches_sealed_total") == batches &&
               seen.value("perfleet_collector_acknowledgement_seconds_count") == batches &&
               gateways.value(stored) == batches &&
               gateways.sum("perfleet_gateway_rows_lost_total") == seen.sum("perfleet_collector_rows_lost_total");
    });
    EXPECT_EQ(page.value(produced), kCalls);
    EXPECT_EQ(page.value("perfleet_collector_connected"), 1);
    EXPECT_EQ(page.value("perfleet_collector_session_refused"), 0);
    EXPECT_EQ(page.value("perfleet_collector_gateway_changes_total"), 0);
    EXPECT_EQ(page.value("perfleet_collector_batches_refused_total"), 0);
    EXPECT_GT(page.value(acknowledged).value_or(0), 0);
    EXPECT_EQ(page.value("perfleet_collector_acknowledgement_seconds_count"), page.value(acknowledged));
    EXPECT_EQ(page.value("perfleet_collector_spool_limit_bytes"), 64 << 20);
    EXPECT_GT(page.value("process_cpu_seconds_total").value_or(0), 0);

    EXPECT_EQ(gateways.all_problems(), "");
    EXPECT_EQ(gateways.value(stored).value_or(-1), page.value(acknowledged).value_or(0));
    EXPECT_EQ(gateways.sum("perfleet_gateway_rows_lost_total"), page.sum("perfleet_collector_rows_lost_total"));

    process.send_signal(SIGTERM);
    const auto ending = process.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << process.error_output();
    gateway.send_signal(SIGTERM);
    ASSERT_TRUE(gateway.wait().has_value());
}

TEST(CollectorMetricsProgram, AnAbsentGatewayIsSeen) {
    Process process{{collector(), "--gateway", "tcp://127.0.0.1:1", "--exit-wait", "0", "--metrics", "127.0.0.1:*",
                     "-e", "page-faults", "-c", "1", "--", "sleep", "1000"}};
    const ScrapedPage page = scrape_until(metrics_of(process), [&](const ScrapedPage& seen) {
        return seen.value("perfleet_collector_spool_used_bytes") > 0 &&
               seen.value("perfleet_collector_batches_sealed_total") > 0;
    });
    EXPECT_EQ(page.value("perfleet_collector_connected"), 0);
    EXPECT_GT(page.value("perfleet_collector_spool_used_bytes").value_or(0), 0);
    EXPECT_GT(page.value("perfleet_collector_batches_sealed_total").value_or(0), 0);
    EXPECT_EQ(page.value("perfleet_collector_batches_acknowledged_total"), 0);
    process.send_signal(SIGTERM);
    ASSERT_TRUE(process.wait().has_value());
}

TEST(CollectorMetricsProgram, BadAddressesAndLevelsEndItBeforeTheCommandStarts) {
    const TemporaryFolder folder;
    for (const auto& [option, status] : std::vector<std::pair<std::string, int>>{{"--metrics=9412", 2},
                                                                                 {"--metrics=192.0.2.1:9412", 2},
                                                                                 {"--log-level=loud", 2},
                                                                                 {"--log-format=xml", 2}}) {
        const Finished finished =
            run({collector(), "--output", folder / "out", option, "-e", "page-faults", "--", "echo", "started"});
        EXPECT_EQ(finished.ending.status, status) << option;
        EXPECT_NE(finished.error_output.find(option.substr(0, option.find('='))), std::string::npos)
            << finished.error_output;
        EXPECT_EQ(finished.output, "");
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::collector_metrics_test
