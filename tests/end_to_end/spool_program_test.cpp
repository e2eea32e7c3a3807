// perfleet-collector --spool with real kills: the next run stores what a killed one had sealed, the rest is counted,
// and the ledger of every session is exact.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "target-collector/spool/spool_reading.h"
#include "target-collector/wire/testing/held_address.h"
#include "tests/end_to_end/collector_scrape.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::spool_program_test {
namespace {

constexpr std::uint64_t kCalls = 20'000;
constexpr const char* kNobody = "tcp://127.0.0.1:1";  // a port that no test has use for
constexpr Series kCallRows{Kind::kTracepoint, EventNumber{0}};

// Makes calls until it goes out of scope.
class Flood {
public:
    [[nodiscard]] std::vector<std::string> as_source() const { return {"-p", std::to_string(process_.pid())}; }

private:
    Process process_{{workload_path("getppid_workload"), "1000000000000"}};
};

class SpoolProgram : public testing::Test {
protected:
    struct Options {
        std::string gateway;
        std::vector<std::string> source;
        std::string spool_size = "32MB";
        std::string exit_wait = "60";
    };

    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "tracepoints need root";
        }
    }

    [[nodiscard]] std::vector<std::string> collector(const Options& options) const {
        std::vector<std::string> command{program_path("perfleet-collector"),
                                         "--gateway",
                                         options.gateway,
                                         "--spool",
                                         spool_,
                                         "--spool-size",
                                         options.spool_size,
                                         "--exit-wait",
                                         options.exit_wait,
                                         "-e",
                                         "syscalls:sys_enter_getppid",
                                         "-c",
                                         "1"};
        command.insert(command.end(), options.source.begin(), options.source.end());
        return command;
    }
    static std::vector<std::string> calls(std::uint64_t count) {
        return {"--", workload_path("getppid_workload"), std::to_string(count)};
    }

    // The state of the one session in the spool on disk; nothing when it can't be read.
    [[nodiscard]] std::unique_ptr<JournalEntry> journal() const {
        std::error_code none;
        for (const auto& file : std::filesystem::directory_iterator(spool_, none)) {
            if (file.path().extension() == ".spool") {
                std::ifstream stream(file.path(), std::ios::binary);
                std::vector<char> bytes(kJournalSizeBytes);
                stream.seekg(kSpoolJournalOffset);
                stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                auto entry = std::make_unique<JournalEntry>();
                if (read_journal(std::as_bytes(std::span{bytes}), *entry).ok()) {
                    return entry;
                }
            }
        }
        return nullptr;
    }
    void wait_for_journal(const std::function<bool(const JournalEntry&)>& is_reached) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        for (;;) {
            const auto entry = journal();
            if (entry != nullptr && is_reached(*entry)) {
                return;
            }
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing comes into the spool";
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }

    [[nodiscard]] std::uint64_t batches_stored() const {
        std::uint64_t count = 0;
        for (const StoredLedger& ledger : ledgers_of(data_)) {
            count += ledger.seqs.size();
        }
        return count;
    }
    void wait_until_stored(std::uint64_t batch_count) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!HasFailure() && batches_stored() < batch_count) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing is stored";
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }

    static void kill(Process& process) {
        process.send_signal(SIGKILL);
        const auto ending = process.wait();
        ASSERT_TRUE(ending.has_value());
        EXPECT_EQ(ending->signal, SIGKILL) << process.error_output();
    }
    // A run to its end, which delivers what is left, too.
    std::string run_to_the_end(const std::string& gateway) const {
        const Finished finished = run(collector({gateway, calls(kCalls)}));
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        EXPECT_NE(finished.error_output.find("all acknowledged"), std::string::npos) << finished.error_output;
        EXPECT_EQ(spool_files(), 0U) << finished.error_output;
        return finished.error_output;
    }

    [[nodiscard]] std::size_t spool_files() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(spool_)) {
            count += entry.path().extension() == ".spool" ? 1 : 0;
        }
        return count;
    }

    // Every session has ended, and adds up: by the records of the store, and by the command line. Sessions of killed
    // collectors lack the contents of kernel rings, and report it.
    void expect_all_exact(std::size_t session_count, bool has_killed = true) const {
        const auto ledgers = ledgers_of(data_);
        EXPECT_EQ(ledgers.size(), session_count);
        for (const StoredLedger& ledger : ledgers) {
            ledger.expect_exact();
        }
        const auto sessions = perfleet_json({"sessions", "--data", data_});
        expect_ledger_adds_up(sessions);
        for (const auto& row : rows_of(sessions)) {
            EXPECT_EQ(row.at("state"), "ended");
        }
        const auto losses = perfleet_json({"losses", "--data", data_});
        expect_ledger_adds_up(losses);
        EXPECT_EQ(losses.at("warnings").size(), has_killed ? 1U : 0U) << losses.at("warnings");
        for (const auto& warning : losses.at("warnings")) {
            EXPECT_NE(warning.get<std::string>().find("no clean end"), std::string::npos) << warning;
        }
        for (const auto& row : rows_of(losses)) {
            EXPECT_EQ(row.at("produced").get<std::uint64_t>(),
                      row.at("stored").get<std::uint64_t>() + row.at("lost").get<std::uint64_t>())
                << row;
            EXPECT_EQ(row.at("missing").get<std::uint64_t>(), 0U) << row;
        }
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    std::string spool_ = folder_ / "spool";
};

