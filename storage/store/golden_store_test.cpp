// A store as this format was written first is read, gone on with, and compacted; what is written today has its bytes.
#include "storage/store/testing/golden_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "storage/block/block.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/engine/memory_engine.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/number/rank_sketch.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/keyed_store.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/summary/day_summary.h"
#include "tests/golden/golden_file.h"

namespace perfleet {
namespace {

using namespace golden_store;

std::string bytes_of(std::string_view digits) {
    std::string bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
        bytes.push_back(static_cast<char>(std::stoi(std::string{digits.substr(at, 2)}, nullptr, 16)));
    }
    return bytes;
}

std::map<std::string, std::string> golden() {
    std::istringstream file{golden_file("store/store.hex")};
    std::map<std::string, std::string> content;
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t blank = line.find(' ');
        content.emplace(bytes_of(line.substr(0, blank)), bytes_of(line.substr(blank + 1)));
    }
    EXPECT_FALSE(content.empty());
    return content;
}

Result<Done> write(Engine& engine, const std::map<std::string, std::string>& content) {
    Changes changes;
    for (const auto& [key, value] : content) {
        changes.puts.push_back({key, value});
    }
    auto written = engine.write({}, 0, changes);
    return written.ok() ? engine.sync() : std::move(written);
}

// Each row's time, in the order of the visit.
std::vector<std::uint64_t> times_in(const StoreReader& store) {
    std::vector<std::uint64_t> times;
    DecodedRows rows;
    const auto visited = visit_blocks(store, partition_of(kTarget, kBucket), kTarget, kSession, kSamples,
                                      [&](const BlockKey&, std::string_view bytes) {
                                          const auto block = parse_block_untrusted(bytes);
                                          EXPECT_TRUE(block.ok() && rows.decode(*block).ok());
                                          const auto own = rows.integers(ColumnId::kTime);
                                          times.insert(times.end(), own.begin(), own.end());
                                          return Visit::kContinue;
                                      });
    EXPECT_TRUE(visited.ok()) << visited.error().message;
    return times;
}

class GoldenStore : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        data_ = folder_->path() + "/data";
        auto engine = open_rocksdb_writer_engine(data_);
        ASSERT_TRUE(engine.ok());
        ASSERT_TRUE(write(**engine, golden()).ok());
    }

    void expect_content(const StoreReader& store, std::uint64_t last_seq) {
        std::vector<std::uint64_t> expected;
        for (std::uint64_t seq = kFirstSeq; seq <= last_seq; ++seq) {
            const auto times = times_of(seq);
            expected.insert(expected.end(), times.begin(), times.end());
        }
        EXPECT_EQ(times_in(store), expected);
        std::uint64_t seq = kFirstSeq;
        EXPECT_TRUE(store
                        .visit_batches(partition_of(kTarget, kBucket), kTarget, kSession,
                                       [&](const BatchRecord& record) {
                                           EXPECT_EQ(record, batch(seq, kBucket).record);
                                           ++seq;
                                           return Visit::kContinue;
                                       })
                        .ok());
        EXPECT_EQ(seq, last_seq + 1);
        EXPECT_EQ(store.partitions()->size(), std::size_t{kDayHours});
        EXPECT_EQ(store.all_sessions()->at(0), sample_session(kTarget, kSession));
        EXPECT_EQ((*store.session_end(kTarget, kSession))->last_seq, Seq{kLastSeq});
        EXPECT_EQ(*store.watermark(kTarget, kSession), Seq{kLastSeq - 1});
        EXPECT_EQ((*store.image("build-id"))->bytes, "symbols");
        EXPECT_EQ(*store.expired(kTarget, kSession), (std::vector<std::pair<Series, std::uint64_t>>{{kSamples, 6}}));
        EXPECT_TRUE(store.damage().empty());
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string data_;
};

