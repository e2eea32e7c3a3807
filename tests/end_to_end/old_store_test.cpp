// A gateway on a store with more sessions than fit into its memory: its use is bounded by the peers that are connected.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/open_store.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::old_store_test {
namespace {

constexpr BucketNumber kBucket{400'000};
constexpr std::size_t kMemoryMib = 128;
constexpr std::size_t kProgramMib = 64;       // the program's use beside --memory
constexpr std::uint64_t kSessionCount = 200;  // together more than both
constexpr std::uint64_t kReturningCount = 12;
constexpr std::uint64_t kStoredBatches = 2;
constexpr const char* kTargetName = "board-7";

// As of a collector with some hundred tracepoints: nearly as large as allowed.
SessionRecord large_session(std::uint64_t number) {
    SessionRecord record = sample_session(target_id_of(kTargetName), SessionId{7, number});
    record.target_name = kTargetName;
    record.labels.clear();
    std::size_t size_bytes = 0;
    while (size_bytes < limits::kHelloSizeBytesMax * 15 / 16) {
        EventRecord event = record.events.front();
        event.name = "tracepoint:" + std::to_string(record.events.size());
        event.format = std::string(4'000, 'f');
        size_bytes += event.format.size() + 200;
        record.events.push_back(std::move(event));
    }
    return record;
}

AdmittedBatch batch_of(std::uint64_t number, std::uint64_t seq) {
    return sample_batch(target_id_of(kTargetName), SessionId{7, number}, Seq{seq}, kBucket);
}

void make_store(const std::string& folder) {
    auto opened = open_store(folder);
    ASSERT_TRUE(opened.ok());
    Store& store = **opened;
    for (std::uint64_t number = 1; number <= kSessionCount; ++number) {
        const SessionRecord record = large_session(number);
        const Partition partition = partition_of(record.target, kBucket, 0, store.shards());
        ASSERT_TRUE(store.define(partition, record).ok());
        for (std::uint64_t seq = 1; seq <= kStoredBatches; ++seq) {
            ASSERT_TRUE(store.put(partition, std::vector{batch_of(number, seq)}).ok());
        }
        // In half of them a crash came before the watermark.
        ASSERT_TRUE(number % 2 == 0 ||
                    store.advance_watermark(record.target, record.session, Seq{kStoredBatches}).ok());
    }
    ASSERT_TRUE(store.sync().ok());
}

std::size_t resident_mib_max(pid_t pid) {
    std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::stoul(line.substr(6)) >> 10U;
        }
    }
    ADD_FAILURE() << "the gateway is gone";
    return 0;
}

class OldStore : public testing::TestWithParam<bool> {
protected:
    [[nodiscard]] std::vector<std::string> options() const {
        std::vector<std::string> words{"--memory", std::to_string(kMemoryMib) + "m", "--stop-within", "200"};
        if (GetParam()) {
            words.insert(words.end(), {"--key", keys_.secret("gateway"), "--collectors", keys_.folder()});
        }
        return words;
    }

    TestKeys keys_;
    TemporaryFolder folder_;
};

TEST_P(OldStore, TakesMemoryForThePeersThatAreThereAlone) {
    keys_.enrol(kTargetName);
    make_store(folder_ / "data");
    GatewayProgram gateway{folder_ / "data", "tcp://127.0.0.1:*", "none", program_path("perfleet-gateway"), {},
                           options()};
    const pid_t pid = gateway.process().pid();
    EXPECT_LE(resident_mib_max(pid), kMemoryMib + kProgramMib) << "after the start";
    const ConnectKeys keys = keys_.connect_keys(kTargetName);
    std::vector<std::unique_ptr<SamplePeer>> peers;
    for (std::uint64_t number = 1; number <= kReturningCount; ++number) {
        peers.push_back(std::make_unique<SamplePeer>(gateway.listen(), GetParam() ? &keys : nullptr));
        SamplePeer& peer = *peers.back();
        EXPECT_EQ(peer.greet(large_session(number)).prefix, kStoredBatches);
        peer.send(sample::batch(batch_of(number, kStoredBatches)));  // was acknowledged before
        peer.send(sample::batch(batch_of(number, kStoredBatches + 1)));
        peer.wait_for_prefix(kStoredBatches + 1);
    }
    EXPECT_LE(resident_mib_max(pid), kMemoryMib + kProgramMib) << "with peers that came back";
    // They are more than are remembered at once: the first has to send Hello again.
    peers.front()->greet(large_session(1));
    peers.front()->send(sample::batch(batch_of(1, kStoredBatches + 2)));
    peers.front()->wait_for_prefix(kStoredBatches + 2);
    // Another session of that id, and one of another target.
    SessionRecord other = large_session(kReturningCount + 1);
    other.events.pop_back();
    peers.back()->send(sample::hello(other));
    EXPECT_NE(peers.back()->wait_for(sample::ReplyType::kRefused).text, "");
    EXPECT_EQ(gateway.end(SIGTERM).status, 0) << gateway.process().error_output();
    for (const StoredLedger& ledger : ledgers_of(folder_ / "data")) {
        const std::uint64_t number = ledger.session.session.low;
        const std::uint64_t more = number == 1 ? 2 : number <= kReturningCount ? 1 : 0;
        EXPECT_EQ(ledger.seqs.size(), kStoredBatches + more) << number;
    }
}

INSTANTIATE_TEST_SUITE_P(Keys, OldStore, testing::Bool(),
                         [](const auto& has) { return has.param ? "WithKeys" : "WithoutKeys"; });

}  // namespace
}  // namespace perfleet::end_to_end::old_store_test