TEST_F(SpoolProgram, AKillWithTheGatewayThereIsExactAfterTheNextRun) {
    GatewayProgram gateway{data_};
    {
        const Flood flood;
        Process process{collector({gateway.listen(), flood.as_source()})};
        wait_until_stored(2);
        kill(process);
    }
    EXPECT_EQ(spool_files(), 1U);
    const std::string said = run_to_the_end(gateway.listen());
    EXPECT_NE(said.find("of an earlier run is delivered"), std::string::npos) << said;
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_all_exact(2);
}

TEST_F(SpoolProgram, AKillWithTheGatewayAwayIsExactAfterTheNextRun) {
    {
        const Flood flood;
        Process process{collector({kNobody, flood.as_source()})};
        wait_for_journal([](const JournalEntry& entry) { return entry.last_sealed >= Seq{3}; });
        kill(process);
    }
    EXPECT_EQ(spool_files(), 1U);
    GatewayProgram gateway{data_};
    run_to_the_end(gateway.listen());
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_all_exact(2);
    for (const StoredLedger& ledger : ledgers_of(data_)) {
        EXPECT_GT(ledger.series.at(kCallRows).stored, 0U) << "of the killed run, or of the other";
    }
}

TEST_F(SpoolProgram, KillsOfBothInTurnStayExact) {
    const HeldAddress address;
    const std::string& listen = address.endpoint();
    auto gateway = std::make_unique<GatewayProgram>(data_, listen);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        const Flood flood;
        Process process{collector({listen, flood.as_source()})};
        wait_until_stored(batches_stored() + 2);
        if (round % 2 == 1) {
            EXPECT_EQ(gateway->end(SIGKILL).signal, SIGKILL);
            kill(process);
            gateway = std::make_unique<GatewayProgram>(data_, listen);
        } else {
            kill(process);
        }
    }
    run_to_the_end(listen);
    EXPECT_EQ(gateway->end(SIGTERM).status, 0);
    expect_all_exact(4);
}

TEST_F(SpoolProgram, ARunThatFindsNoGatewayLeavesEverythingForTheNext) {
    const Finished finished = run(collector({kNobody, calls(kCalls), "32MB", "0.1"}));
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_NE(finished.error_output.find("stay in the spool"), std::string::npos) << finished.error_output;
    EXPECT_EQ(finished.error_output.find("spool_full"), std::string::npos) << finished.error_output;
    EXPECT_EQ(spool_files(), 1U);
    GatewayProgram gateway{data_};
    run_to_the_end(gateway.listen());
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_all_exact(2, false);
    for (const StoredLedger& ledger : ledgers_of(data_)) {
        EXPECT_EQ(ledger.series.at(kCallRows).produced, kCalls);
    }
}

// Its head; the journal; the head and its copy.
TEST_F(SpoolProgram, ADamagedFileIsDeliveredAsFarAsItCanBeReadAndTheExitStatusSaysSo) {
    using Parts = std::vector<std::pair<std::size_t, std::size_t>>;
    const Parts head{{0, kSpoolHeadSizeBytes}};
    const Parts heads{{0, kSpoolHeadSizeBytes}, {kSpoolHeadCopyOffset, kSpoolHeadSizeBytes}};
    std::size_t session_count = 0;
    GatewayProgram gateway{data_};
    for (const auto& [parts, status, says] :
         {std::tuple{head, 0, "is delivered: "},
          std::tuple{Parts{{kSpoolJournalOffset, kJournalSizeBytes}}, 1, "its journal is lost"},
          std::tuple{heads, 1, "is no spool file; it is left as it is"}}) {
        ASSERT_EQ(run(collector({kNobody, calls(kCalls), "32MB", "0.1"})).ending.status, 0);
        ASSERT_EQ(spool_files(), 1U);
        for (const auto& entry : std::filesystem::directory_iterator(spool_)) {
            for (const auto& [offset, size] : entry.path().extension() == ".spool" ? parts : Parts{}) {
                std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
                std::string bytes(size, '\0');
                file.seekg(static_cast<std::streamoff>(offset));
                file.read(bytes.data(), static_cast<std::streamsize>(size));
                std::for_each(bytes.begin(), bytes.end(), [](char& byte) { byte = static_cast<char>(~byte); });
                file.seekp(static_cast<std::streamoff>(offset));
                file.write(bytes.data(), static_cast<std::streamsize>(size));
            }
        }
        const Finished finished = run(collector({gateway.listen(), calls(kCalls)}));
        EXPECT_EQ(finished.ending.status, status) << finished.error_output;
        EXPECT_NE(finished.error_output.find(says), std::string::npos) << finished.error_output;
        EXPECT_EQ(finished.error_output.find("damaged files of earlier runs in the spool: 1") != std::string::npos,
                  status != 0)
            << finished.error_output;
        session_count += parts == heads ? 1 : 2;
        EXPECT_EQ(spool_files(), parts == heads ? 1U : 0U);
        for (const StoredLedger& ledger : ledgers_of(data_)) {
            EXPECT_EQ(ledger.series.at(kCallRows).produced, kCalls);
            EXPECT_EQ(ledger.series.at(kCallRows).stored, kCalls);
        }
    }
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(ledgers_of(data_).size(), session_count);
}