TEST_F(GoldenStore, IsReadAsItWasWritten) {
    const auto reader = open_store_reader(data_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    expect_content(**reader, kLastSeq);
}

TEST_F(GoldenStore, IsGoneOnWithAndCompacted) {
    auto store = open_store(data_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    const auto put = [&](const AdmittedBatch& batch, BucketNumber bucket) {
        return (*store)->put(partition_of(kTarget, bucket), {&batch, 1})->at(0);
    };
    EXPECT_EQ(put(batch(kFirstSeq, kBucket), kBucket), PutOutcome::kDuplicate);
    EXPECT_EQ(put(batch(kLastSeq, kBucket), kBucket), PutOutcome::kDuplicate);
    EXPECT_EQ(put(batch(2, kDroppedBucket), kDroppedBucket), PutOutcome::kDuplicate);
    ASSERT_TRUE((*store)->define(partition_of(kTarget, kBucket), sample_session(kTarget, kSession)).ok());
    EXPECT_EQ(put(batch(kLastSeq + 1, kBucket), kBucket), PutOutcome::kStored);
    expect_content(**store, kLastSeq + 1);
    ASSERT_TRUE((*store)->compact(UtcNs{INT64_MAX / 2}, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    expect_content(**store, kLastSeq + 1);
}

TEST(GoldenDay, IsReadAsItWasWritten) {
    auto engine = std::make_unique<MemoryEngine>();
    ASSERT_TRUE(write(*engine, golden()).ok());
    const auto store = make_keyed_store(std::move(engine), {});
    std::vector<DaySummary> days;
    const Partition last = partition_of(kTarget, BucketNumber{kBucket.value + kDayHours - 1});
    ASSERT_TRUE(
        visit_summaries(*store, last, kTarget, kDaySession, kSamples, [&](const SummaryKey&, std::string_view bytes) {
            auto day = decode_summary_untrusted(bytes);
            EXPECT_TRUE(day.ok()) << day.error().message;
            days.push_back(std::move(*day));
            return Visit::kContinue;
        }).ok());
    ASSERT_EQ(days.size(), 1U);
    const DaySummary& day = days[0];
    ASSERT_EQ(day.hours.size(), std::size_t{kDayHours});
    EXPECT_EQ(day.hours[1].partition, partition_of(kTarget, BucketNumber{kBucket.value + 1}));
    EXPECT_EQ(day.hours[1].rows.seqs, (std::vector<SeqRange>{{Seq{2}, Seq{2}}}));
    EXPECT_EQ(day.hours[1].meaning.row_count, 5U);
    ASSERT_EQ(day.names.size(), 1U);
    EXPECT_EQ(day.names[0].text, "sh");
    EXPECT_EQ(day.nodes, (std::vector<DaySummary::Node>{{0, 0, 0x40}, {0, 0, 0x80}}));
    EXPECT_EQ(day.sums, (std::vector<StackSum>{{StackNumber{1}, 21, 210}, {StackNumber{2}, 6, 60}}));
}

TEST(GoldenDictionary, IsReadAsItWasWritten) {
    auto engine = std::make_unique<MemoryEngine>();
    ASSERT_TRUE(write(*engine, golden()).ok());
    const auto store = make_keyed_store(std::move(engine), {});
    const Partition partition = partition_of(kTarget, kBucket);
    const auto bytes = store->dictionary(partition);
    ASSERT_TRUE(bytes.ok() && bytes->has_value());
    const auto dictionary = decode_dictionary_untrusted(**bytes);
    ASSERT_TRUE(dictionary.ok()) << dictionary.error().message;
    ASSERT_EQ(dictionary->images.size(), 3U);
    EXPECT_EQ(dictionary->images[0].definition.name, "/bin/bash");
    EXPECT_EQ(dictionary->images[1].definition.address, 0U);
    EXPECT_EQ(dictionary->images[2].definition.address, 0x6000U);
    EXPECT_EQ(dictionary->images[2].kernel, 2U);
    EXPECT_EQ(dictionary->nodes,
              (std::vector<PartitionDictionary::Node>{{0, 0, 0x40}, {0, 0, 0x80}, {2, 1, 0x30}, {3, 2, 4}}));
    const auto nodes_of = [&](SessionId session, std::uint32_t epoch) {
        const auto map = store->stack_map({partition, kTarget, session, EpochNumber{epoch}});
        EXPECT_TRUE(map.ok() && map->has_value());
        const auto decoded = decode_stack_map_untrusted(**map);
        EXPECT_TRUE(decoded.ok());
        EXPECT_EQ(decoded->dictionary_checksum, dictionary_checksum(**bytes));
        return decoded->nodes;
    };
    EXPECT_EQ(nodes_of(kDaySession, 0), (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(nodes_of(kKernelSession, 5), (std::vector<std::uint32_t>{0, 2, 3, 4}));
}

TEST(GoldenStoreOfToday, IsByteForByteTheGoldenOne) {
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(write_golden_store((*folder)->path()));
    MemoryEngine engine;
    ASSERT_TRUE(write(engine, golden()).ok());
    const auto today = open_rocksdb_reader_engine((*folder)->path());
    ASSERT_TRUE(today.ok());
    EXPECT_EQ(text_of(**today), text_of(engine));
}

}  // namespace
}  // namespace perfleet
