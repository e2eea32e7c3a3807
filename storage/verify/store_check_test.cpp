#include "storage/verify/store_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <tuple>

#include "storage/compact/compaction_step.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/key/key_bytes.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/store_writer.h"

namespace perfleet::store_check_test {
namespace {

namespace fs = std::filesystem;
using test_writer::kBucket;
using test_writer::kSession;
using test_writer::kTarget;

constexpr std::uint64_t kBatches = 40;

class CheckedStore : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        intact_ = folder_->path() + "/intact";
        damaged_ = folder_->path() + "/damaged";
        {
            auto store = open_store(intact_);
            ASSERT_TRUE(store.ok());
            ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
            for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
                const std::vector batches{test_writer::batch(Seq{seq})};
                ASSERT_TRUE((*store)->put(test_writer::partition(), batches).ok());
            }
            ASSERT_TRUE((*store)->put_image("build-id", {1, std::string(5'000, 'x')}).ok());
            ASSERT_TRUE((*store)->advance_watermark(kTarget, kSession, Seq{kBatches}).ok());
            ASSERT_TRUE((*store)->sync().ok());
        }
        ASSERT_TRUE(open_store(intact_).ok());  // its log becomes a table file
    }

    void copy() {
        fs::remove_all(damaged_);
        fs::copy(intact_, damaged_);
    }

    static StoreCheck check(const std::string& directory, bool verify = true) {
        std::uint64_t last_done = 0;
        auto checked = check_store(directory, verify, [&](std::uint64_t done, std::uint64_t) {
            EXPECT_GE(done, last_done);
            last_done = done;
        });
        EXPECT_GT(last_done, 0U);
        EXPECT_TRUE(checked.ok()) << checked.error().message;
        return checked.ok() ? *checked : StoreCheck{};
    }

    // The value of this key becomes another, under right checksums of RocksDB.
    void replace(const std::string& key, const std::function<void(std::string&)>& change) const {
        auto engine = open_rocksdb_writer_engine(damaged_);
        ASSERT_TRUE(engine.ok());
        auto value = (*engine)->get(key);
        ASSERT_TRUE(value.ok() && value->has_value());
        std::string bytes = **value;
        change(bytes);
        Changes changes;
        if (bytes.empty()) {
            changes.deletes.push_back(key);
        } else {
            changes.puts.push_back({key, bytes});
        }
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
        ASSERT_TRUE((*engine)->sync().ok());
    }

    static void flip(std::string& bytes) { bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1); }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string intact_;
    std::string damaged_;
};

TEST_F(CheckedStore, IsFoundIntactAndListed) {
    for (const bool verify : {false, true}) {
        const StoreCheck found = check(intact_, verify);
        EXPECT_TRUE(found.damage.empty()) << found.damage.front().place << found.damage.front().what;
        EXPECT_EQ(found.format_version, 1U);
        ASSERT_EQ(found.partitions.size(), 1U);
        EXPECT_EQ(found.partitions[0].partition, test_writer::partition());
        EXPECT_EQ(found.partitions[0].session_count, 1U);
        EXPECT_EQ(found.partitions[0].batch_count, kBatches);
        EXPECT_EQ(found.partitions[0].block_count, kBatches);
        EXPECT_EQ(found.partitions[0].row_count, kBatches * 1'000);
        EXPECT_EQ(found.session_count, 1U);
        EXPECT_EQ(found.image_count, 1U);
        EXPECT_GT(found.image_size_bytes, 5'000U);
        std::uint64_t file_count = 0;
        std::uint64_t size_bytes = 0;
        for (const auto& entry : fs::directory_iterator{intact_}) {
            if (entry.path().extension() == ".sst") {
                ++file_count;
                size_bytes += entry.file_size();
            }
        }
        EXPECT_GE(file_count, 1U);
        EXPECT_EQ(found.table_file_count, file_count);
        EXPECT_EQ(found.table_file_size_bytes, size_bytes);
    }
}

// What an answer's ledger speaks of: rows, not the names that give them meaning.
TEST_F(CheckedStore, CountsExpiredRowsWithoutDefinitions) {
    {
        auto store = open_store(intact_);
        ASSERT_TRUE(store.ok());
        SampleBatch batch{kTarget, kSession, Seq{kBatches + 1}, EpochNumber{0}, kBucket};
        batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {10, 20}}, {ColumnId::kStack, {1, 2}}});
        batch.add_images({{0, 0, std::string(20, 'b'), "/bin/true"}});
        batch.add_stacks({{1, 0, 0, 0x10}, {2, 1, 0, 0x20}, {3, 1, 0, 0x30}});
        const std::vector batches{batch.build()};
        ASSERT_TRUE((*store)->put(test_writer::partition(), batches).ok());
        const Partition partition = test_writer::partition();
        const auto dropped = (*store)->drop({&partition, 1}, nullptr);
        ASSERT_TRUE(dropped.ok());
        EXPECT_EQ(*dropped, kBatches * 1'000 + 2);
    }
    const StoreCheck found = check(intact_);
    EXPECT_EQ(found.expired_row_count, kBatches * 1'000 + 2);
    EXPECT_EQ(found.dropped_partition_count, 1U);
    EXPECT_TRUE(found.partitions.empty());
}

TEST_F(CheckedStore, IsCheckedBesideItsWriter) {
    auto store = open_store(intact_);
    ASSERT_TRUE(store.ok());
    const std::vector batches{test_writer::batch(Seq{kBatches + 1})};
    ASSERT_TRUE((*store)->put(test_writer::partition(), batches).ok());
    ASSERT_TRUE((*store)->sync().ok());
    const StoreCheck found = check(intact_);
    EXPECT_TRUE(found.damage.empty()) << found.damage.front().place << found.damage.front().what;
    EXPECT_EQ(found.partitions[0].batch_count, kBatches + 1);
}

TEST_F(CheckedStore, NamesEachDamagedKey) {
    const BatchKey seventh{kTarget, kSession, Seq{7}};
    const std::string block = block_key({test_writer::partition(), kTarget, kSession, test_writer::kSeries, Seq{7}});
    for (const auto& [key, lost] : std::vector<std::pair<std::string, std::string>>{
             {block, "1000 rows"},
             {partition_batch_key(test_writer::partition(), seventh), "counts"},
             {partition_session_key(test_writer::partition(), kTarget, kSession), "elsewhere"},
             {session_key(Table::kSession, kTarget, kSession), "description"},
             {session_key(Table::kWatermark, kTarget, kSession), "acknowledged"},
             {image_key("build-id"), "symbols"}}) {
        copy();
        replace(key, flip);
        const StoreCheck found = check(damaged_);
        ASSERT_FALSE(found.damage.empty()) << describe_key(key);
        EXPECT_EQ(found.damage[0].place, describe_key(key));
        EXPECT_NE(found.damage[0].lost.find(lost), std::string::npos) << found.damage[0].lost;
    }
}

// Compacted: the batches are there as before, the blocks are fewer; damage to one is reported with everything that it
// held.
TEST_F(CheckedStore, FindsCompactedOnesIntactAndNamesADamagedOne) {
    {
        auto store = open_store(intact_);
        ASSERT_TRUE(store.ok());
        ASSERT_TRUE((*store)->advance_watermark(kTarget, kSession, Seq{kBatches}).ok());
        constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
        ASSERT_TRUE((*store)->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
        ASSERT_TRUE((*store)->sync().ok());
    }
    StoreCheck found = check(intact_);
    EXPECT_TRUE(found.damage.empty()) << found.damage.front().place << found.damage.front().what;
    EXPECT_EQ(found.partitions[0].batch_count, kBatches);
    EXPECT_EQ(found.partitions[0].row_count, kBatches * 1'000);
    const std::uint64_t compacted_count = (kBatches + 15) / 16;
    EXPECT_EQ(found.partitions[0].block_count, compacted_count);
    const std::uint64_t first_count = std::min<std::uint64_t>(kBatches, 16);

    const std::string first = block_key({test_writer::partition(), kTarget, kSession, test_writer::kSeries, Seq{1}});
    copy();
    replace(first, flip);
    found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_EQ(found.damage[0].place, describe_key(first));
    EXPECT_EQ(found.damage[0].lost_row_count, first_count * 1'000);

    copy();
    replace(first, [](std::string& bytes) { bytes.clear(); });
    found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_NE(found.damage[0].what.find("is missing"), std::string::npos);
    EXPECT_EQ(found.damage[0].lost_row_count, first_count * 1'000);
}

// Nothing is lost with one: what it sums is in blocks.
TEST_F(CheckedStore, FindsSummariesIntactAndNamesADamagedOne) {
    {
        StoreOptions options;
        options.summaries = SummaryPolicy{.hours_min = 1, .saving = 1};
        auto store = open_store(intact_, options);
        ASSERT_TRUE(store.ok());
        constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
        ASSERT_TRUE((*store)->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
        ASSERT_TRUE((*store)->sync().ok());
    }
    EXPECT_TRUE(check(intact_).damage.empty());
    copy();
    const std::string key = summary_key({test_writer::partition(), kTarget, kSession, test_writer::kSeries, Seq{1}});
    replace(key, flip);
    const StoreCheck found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_EQ(found.damage[0].place, describe_key(key));
    EXPECT_EQ(found.damage[0].lost_row_count, 0U);
    EXPECT_NE(found.damage[0].lost.find("read from its blocks"), std::string::npos);
}

// Nothing is lost with one: definitions are in blocks.
TEST_F(CheckedStore, FindsDictionariesIntactAndNamesDamagedOnes) {
    const Partition partition = test_writer::partition();
    {
        StoreOptions options;
        options.dictionaries = DictionaryPolicy{.epochs_min = 1, .reuse = 1};
        auto store = open_store(intact_, options);
        ASSERT_TRUE(store.ok());
        SampleBatch batch{kTarget, kSession, Seq{kBatches + 1}, EpochNumber{9}, kBucket};
        batch.add_images({{0, 0, std::string(20, 'b'), "/bin/true"}});
        batch.add_stacks({{1, 0, 0, 0x10}, {2, 1, 0, 0x20}, {3, 1, 0, 0x30}});
        const std::vector batches{batch.build()};
        ASSERT_TRUE((*store)->put(partition, batches).ok());
        ASSERT_TRUE((*store)->advance_watermark(kTarget, kSession, Seq{kBatches + 1}).ok());
        constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
        ASSERT_TRUE((*store)->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
        ASSERT_TRUE((*store)->sync().ok());
    }
    const StoreCheck intact = check(intact_);
    EXPECT_TRUE(intact.damage.empty()) << intact.damage.front().place << intact.damage.front().what;
    const std::string map_key = stack_map_key({partition, kTarget, kSession, EpochNumber{9}});
    const auto swap_nodes = [](std::string& bytes) {
        auto map = decode_stack_map_untrusted(bytes);
        ASSERT_TRUE(map.ok());
        std::swap(map->nodes[2], map->nodes[3]);
        bytes = encode_stack_map(*map);
    };
    const auto lead_elsewhere = [](std::string& bytes) {
        auto map = decode_stack_map_untrusted(bytes);
        ASSERT_TRUE(map.ok());
        map->dictionary_checksum ^= 1U;
        bytes = encode_stack_map(*map);
    };
    using Change = std::function<void(std::string&)>;
    for (const auto& [key, change, what] : std::vector<std::tuple<std::string, Change, std::string>>{
             {dictionary_key(partition), flip, "checksum"},
             {map_key, flip, "checksum"},
             {map_key, swap_nodes, "stack 2 means something else"},
             {map_key, lead_elsewhere, "another dictionary"}}) {
        copy();
        replace(key, change);
        const StoreCheck found = check(damaged_);
        ASSERT_EQ(found.damage.size(), 1U) << what;
        EXPECT_EQ(found.damage[0].place, describe_key(key));
        EXPECT_NE(found.damage[0].what.find(what), std::string::npos) << found.damage[0].what;
        EXPECT_EQ(found.damage[0].lost_row_count, 0U);
        EXPECT_NE(found.damage[0].lost.find("are in their blocks"), std::string::npos);
    }
}

TEST_F(CheckedStore, NamesAMissingBlockAndABrokenSeal) {
    copy();
    const BlockKey seventh{test_writer::partition(), kTarget, kSession, test_writer::kSeries, Seq{7}};
    replace(block_key(seventh), [](std::string& bytes) { bytes.clear(); });
    StoreCheck found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_NE(found.damage[0].what.find("missing"), std::string::npos);
    EXPECT_EQ(found.damage[0].lost_row_count, 1'000U);

    replace(block_key({test_writer::partition(), kTarget, kSession, test_writer::kSeries, Seq{9}}),
            [](std::string& bytes) { bytes.clear(); });
    found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_NE(found.damage[0].what.find("and so are those of 1 more of its batches"), std::string::npos)
        << found.damage[0].what;
    EXPECT_EQ(found.damage[0].lost_row_count, 2'000U);

    // Another block in its place, intact and of the right place, whose rows aren't those that were sealed.
    copy();
    std::string other;
    replace(block_key(seventh), [&](std::string& bytes) {
        SampleBatch sample{kTarget, kSession, Seq{7}, EpochNumber{0}, kBucket};
        std::vector<std::uint64_t> times(1'000, 5);
        sample.add(test_writer::kSeries, {{ColumnId::kTime, times}});
        bytes = sample.build().series[0].block;
    });
    found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_NE(found.damage[0].what.find("seal"), std::string::npos) << found.damage[0].what;
}

TEST_F(CheckedStore, NamesABlockOfNoBatchAndAKeyOfNoTable) {
    copy();
    replace(partition_batch_key(test_writer::partition(), {kTarget, kSession, Seq{7}}),
            [](std::string& bytes) { bytes.clear(); });
    StoreCheck found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_EQ(found.damage[0].place,
              describe_key(block_key({test_writer::partition(), kTarget, kSession, test_writer::kSeries, Seq{7}})));
    EXPECT_NE(found.damage[0].what.find("no batch"), std::string::npos) << found.damage[0].what;

    copy();
    std::string unknown = dictionary_key(test_writer::partition());
    unknown.back() = '\x7f';
    {
        auto engine = open_rocksdb_writer_engine(damaged_);
        ASSERT_TRUE(engine.ok());
        Changes changes;
        changes.puts.push_back({unknown, "?"});
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
        ASSERT_TRUE((*engine)->sync().ok());
    }
    found = check(damaged_);
    ASSERT_EQ(found.damage.size(), 1U);
    EXPECT_EQ(found.damage[0].place, describe_key(unknown));
}

// Every kind of file of a stopped store, flipped or cut anywhere: it is reported, or nothing is lost.
TEST_F(CheckedStore, NamesWhateverFileIsDamaged) {
    std::mt19937_64 random{3};
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator{intact_}) {
        if (const std::string name = entry.path().filename();
            entry.file_size() > 0 && !name.starts_with("LOG") && name != "IDENTITY") {
            names.push_back(name);
        }
    }
    ASSERT_GE(names.size(), 4U);
    for (const std::string& name : names) {
        for (int round = 0; round < 8; ++round) {
            copy();
            const fs::path path = fs::path{damaged_} / name;
            std::ifstream in{path, std::ios::binary};
            std::string bytes{std::istreambuf_iterator<char>{in}, {}};
            if (round == 0) {
                bytes.resize(bytes.size() / 2);
            } else {
                const std::size_t at = random() % bytes.size();
                bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
            }
            std::ofstream{path, std::ios::binary} << bytes;
            const auto checked = check_store(damaged_, true);
            if (!checked.ok()) {
                EXPECT_NE(checked.error().message.find(damaged_), std::string::npos) << checked.error().message;
                continue;
            }
            const bool is_whole = !checked->partitions.empty() && checked->partitions[0].block_count == kBatches &&
                                  checked->image_count == 1;
            EXPECT_TRUE(is_whole || !checked->damage.empty()) << name << " round " << round;
            if (name.ends_with(".sst") && round > 0 && !checked->damage.empty()) {
                EXPECT_TRUE(std::any_of(checked->damage.begin(), checked->damage.end(), [&](const StoreDamage& damage) {
                    return damage.place.find(name) != std::string::npos;
                })) << checked->damage[0].place;
            }
        }
    }
}

TEST_F(CheckedStore, AFolderWithoutOneIsRefused) {
    const auto checked = check_store(folder_->path() + "/nothing", true);
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet::store_check_test