TEST_F(SpoolProgram, SigtermWithNoGatewayLeavesTheRestInTheSpool) {
    {
        const Flood flood;
        Process process{collector({kNobody, flood.as_source(), "32MB", "0.1"})};
        wait_for_journal([](const JournalEntry& entry) { return entry.last_sealed >= Seq{1}; });
        process.send_signal(SIGTERM);
        const auto ending = process.wait();
        ASSERT_TRUE(ending.has_value()) << "still running";
        EXPECT_EQ(ending->status, 0) << process.error_output();
        EXPECT_NE(process.error_output().find("stay in the spool"), std::string::npos) << process.error_output();
    }
    wait_for_journal([](const JournalEntry& entry) { return entry.has_final; });
    GatewayProgram gateway{data_};
    run_to_the_end(gateway.listen());
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_all_exact(2, false);
    for (const StoredLedger& ledger : ledgers_of(data_)) {
        EXPECT_FALSE(ledger.lost.contains(CountName::kLostKilled));
        EXPECT_FALSE(ledger.lost.contains(CountName::kLostSpoolFull));
    }
}

TEST_F(SpoolProgram, ASessionTooManyForNowStaysUntilThereIsRoomForIt) {
    const HeldAddress address;
    const std::string& listen = address.endpoint();
    GatewayProgram narrow{data_, listen, "none", program_path("perfleet-gateway"), {}, {"--target-sessions", "1"}};
    run_to_the_end(listen);
    const Finished second = run(collector({listen, calls(kCalls), "32MB", "1"}));
    EXPECT_EQ(second.ending.status, 0) << second.error_output;
    EXPECT_NE(second.error_output.find("doesn't take this session for now"), std::string::npos) << second.error_output;
    EXPECT_NE(second.error_output.find("stay in the spool"), std::string::npos) << second.error_output;
    EXPECT_EQ(spool_files(), 1U);
    EXPECT_EQ(narrow.end(SIGTERM).status, 0);
    GatewayProgram wide{data_, listen};
    run_to_the_end(listen);
    EXPECT_EQ(wide.end(SIGTERM).status, 0);
    expect_all_exact(3, false);
    for (const StoredLedger& ledger : ledgers_of(data_)) {
        EXPECT_EQ(ledger.series.at(kCallRows).produced, kCalls);
        for (const auto& [name, count] : ledger.lost) {
            // A slow collector loses rows before they are sealed.
            EXPECT_TRUE(count == 0 || name == CountName::kLostKernelRing || name == CountName::kLostRingFull)
                << count << " by reason " << static_cast<int>(name);
        }
    }
}

