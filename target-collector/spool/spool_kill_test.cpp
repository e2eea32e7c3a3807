// A real process that fills a spool is killed at any instruction; what it counted beside the spool, in memory of its
// own kind, is held against what the spool says.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <new>
#include <random>
#include <vector>

#include "target-collector/message/capnp_reader.h"
#include "target-collector/spool/testing/spool_fixture.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::spool_kill_test {
namespace {

using spool_test::open_folder;
using spool_test::SpoolingCollector;
using spool_test::TemporaryFolder;

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr SessionId kSession{5, 6};
constexpr std::uint64_t kRowsABatch = 20;
constexpr std::size_t kSizeBytes = 32U << 10;

struct Witness {
    std::atomic<std::uint64_t> rows{0};          // that the source is about to hand over
    std::atomic<std::uint64_t> last_sent{0};     // greatest seq that left the collector
    std::atomic<std::uint64_t> acknowledged{0};  // greatest prefix that was said
};

class MappedWitness {
public:
    MappedWitness()
        : memory_{::mmap(nullptr, sizeof(Witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
        EXPECT_NE(memory_, MAP_FAILED);
        witness_ = new (memory_) Witness;
    }
    MappedWitness(const MappedWitness&) = delete;
    MappedWitness& operator=(const MappedWitness&) = delete;
    ~MappedWitness() { ::munmap(memory_, sizeof(Witness)); }
    Witness& operator*() const { return *witness_; }
    Witness* operator->() const { return witness_; }

private:
    void* memory_;
    Witness* witness_ = nullptr;
};

// Acknowledges some batches and lets others wait, so that the spool fills now and then.
class WitnessedGateway final : public NetworkDriver {
public:
    WitnessedGateway(Witness& witness, std::uint64_t seed) : witness_{witness}, random_{seed} {}

    bool send(std::span<const std::byte> frame) override {
        const SeenFrame seen = see_frame(frame);
        if (seen.tag == wire_layout::MessageTag::kHello) {
            answers_.push_back(make_welcome({kSession, 1, Seq{0}, Seq{1'000'000}}));
            return true;
        }
        witness_.last_sent = std::max(witness_.last_sent.load(), seen.seq.value);
        if (random_() % 40 == 0) {
            witness_.acknowledged = seen.seq.value;
            answers_.push_back(make_ack({kSession, 1, seen.seq, Seq{1'000'000}}));
        }
        return true;
    }
    Checked<std::size_t> receive(std::span<std::byte> into) override {
        if (answers_.empty()) {
            return std::size_t{0};
        }
        const Frame answer = answers_.front();
        answers_.pop_front();
        std::copy(answer.begin(), answer.end(), into.begin());
        return answer.size();
    }
    bool reconnected() override { return false; }

private:
    Witness& witness_;
    std::mt19937_64 random_;
    std::deque<Frame> answers_;
};

[[noreturn]] void fill_until_killed(const std::string& path, Witness& witness, std::uint64_t seed) {
    const auto folder = open_folder(path, kSizeBytes);
    WitnessedGateway gateway(witness, seed);
    SpoolingCollector collector(*folder, kSession, gateway);
    collector.sealer->begin_epoch(Ticks{1}, UtcNs{1});
    for (std::uint64_t row = 1;; ++row) {
        ++witness.rows;
        const std::uint64_t values[] = {0, 1, 1, 1, 1};
        collector.sealer->append({kSamples, Ticks{row}, values});
        if (row % kRowsABatch == 0) {
            collector.sealer->flush(Ticks{row});
            collector.sealer->tick(Ticks{row}, UtcNs{1});
            collector.delivery->step(row);
        }
    }
}

TEST(SpoolKill, NothingIsForgottenAtAnyInstruction) {
    std::mt19937_64 random(1);
    std::uint64_t dropped = 0;
    std::uint64_t acknowledged = 0;
    for (int round = 0; round < 60; ++round) {
        const TemporaryFolder place;
        const MappedWitness witness;
        const std::uint64_t rows_to_live = 2'000 + random() % 20'000;
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            fill_until_killed(place.path(), *witness, random());
        }
        while (witness->rows < rows_to_live && ::waitpid(child, nullptr, WNOHANG) == 0) {
        }
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);

        const auto file = SpoolFile::open(place / spool_file_name(kSession));
        ASSERT_TRUE(file.ok()) << file.error().message;
        const auto reading = read_spool((*file)->bytes());
        ASSERT_TRUE(reading.ok()) << reading.error().where;
        EXPECT_TRUE((*reading)->holes.empty());
        const std::uint64_t last = (*reading)->entry.last_sealed.value;
        const std::uint64_t produced = (*reading)->final_counts.get(kSamples, CountName::kProduced);
        // The kill may have come between our count and its.
        EXPECT_LE(witness->rows - produced, 1U);
        EXPECT_GE(last, witness->last_sent);
        // Every batch up to the last is acknowledged, dropped, or here; the rest of the rows died.
        const std::uint64_t acknowledged_rows = (*reading)->entry.acknowledged.get(kSamples, CountName::kProduced) +
                                                (*reading)->entry.since_drop.get(kSamples, CountName::kProduced);
        const std::uint64_t dropped_rows = (*reading)->entry.lost.get(kSamples, CountName::kLostSpoolFull);
        EXPECT_EQ(acknowledged_rows + dropped_rows + kRowsABatch * (*reading)->batch_count, kRowsABatch * last);
        EXPECT_EQ((*reading)->final_counts.get(kSamples, CountName::kLostKilled), produced - kRowsABatch * last);
        dropped += dropped_rows;
        acknowledged += acknowledged_rows;
        ASSERT_FALSE(HasFailure()) << "round " << round;
    }
    EXPECT_GT(dropped, 0U);
    EXPECT_GT(acknowledged, 0U);
}

}  // namespace
}  // namespace perfleet::spool_kill_test
