// From real events of the kernel to the folder on disk, with the gateway killed, stopped, and away.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "target-collector/wire/testing/held_address.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::delivery_test {
namespace {

constexpr std::uint64_t kCalls = 1'000'000;
constexpr const char* kEvent = "syscalls:sys_enter_getppid";
constexpr Series kCallRows{Kind::kTracepoint, EventNumber{0}};

std::vector<std::string> collector(const std::string& gateway, std::uint64_t calls,
                                   const std::vector<std::string>& options = {}) {
    std::vector<std::string> command{
        program_path("perfleet-collector"), "--gateway", gateway, "-e", kEvent, "-c", "1", "--exit-wait", "60"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", workload_path("getppid_workload"), std::to_string(calls)});
    return command;
}

class Delivery : public testing::Test {
protected:
    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "tracepoints need root";
        }
    }

    // Rows that a store holds now of the call's tracepoint.
    [[nodiscard]] std::uint64_t rows_stored() const {
        std::uint64_t row_count = 0;
        for (const StoredLedger& ledger : ledgers_of(data_)) {
            const auto found = ledger.series.find(kCallRows);
            row_count += found == ledger.series.end() ? 0 : found->second.stored;
        }
        return row_count;
    }

    void wait_until_stored(std::uint64_t row_count) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!HasFailure() && rows_stored() < row_count) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing is stored";
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }

    // The one session of the folder, exact.
    [[nodiscard]] StoredLedger exact_ledger() const {
        const auto ledgers = ledgers_of(data_);
        EXPECT_EQ(ledgers.size(), 1U);
        if (ledgers.empty()) {
            return {};
        }
        ledgers.front().expect_exact();
        return ledgers.front();
    }

    static void expect_success(Process& process) {
        const auto ending = process.wait();
        ASSERT_TRUE(ending.has_value()) << "still running";
        EXPECT_EQ(ending->status, 0) << process.error_output();
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
};

TEST_F(Delivery, StoresEveryCallOrSaysWhyNot) {
    GatewayProgram gateway{data_};
    Process process{collector(gateway.listen(), kCalls)};
    expect_success(process);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const StoredLedger ledger = exact_ledger();
    EXPECT_EQ(ledger.series.at(kCallRows).produced, kCalls);
    EXPECT_EQ(ledger.watermark, ledger.end->last_seq);
}

// What a crash in the middle must not change.
void expect_exact_over_a_restart(int signal, const std::string& data, const std::function<void()>& wait_for_the_middle,
                                 const std::function<void(Process&)>& expect_success) {
    const HeldAddress address;
    auto gateway = std::make_unique<GatewayProgram>(data, address.endpoint());
    Process process{collector(address.endpoint(), kCalls)};
    wait_for_the_middle();
    const Ending ending = gateway->end(signal);
    EXPECT_EQ(ending.signal, signal == SIGKILL ? SIGKILL : 0);
    gateway = std::make_unique<GatewayProgram>(data, address.endpoint());
    expect_success(process);
    EXPECT_EQ(gateway->end(SIGTERM).status, 0) << gateway->process().error_output();
}

TEST_F(Delivery, IsExactWhenTheGatewayIsKilledInTheMiddle) {
    expect_exact_over_a_restart(
        SIGKILL, data_, [this] { wait_until_stored(1); }, expect_success);
    const StoredLedger ledger = exact_ledger();
    EXPECT_EQ(ledger.series.at(kCallRows).produced, kCalls);
    EXPECT_EQ(ledger.watermark, ledger.end->last_seq);
}

TEST_F(Delivery, IsExactWhenTheGatewayIsStoppedInTheMiddle) {
    expect_exact_over_a_restart(
        SIGTERM, data_, [this] { wait_until_stored(1); }, expect_success);
    EXPECT_EQ(exact_ledger().series.at(kCallRows).produced, kCalls);
}

