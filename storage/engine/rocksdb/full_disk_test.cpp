// Stores on a disk that runs full: the reserved space lets them drop, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "storage/engine/rocksdb/disk_reserve.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/testing/faulty_disk.h"
#include "storage/store/options.h"
#include "storage/store/store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::full_disk_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 7};
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};
constexpr BucketNumber kFirst{479'999};
constexpr BucketNumber kSmall{480'000};
constexpr BucketNumber kLarge{480'001};
constexpr BucketNumber kNow{480'002};
constexpr std::uint64_t kRows = 16'384;
constexpr std::uint64_t kSmallBatches = 8;
constexpr std::uint64_t kLargeBatches = 480;  // 60 MiB
constexpr std::uint64_t kReserveSizeBytes = 80U << 20;
constexpr std::size_t kMemorySizeBytes = 96U << 20;
constexpr UtcNs kLongAfter{4'000'000'000'000'000'000};

testing::AssertionResult says(const std::string& text, const std::string& words) {
    return (text.find(words) == text.npos ? testing::AssertionFailure() : testing::AssertionSuccess()) << text;
}

class FullDisk : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        open();
    }

    void open() {
        store_.reset();
        auto store = disk_.open_store(data(), options_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        store_ = std::move(*store);
    }

    [[nodiscard]] std::string data() const { return folder_->path() + "/data"; }

    void set_room(const std::string& room) { disk_.set_plan(*parse_fault_plan("room=" + room)); }

    // "stored", or what was wrong.
    std::string put(BucketNumber bucket) {
        const Partition partition = partition_of(kTarget, bucket);
        SampleBatch batch{kTarget, kSession, Seq{seq_ + 1}, EpochNumber{0}, bucket};
        std::vector<std::uint64_t> values(kRows);
        for (std::uint64_t& value : values) {
            value = random_();
        }
        batch.add(kSeries,
                  {{ColumnId::kTime, std::vector<std::uint64_t>(kRows, seq_ + 1)}, {ColumnId::kValue, values}});
        const std::vector batches{batch.build()};
        if (auto defined = store_->define(partition, sample_session(kTarget, kSession)); !defined.ok()) {
            return defined.error().message;
        }
        auto outcomes = store_->put(partition, batches);
        if (!outcomes.ok()) {
            return outcomes.error().message;
        }
        if (auto synced = store_->sync(); !synced.ok()) {
            return synced.error().message;
        }
        EXPECT_EQ(outcomes->at(0), PutOutcome::kStored);
        ++seq_;
        return "stored";
    }

    // Two hours in a table file of the oldest level, as they are in the end, and then no space any more. An hour that
    // is in every file of the newest level and is dropped brings them there.
    void fill() {
        for (std::uint64_t i = 0; i < kSmallBatches + kLargeBatches; ++i) {
            ASSERT_EQ(put(i < kSmallBatches ? kSmall : kLarge), "stored");
            if (i % 100 == 0) {
                ASSERT_EQ(put(kFirst), "stored");
                ++first_batches_;
            }
        }
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{seq_}).ok());
        ASSERT_TRUE(drop(kFirst).ok());
        ASSERT_EQ(expired_rows(), 0U);
        open();  // what was compacted is deleted
        set_room("0");
        EXPECT_TRUE(says(put(kNow), "No space left on device"));
    }

    Result<std::uint64_t> drop(BucketNumber bucket) {
        const Partition partition = partition_of(kTarget, bucket);
        return store_->drop({&partition, 1}, nullptr);
    }

    [[nodiscard]] std::uint64_t reserved_bytes() const {
        std::error_code error;
        const std::uint64_t size = std::filesystem::file_size(data() + "/" + DiskReserve::kFileName, error);
        return error ? 0 : size;
    }

    [[nodiscard]] std::uint64_t expired_rows() const {
        const auto expired = store_->expired(kTarget, kSession);
        EXPECT_TRUE(expired.ok());
        return expired->empty() ? 0 : expired->at(0).second - first_batches_ * kRows;
    }

    StoreOptions options_{kMemorySizeBytes, 1'024, kReserveSizeBytes};
    std::unique_ptr<TemporaryFolder> folder_;
    FaultyDisk disk_{FaultPlan{}};
    std::unique_ptr<Store> store_;  // closed before its disk goes
    std::uint64_t seq_ = 0;
    std::uint64_t first_batches_ = 0;
    std::mt19937_64 random_{7};
};

TEST_F(FullDisk, IsDroppedFromWithWhatIsKeptForThatAndStoredToWhenThatIsThereAgain) {
    EXPECT_EQ(reserved_bytes(), kReserveSizeBytes);
    fill();
    EXPECT_TRUE(says(put(kNow), "No space left on device")) << "puts leave it alone";
    EXPECT_EQ(reserved_bytes(), kReserveSizeBytes);

    // Too little to go on with.
    auto dropped = drop(kSmall);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_EQ(*dropped, kSmallBatches * kRows);
    EXPECT_EQ(reserved_bytes(), 0U);
    const auto compacted = store_->compact(kLongAfter, [](const CompactionStep&) { return Visit::kContinue; });
    ASSERT_FALSE(compacted.ok());
    EXPECT_TRUE(says(compacted.error().message, "the space reserved for dropping isn't free again"));
    EXPECT_TRUE(says(put(kNow), "are reserved for dropping"));
    EXPECT_TRUE(says(put(kNow), "are reserved for dropping")) << "and nobody else took it";

    dropped = drop(kLarge);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_EQ(*dropped, kLargeBatches * kRows);
    EXPECT_EQ(put(kNow), "stored");
    EXPECT_EQ(reserved_bytes(), kReserveSizeBytes);
    open();
    EXPECT_EQ(expired_rows(), (kSmallBatches + kLargeBatches) * kRows);
    EXPECT_EQ(*store_->partitions(), std::vector{partition_of(kTarget, kNow)});
}

TEST_F(FullDisk, IsOpenedAndDroppedFrom) {
    fill();
    open();
    EXPECT_EQ(reserved_bytes(), 0U) << "opening took it";
    set_room(std::to_string(kReserveSizeBytes));  // without files whose deletion wasn't synced and that are back
    EXPECT_TRUE(says(put(kNow), "are reserved for dropping"));
    auto dropped = drop(kLarge);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_EQ(put(kNow), "stored");
    EXPECT_EQ(reserved_bytes(), kReserveSizeBytes);
    EXPECT_EQ(expired_rows(), kLargeBatches * kRows);
}

// Whatever is left, and wherever opening would run out of it: RocksDB would end the program.
TEST_F(FullDisk, IsntOpenedWithoutRoomForItAndSaysHowMuchThatTakes) {
    options_.reserve_size_bytes = 0;
    open();
    ASSERT_EQ(put(kNow), "stored");
    store_.reset();
    for (const std::string& folder : {data(), folder_->path() + "/new"}) {
        for (const std::string room : {"0", "1", "300", "4096", "100000", "1000000"}) {
            set_room(room);
            const auto store = disk_.open_store(folder, options_);
            ASSERT_FALSE(store.ok());
            EXPECT_EQ(store.error().code, ErrorCode::kFull);
            EXPECT_TRUE(says(store.error().message, folder)) << room;
            EXPECT_TRUE(says(store.error().message, "free some space")) << room;
        }
    }
    set_room("20000000");
    open();
    EXPECT_EQ(store_->partitions()->size(), 1U);
}

// The power goes while it is full, after the marks were synced, or before.
TEST_F(FullDisk, KeepsItsCountsWhenThePowerGoesInTheMiddleOfADrop) {
    fill();
    FaultPlan plan;
    for (std::uint64_t changes = 3; changes < 60; changes += 8) {
        plan.room_size_bytes = 0;
        plan.crash_at = disk_.change_count() + changes;
        disk_.set_plan(plan);
        (void)drop(kLarge);
        disk_.crash();
        store_.reset();
        plan.room_size_bytes = kReserveSizeBytes;  // whether the file is back or not
        plan.crash_at = 0;
        disk_.set_plan(plan);
        open();
        const std::uint64_t expired = expired_rows();
        EXPECT_TRUE(expired == 0 || expired == kLargeBatches * kRows) << expired;
        const auto partitions = *store_->partitions();
        const bool is_there =
            std::find(partitions.begin(), partitions.end(), partition_of(kTarget, kLarge)) != partitions.end();
        EXPECT_EQ(is_there, expired == 0);
    }
    ASSERT_TRUE(drop(kLarge).ok());
    EXPECT_EQ(expired_rows(), kLargeBatches * kRows);
    EXPECT_EQ(put(kNow), "stored");
}

// Giving the space back would take more than is kept; that must stay for what can be dropped else.
TEST_F(FullDisk, IsDroppedFromAlsoWhereItsTableFilesAreTooLargeToBeRewritten) {
    options_.reserve_size_bytes = 40U << 20;
    open();
    fill();
    auto dropped = drop(kSmall);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_TRUE(says(put(kNow), "are reserved for dropping"));
    dropped = drop(kLarge);  // from here on RocksDB may give all space back by itself, at any time
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    EXPECT_EQ(expired_rows(), (kSmallBatches + kLargeBatches) * kRows);
    EXPECT_TRUE(store_->partitions()->empty());
    set_room("any");
    EXPECT_EQ(put(kNow), "stored");
    EXPECT_EQ(reserved_bytes(), options_.reserve_size_bytes);
}

TEST_F(FullDisk, IsntStoredToUntilThatRoomCouldBeTaken) {
    store_.reset();
    std::filesystem::remove(data() + "/" + DiskReserve::kFileName);
    set_room(std::to_string(kReserveSizeBytes));
    open();
    EXPECT_TRUE(says(put(kNow), "less than 96 MiB free, which are reserved for dropping"));
    set_room(std::to_string(2 * kReserveSizeBytes));
    EXPECT_EQ(put(kNow), "stored");
    EXPECT_EQ(reserved_bytes(), kReserveSizeBytes);
}

TEST_F(FullDisk, KeepsRoomOfTheSizeThatIsWantedNow) {
    options_.reserve_size_bytes = kReserveSizeBytes / 2;
    open();
    EXPECT_EQ(reserved_bytes(), kReserveSizeBytes / 2);
    options_.reserve_size_bytes = 0;
    open();
    EXPECT_EQ(reserved_bytes(), 0U);
    fill();
    EXPECT_FALSE(drop(kLarge).ok()) << "nothing was kept for it";
    EXPECT_EQ(expired_rows(), 0U);
}

}  // namespace
}  // namespace perfleet::full_disk_test
