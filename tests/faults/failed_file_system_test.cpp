// The gateway on a real file system that fails beneath it: ext4 in a file, as root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/types.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/metrics/testing/scrape.h"
#include "storage/store/open_store.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::failed_file_system_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};
constexpr std::uint64_t kBatchesBefore = 20;
constexpr std::uint64_t kBatches = 40;

enum class Failure : std::uint8_t {
    kAborted,       // its journal has failed: reads work, writes end in EROFS
    kShutDown,      // everything ends in EIO; the journal's contents reach the disk
    kWithoutPower,  // everything ends in EIO; the journal contains what was synced
};

// In a mount namespace of the test's own, so that nothing of it remains.
class LoopDisk {
public:
    // Empty if loop mounts are permitted, else the reason why not.
    std::string make() {
        if (::geteuid() != 0) {
            return "root alone may mount file systems";
        }
        if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            return "no mount namespace";
        }
        std::filesystem::create_directory(folder());
        std::filesystem::create_directory(folder_ / "image");
        const std::vector<std::string> steps[] = {{"truncate", "-s", "256M", image()},
                                                  {"mkfs.ext4", "-q", "-F", image()}};
        for (const auto& step : steps) {
            if (const Finished done = run(step); done.ending.status != 0) {
                return done.error_output;
            }
        }
        return mount();
    }
    ~LoopDisk() { unmount(); }

    [[nodiscard]] std::string folder() const { return folder_ / "disk"; }

    void fail(Failure failure) const {
        if (failure == Failure::kAborted) {
            const Finished aborted = run({"mount", "-o", "remount,abort", folder()});
            ASSERT_EQ(aborted.ending.status, 0) << aborted.error_output;
            return;
        }
        constexpr unsigned long kShutDown = _IOR('X', 125, __u32);  // EXT4_IOC_SHUTDOWN
        const __u32 flags = failure == Failure::kShutDown ? 1 : 2;  // with or without a flush of the log
        const int fd = ::open(folder().c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(fd, 0);
        ASSERT_EQ(::ioctl(fd, kShutDown, &flags), 0);
        ::close(fd);
    }

    // The disk is back, at the same place. Over another loop device, because the processes with files on the failed
    // file system keep it.
    void repair() {
        unmount();
        ASSERT_EQ(mount(), "");
    }

private:
    [[nodiscard]] std::string image() const { return folder_ / "image/ext4"; }

    std::string mount() {
        const Finished attached = run({"losetup", "-f", "--show", image()});
        if (attached.ending.status != 0) {
            return attached.error_output;
        }
        device_ = attached.output.substr(0, attached.output.find('\n'));
        const Finished mounted = run({"mount", device_, folder()});
        return mounted.ending.status == 0 ? "" : mounted.error_output;
    }

    void unmount() {
        if (!device_.empty()) {
            (void)run({"umount", "-l", folder()});
            (void)run({"losetup", "-d", device_});  // once no process holds it
            device_.clear();
        }
    }

    TemporaryFolder folder_;
    std::string device_;
};

class FailedFileSystem : public testing::TestWithParam<Failure> {};

TEST_P(FailedFileSystem, CostsNothingThatWasAcknowledgedAndTheGatewayGoesOnWhenItIsBack) {
    LoopDisk disk;
    if (const std::string reason = disk.make(); !reason.empty()) {
        GTEST_SKIP() << "loop mounts aren't permitted here: " << reason;
    }
    const std::string data = disk.folder() + "/data";
    GatewayProgram gateway{data, "tcp://127.0.0.1:*",         "tcp://127.0.0.1:*", program_path("perfleet-gateway"),
                           {},   {"--metrics", "127.0.0.1:*"}};
    SamplePeer peer{gateway.listen()};
    const SessionRecord session = sample_session(kTarget, kSession);
    peer.greet(session);
    const auto send = [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket)));
        }
    };
    send(1, kBatchesBefore);
    peer.wait_for_prefix(kBatchesBefore);
    const auto losses = [&] {
        return run({program_path("perfleet"), "losses", "--gateway", gateway.query(), "--format", "csv"});
    };
    const Finished before = losses();
    EXPECT_EQ(before.ending.status, 0) << before.error_output;

    disk.fail(GetParam());
    send(kBatchesBefore + 1, kBatches);
    const auto said = gateway.process().wait_for_error("perfleet-gateway: can't store");
    ASSERT_TRUE(said.has_value()) << gateway.process().error_output();
    EXPECT_NE(said->find(GetParam() == Failure::kAborted ? "Read-only file system" : "Input/output error"),
              std::string::npos)
        << *said;
    for (int replies = 0; replies < 2; ++replies) {
        EXPECT_EQ(peer.wait_for(sample::ReplyType::kAck).prefix, kBatchesBefore);
    }
    EXPECT_EQ(scrape(gateway.metrics()).value("perfleet_gateway_store_stuck"), 1);
    if (GetParam() == Failure::kAborted) {
        const Finished meanwhile = losses();
        EXPECT_EQ(meanwhile.output, before.output) << meanwhile.error_output;
    }

    disk.repair();
    EXPECT_TRUE(gateway.process().wait_for_error("perfleet-gateway: storing again").has_value())
        << gateway.process().error_output();
    send(kBatchesBefore + 1, kBatches);
    peer.wait_for_prefix(kBatches);
    EXPECT_EQ(scrape(gateway.metrics()).value("perfleet_gateway_store_stuck"), 0);
    const Finished after = losses();
    EXPECT_EQ(after.ending.status, 0) << after.error_output;
    EXPECT_EQ(gateway.end(SIGTERM).status, 0) << gateway.process().error_output();

    const auto reader = open_store_reader(data);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const StoredLedger ledger = ledger_of(**reader, session);
    EXPECT_EQ(ledger.seqs.size(), kBatches);
    for (const auto& [seq, count] : ledger.seqs) {
        EXPECT_EQ(count, 1) << "seq " << seq;
    }
    const Finished verified = run({program_path("perfleet"), "inspect", "--verify", "--data", data});
    EXPECT_EQ(verified.ending.status, 0) << verified.output << verified.error_output;
}

INSTANTIATE_TEST_SUITE_P(Ext4, FailedFileSystem,
                         testing::Values(Failure::kAborted, Failure::kShutDown, Failure::kWithoutPower),
                         [](const auto& failure) {
                             return failure.param == Failure::kAborted    ? "Aborted"
                                    : failure.param == Failure::kShutDown ? "ShutDown"
                                                                          : "WithoutPower";
                         });

}  // namespace
}  // namespace perfleet::end_to_end::failed_file_system_test