TEST_F(Delivery, WaitsForAGatewayThatComesLater) {
    const HeldAddress address;
    Process process{collector(address.endpoint(), 1'000)};
    EXPECT_TRUE(process.wait_for_output("getppid calls=1000").has_value()) << process.error_output();
    GatewayProgram gateway{data_, address.endpoint()};
    expect_success(process);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const StoredLedger ledger = exact_ledger();
    EXPECT_EQ(ledger.series.at(kCallRows).produced, 1'000U);
    EXPECT_EQ(ledger.series.at(kCallRows).stored, 1'000U);
}

TEST_F(Delivery, CountsWhatSmallRingsAndSpoolsDrop) {
    const HeldAddress address;
    // Nothing listens while the calls are made, and the spool is far too small for them.
    Process process{
        collector(address.endpoint(), kCalls, {"--spool-size", "2MB", "--ring-size", "2MB", "--ring-pages", "1"})};
    EXPECT_TRUE(process.wait_for_output("getppid calls=").has_value()) << process.error_output();
    GatewayProgram gateway{data_, address.endpoint()};
    expect_success(process);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const StoredLedger ledger = exact_ledger();
    EXPECT_EQ(ledger.series.at(kCallRows).produced, kCalls);
    EXPECT_GT(ledger.series.at(kCallRows).lost, 0U);
}

// A small file system of its own, which can grow.
class SmallDisk {
public:
    SmallDisk(std::string path, const char* options) : path_{std::move(path)} {
        std::filesystem::create_directory(path_);
        is_mounted_ = mount("perfleet-test", path_.c_str(), "tmpfs", 0, options) == 0;
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    ~SmallDisk() {
        if (is_mounted_) {
            umount2(path_.c_str(), MNT_DETACH);
        }
    }

    [[nodiscard]] bool is_mounted() const { return is_mounted_; }
    // Takes all but so many bytes of what is left.
    void fill_up_to(std::uint64_t free_bytes) const {
        const std::uint64_t free_now = std::filesystem::space(path_).available;
        ASSERT_GT(free_now, free_bytes);
        std::ofstream{path_ + "/filling"} << std::string(free_now - free_bytes, 'x');
        ASSERT_LE(std::filesystem::space(path_).available, free_bytes);
    }
    void grow(const char* options) const {
        EXPECT_EQ(mount("perfleet-test", path_.c_str(), "tmpfs", MS_REMOUNT, options), 0);
    }

private:
    std::string path_;
    bool is_mounted_ = false;
};

TEST_F(Delivery, IsExactWhenTheDiskWasFullForAWhile) {
    const SmallDisk disk{folder_ / "disk", "size=12m"};
    if (!disk.is_mounted()) {
        GTEST_SKIP() << "may not mount a file system";
    }
    data_ = folder_ / "disk/data";
    GatewayProgram gateway{data_};
    disk.fill_up_to(64U << 10);  // less than the contents of the kernel's first ring, whatever is lost after it
    Process process{collector(gateway.listen(), kCalls)};
    EXPECT_TRUE(gateway.process().wait_for_error("perfleet-gateway: can't store").has_value());
    disk.grow("size=512m");
    expect_success(process);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_NE(gateway.process().error_output().find("No space left"), std::string::npos);
    EXPECT_NE(gateway.process().error_output().find("storing again"), std::string::npos);
    EXPECT_EQ(exact_ledger().series.at(kCallRows).produced, kCalls);
}

TEST_F(Delivery, TwoCollectorsAtOnceStayApart) {
    GatewayProgram gateway{data_};
    Process one{collector(gateway.listen(), 20'000)};
    Process two{collector(gateway.listen(), 30'000)};
    expect_success(one);
    expect_success(two);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto ledgers = ledgers_of(data_);
    ASSERT_EQ(ledgers.size(), 2U);
    std::uint64_t produced = 0;
    for (const StoredLedger& ledger : ledgers) {
        ledger.expect_exact();
        produced += ledger.series.at(kCallRows).produced;
    }
    EXPECT_EQ(produced, 50'000U);
}

}  // namespace
}  // namespace perfleet::end_to_end::delivery_test