TEST_F(SpoolProgram, WhatARunLeftAndWhatIsSyncedStandsInTheMetrics) {
    {
        const Flood flood;
        std::vector<std::string> command = collector({kNobody, flood.as_source()});
        command.insert(command.begin() + 1, {"--spool-sync", "0.01", "--metrics", "127.0.0.1:*"});
        Process process{command};
        const ScrapedPage page = scrape_until(metrics_of(process), [](const ScrapedPage& seen) {
            return seen.value("perfleet_collector_spool_syncs_total") >= 3 &&
                   seen.value("perfleet_collector_batches_sealed_total") >= 3;
        });
        EXPECT_EQ(page.value("perfleet_collector_spool_syncs_failed_total"), 0);
        EXPECT_EQ(page.value("perfleet_collector_recovered_sessions"), 0);
        wait_for_journal([](const JournalEntry& entry) { return entry.last_sealed >= Seq{3}; });
        kill(process);
    }
    const HeldAddress address;
    const std::string& listen = address.endpoint();
    std::vector<std::string> command = collector({listen, {"--", "sleep", "1000"}});
    command.insert(command.begin() + 1, {"--metrics", "127.0.0.1:*"});
    Process process{command};
    const std::string metrics = metrics_of(process);
    ScrapedPage page = scrape_until(
        metrics, [](const ScrapedPage& seen) { return seen.value("perfleet_collector_recovered_batches") >= 3; });
    EXPECT_EQ(page.value("perfleet_collector_recovered_sessions"), 1);
    EXPECT_GT(page.value("perfleet_collector_recovered_bytes").value_or(0), 0);
    EXPECT_EQ(page.value("perfleet_collector_recovered_batches_delivered_total"), 0);
    EXPECT_EQ(page.value("perfleet_collector_spool_syncs_total"), 0);
    const double waiting = page.value("perfleet_collector_recovered_batches").value_or(0);
    GatewayProgram gateway{data_, listen};
    page = scrape_until(metrics, [](const ScrapedPage& seen) {
        return seen.value("perfleet_collector_recovered_sessions_delivered_total") == 1;
    });
    EXPECT_EQ(page.value("perfleet_collector_recovered_batches_delivered_total"), waiting);
    EXPECT_EQ(page.value("perfleet_collector_recovered_sessions"), 0);
    EXPECT_EQ(page.value("perfleet_collector_recovered_batches"), 0);
    EXPECT_EQ(page.value("perfleet_collector_recovered_bytes"), 0);
    process.send_signal(SIGTERM);  // its command, too
    EXPECT_TRUE(process.wait().has_value()) << "still running";
}

TEST_F(SpoolProgram, AFullSpoolDropsTheOldestAndStaysExactOverAKill) {
    {
        const Flood flood;
        Process process{collector({kNobody, flood.as_source(), "1MB"})};
        wait_for_journal([](const JournalEntry& entry) { return entry.last_dropped >= Seq{3}; });
        kill(process);
    }
    GatewayProgram gateway{data_};
    run_to_the_end(gateway.listen());
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_all_exact(2);
    std::uint64_t dropped = 0;
    for (const StoredLedger& ledger : ledgers_of(data_)) {
        const auto found = ledger.lost.find(CountName::kLostSpoolFull);
        dropped += found == ledger.lost.end() ? 0 : found->second;
    }
    EXPECT_GT(dropped, 0U);
}

TEST_F(SpoolProgram, OneFolderIsForOneCollector) {
    const Flood flood;
    Process first{collector({kNobody, flood.as_source()})};
    wait_for_journal([](const JournalEntry&) { return true; });
    const Finished second = run(collector({kNobody, calls(1)}));
    EXPECT_EQ(second.ending.status, 1);
    EXPECT_NE(second.error_output.find(spool_), std::string::npos) << second.error_output;
    EXPECT_NE(second.error_output.find("process " + std::to_string(first.pid())), std::string::npos)
        << second.error_output;
}

TEST(SpoolUsage, IsNamedWhenItIsWrong) {
    const TemporaryFolder folder;
    const std::string program = program_path("perfleet-collector");
    const Finished with_file = run({program, "--output", folder / "out", "--spool", folder / "spool", "-a"});
    EXPECT_EQ(with_file.ending.status, 2);
    EXPECT_NE(with_file.error_output.find("--spool"), std::string::npos) << with_file.error_output;
    const Finished too_small =
        run({program, "--gateway", kNobody, "--spool", folder / "spool", "--spool-size", "1KB", "-a"});
    EXPECT_EQ(too_small.ending.status, 2);
    EXPECT_NE(too_small.error_output.find("--spool-size"), std::string::npos) << too_small.error_output;
    const Finished nowhere = run({program, "--gateway", kNobody, "--spool", folder / "no/spool", "-a"});
    EXPECT_EQ(nowhere.ending.status, 1);
    EXPECT_NE(nowhere.error_output.find("no/spool"), std::string::npos) << nowhere.error_output;
    EXPECT_NE(run({program, "--help"}).output.find("--spool"), std::string::npos);
    for (const auto& [options, status] :
         {std::pair{std::vector<std::string>{"--spool-sync", "1"}, 2},
          {std::vector<std::string>{"--spool", folder / "spool", "--spool-sync", "0"}, 2},
          {std::vector<std::string>{"--spool", folder / "spool", "--spool-sync", "nan"}, 2}}) {
        std::vector<std::string> command{program, "--gateway", kNobody, "-a"};
        command.insert(command.end(), options.begin(), options.end());
        const Finished finished = run(command);
        EXPECT_EQ(finished.ending.status, status);
        EXPECT_NE(finished.error_output.find("--spool-sync"), std::string::npos) << finished.error_output;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::spool_program_test
