#include "storage/copy/store_copy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <tuple>

#include "storage/block/block.h"
#include "storage/compact/compaction_step.h"
#include "storage/copy/session_part.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/memory_engine.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/testing/engine_over.h"
#include "storage/key/key_bytes.h"
#include "storage/store/keyed_store.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/verify/store_check.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;
using test_writer::kBucket;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

constexpr SessionId kOther{0xabc, 0xdf0};
constexpr BucketNumber kNext{kBucket.value + 1};
constexpr std::uint64_t kRows = 1'000;  // of a batch
constexpr UtcNs kLater{(kNext.value + 5LL) * kBucketDurationS * kNsPerSecond};

class CopiedStore : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        from_ = folder_->path() + "/from";
        to_ = folder_->path() + "/to";
    }

    static std::unique_ptr<Store> open(const std::string& directory) {
        auto store = open_store(directory);
        EXPECT_TRUE(store.ok()) << store.error().message;
        return std::move(*store);
    }

    static void put(Store& store, std::uint64_t first, std::uint64_t last, SessionId session = kSession,
                    BucketNumber bucket = kBucket) {
        const Partition partition = partition_of(kTarget, bucket);
        ASSERT_TRUE(store.define(partition, sample_session(kTarget, session)).ok());
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            const std::vector batches{test_writer::batch(Seq{seq}, session, bucket)};
            ASSERT_EQ(store.put(partition, batches)->at(0), PutOutcome::kStored);
        }
        ASSERT_TRUE(store.advance_watermark(kTarget, session, Seq{last}).ok());
        ASSERT_TRUE(store.sync().ok());
    }

    static void compact(Store& store) {
        ASSERT_TRUE(store.compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    }

    CopyReport copy() const {
        std::uint64_t last_done = 0;
        bool is_reported = false;
        auto report = copy_store(from_, to_, [&](std::uint64_t done, std::uint64_t total) {
            EXPECT_LT(done, total);
            EXPECT_GE(done, last_done);
            last_done = done;
            is_reported = true;
        });
        EXPECT_TRUE(report.ok()) << report.error().message;
        EXPECT_TRUE(is_reported || !report.ok() || report->parts.in_source == 0);
        return report.ok() ? std::move(*report) : CopyReport{};
    }

    static void expect_agreed(const CopyReport& report) {
        EXPECT_EQ(report.checksum_in_source, report.checksum_in_target);
        EXPECT_EQ(report.refused_count, 0U) << report.refused.front();
        EXPECT_TRUE(report.damage.empty()) << report.damage.front();
    }

    // Rows that are there, with every checksum; what is expired.
    std::pair<std::uint64_t, std::uint64_t> content(const std::string& directory) const {
        auto check = check_store(directory, true);
        EXPECT_TRUE(check.ok());
        EXPECT_TRUE(check->damage.empty()) << check->damage.front().place << ": " << check->damage.front().what;
        std::uint64_t row_count = 0;
        for (const PartitionContent& partition : check->partitions) {
            row_count += partition.row_count;
        }
        return {row_count, check->expired_row_count};
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string from_;
    std::string to_;
};

using Content = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(CopiedStore, HoldsEverythingOnceHoweverOftenItIsCopied) {
    {
        auto store = open(from_);
        put(*store, 1, 20);
        put(*store, 21, 30, kSession, kNext);
        put(*store, 1, 5, kOther, kNext);
        ASSERT_TRUE(store->put_image("build-id", {1, std::string(5'000, 'x')}).ok());
        ASSERT_TRUE(store->end_session(kTarget, kOther, {Seq{5}, {}, {}, {}}).ok());
        compact(*store);
        put(*store, 31, 40, kSession, kNext);
    }
    const CopyReport first = copy();
    expect_agreed(first);
    EXPECT_NE(first.checksum_in_source, 0U);
    EXPECT_EQ(first.sessions.in_source, 2U);
    EXPECT_EQ(first.sessions.copied, 2U);
    EXPECT_EQ(first.images.in_source, 1U);
    EXPECT_EQ(first.images.copied, 1U);
    EXPECT_EQ(first.parts.in_source, 3U);
    EXPECT_EQ(first.parts.copied, 3U);
    EXPECT_EQ(first.batches.in_source, 45U);
    EXPECT_EQ(first.rows.in_source, 45 * kRows);
    EXPECT_EQ(first.row_count_left_out, 0U);
    EXPECT_EQ(first.batches.copied, 45U);
    EXPECT_EQ(first.rows.copied, 45 * kRows);
    EXPECT_EQ(content(to_), (Content{45 * kRows, 0}));
    const CopyReport again = copy();
    expect_agreed(again);
    EXPECT_EQ(again.parts.in_source, 3U);
    EXPECT_EQ(again.parts.copied, 0U);
    EXPECT_EQ(again.batches.in_source, 45U);
    EXPECT_EQ(again.rows.in_source, 45 * kRows);
    EXPECT_EQ(again.images.in_source, 1U);
    EXPECT_EQ(again.images.copied, 0U);
    EXPECT_EQ(again.rows.copied, 0U);
    EXPECT_EQ(again.sessions.copied, 0U);
    EXPECT_EQ(again.checksum_in_source, first.checksum_in_source);

    const auto store = open(to_);
    EXPECT_EQ(store->watermark(kTarget, kSession)->value, 40U);
    EXPECT_TRUE(store->session_end(kTarget, kOther)->has_value());
    EXPECT_EQ((*store->image("build-id"))->bytes.size(), 5'000U);
    const std::vector repeated{test_writer::batch(Seq{7})};
    EXPECT_EQ(store->put(partition_of(kTarget, kBucket), repeated)->at(0), PutOutcome::kDuplicate);
}

// Targets of one shard here are of several there, and the other way round.
TEST_F(CopiedStore, MayHaveAnotherNumberOfShards) {
    constexpr std::uint64_t kTargets = 24;
    constexpr ShardCount kFrom{4};
    constexpr ShardCount kTo{6};
    StoreOptions options;
    options.shards = kFrom;
    {
        auto store = open_store(from_, options);
        ASSERT_TRUE(store.ok()) << store.error().message;
        for (std::uint64_t target = 0; target < kTargets; ++target) {
            for (const BucketNumber bucket : {kBucket, kNext}) {
                const Partition partition = partition_of(TargetId{target}, bucket, 0, kFrom);
                ASSERT_TRUE((*store)->define(partition, sample_session(TargetId{target}, kSession)).ok());
                SampleBatch batch{TargetId{target}, kSession, Seq{bucket.value - kBucket.value + 1}, EpochNumber{0},
                                  bucket};
                batch.add(kSeries, {{ColumnId::kTime, {target, 2, 3}}});
                const std::vector batches{batch.build()};
                ASSERT_EQ((*store)->put(partition, batches)->at(0), PutOutcome::kStored);
            }
        }
        // Of the first hour shard 1 and 3 alone: then 1, 3 and 5 of six have nothing else.
        for (const std::uint16_t shard : std::initializer_list<std::uint16_t>{1, 3}) {
            ASSERT_TRUE((*store)->drop(Partition{kBucket, 0, shard}).ok());
        }
    }
    const auto copied = copy_store(from_, to_, {}, kTo);
    ASSERT_TRUE(copied.ok()) << copied.error().message;
    expect_agreed(*copied);
    EXPECT_EQ(copied->rows.in_source, 3 * kTargets * 3 / 2);
    EXPECT_EQ(content(to_), content(from_));
    {
        const auto store = open_store(to_);
        ASSERT_TRUE(store.ok());
        EXPECT_EQ((*store)->shards(), kTo);
        for (std::uint64_t target = 0; target < kTargets; ++target) {
            SampleBatch late{TargetId{target}, kSession, Seq{9}, EpochNumber{0}, kBucket};
            late.add(kSeries, {{ColumnId::kTime, {1}}});
            const std::vector batches{late.build()};
            EXPECT_EQ((*store)->put(partition_of(TargetId{target}, kBucket, 0, kTo), batches)->at(0),
                      target % 2 == 0 ? PutOutcome::kStored : PutOutcome::kExpired);
        }
    }
    fs::remove_all(to_);
    ASSERT_TRUE(copy_store(from_, to_, {}, kTo).ok());
    const std::string back = folder_->path() + "/back";
    const auto copied_back = copy_store(to_, back, {}, kFrom);
    ASSERT_TRUE(copied_back.ok());
    expect_agreed(*copied_back);
    EXPECT_EQ(copied_back->checksum_in_source, copied->checksum_in_source);
    const auto compared = copy_store(from_, back);
    ASSERT_TRUE(compared.ok());
    EXPECT_EQ(compared->parts.copied, 0U);
    EXPECT_EQ(compared->checksum_in_target, copied->checksum_in_source);
    EXPECT_EQ(copy_store(from_, back, {}, kTo).error().code, ErrorCode::kUsage);
}

TEST_F(CopiedStore, TakesInWhatHasComeSinceAlsoWhenItWasCompactedMeanwhile) {
    auto store = open(from_);  // a writer has it open all the while
    put(*store, 1, 20);
    expect_agreed(copy());
    put(*store, 21, 35);
    compact(*store);
    const CopyReport report = copy();
    expect_agreed(report);
    EXPECT_EQ(report.rows.copied, 15 * kRows);
    EXPECT_EQ(content(to_), (Content{35 * kRows, 0}));
    // Compacted there, not here.
    put(*store, 36, 40);
    expect_agreed(copy());
    compact(*open(to_));
    const CopyReport other = copy();
    expect_agreed(other);
    EXPECT_EQ(other.rows.copied, 0U);
    EXPECT_EQ(content(to_), (Content{40 * kRows, 0}));
}

TEST_F(CopiedStore, TakesInASessionThatCameOverTwoGateways) {
    put(*open(to_), 1, 20);
    put(*open(from_), 21, 30);
    const CopyReport report = copy();
    expect_agreed(report);
    EXPECT_EQ(content(to_), (Content{30 * kRows, 0}));
    EXPECT_EQ(open(to_)->watermark(kTarget, kSession)->value, 30U);
}

// Two gateways that took turns within an hour: A, B, A. Compacted or not on either side.
TEST_F(CopiedStore, MergesBatchesThatLieBetweenEachOther) {
    using Turns = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    const Turns a_turns{{1, 4}, {9, 12}};
    const Turns b_turns{{4, 8}};  // batch 4 was sent to both
    const std::string alone = folder_->path() + "/alone";
    {
        auto store = open(alone);
        put(*store, 1, 12);
    }
    const auto rows_in = [](const std::string& directory) {
        std::vector<std::uint64_t> times;
        auto reader = open_store_reader(directory);
        EXPECT_TRUE(reader.ok());
        EXPECT_TRUE(visit_blocks(**reader, partition_of(kTarget, kBucket), kTarget, kSession, kSeries,
                                 [&](const BlockKey&, std::string_view bytes) {
                                     DecodedRows rows;
                                     const auto block = parse_block_untrusted(bytes);
                                     EXPECT_TRUE(block.ok() && rows.decode(*block).ok());
                                     const auto here = rows.integers(ColumnId::kTime);
                                     times.insert(times.end(), here.begin(), here.end());
                                     return Visit::kContinue;
                                 })
                        .ok());
        return times;
    };
    for (int compacted = 0; compacted < 4; ++compacted) {
        SCOPED_TRACE(compacted);
        const std::string suffix = std::to_string(compacted);
        const std::string a = folder_->path() + "/a" + suffix;
        const std::string b = folder_->path() + "/b" + suffix;
        for (const auto& [directory, turns, is_compacted] :
             {std::tuple{a, a_turns, (compacted & 1) != 0}, std::tuple{b, b_turns, (compacted & 2) != 0}}) {
            auto store = open(directory);
            for (const auto& [first, last] : turns) {
                put(*store, first, last);
            }
            if (is_compacted) {
                compact(*store);
            }
        }
        from_ = b;
        to_ = a;
        const CopyReport report = copy();
        expect_agreed(report);
        EXPECT_EQ(report.batches.copied, 4U);
        EXPECT_EQ(report.rows.copied, 4 * kRows);
        EXPECT_EQ(content(a), (Content{12 * kRows, 0}));
        EXPECT_EQ(rows_in(a), rows_in(alone)) << "each row once, in the order of the batches";
        const CopyReport again = copy();
        expect_agreed(again);
        EXPECT_EQ(again.batches.copied, 0U);
        auto store = open(a);
        const std::vector repeated{test_writer::batch(Seq{6}, kSession, kBucket)};
        EXPECT_EQ(store->put(partition_of(kTarget, kBucket), repeated)->at(0), PutOutcome::kDuplicate);
        compact(*store);
        store.reset();
        EXPECT_EQ(content(a), (Content{12 * kRows, 0}));
        EXPECT_EQ(rows_in(a), rows_in(alone));
    }
}

TEST_F(CopiedStore, RefusesOtherContentAndCopiesTheRest) {
    {
        auto store = open(to_);
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE(store->define(partition, sample_session(kTarget, kSession)).ok());
        SampleBatch lie{kTarget, kSession, Seq{3}, EpochNumber{0}, kBucket};
        lie.add(kSeries, {{ColumnId::kTime, {1, 2, 3}}});
        const std::vector batches{lie.build()};
        ASSERT_TRUE(store->put(partition, batches).ok());
    }
    {
        auto store = open(from_);
        put(*store, 1, 5);
        put(*store, 1, 5, kOther);
    }
    const CopyReport report = copy();
    EXPECT_EQ(report.refused_count, 1U);
    ASSERT_EQ(report.refused.size(), 1U);
    EXPECT_NE(report.refused[0].find("has other batches there"), std::string::npos) << report.refused[0];
    EXPECT_EQ(report.checksum_in_source, report.checksum_in_target) << "of what could be copied";
    EXPECT_EQ(content(to_), (Content{5 * kRows + 3, 0}));
}

TEST_F(CopiedStore, KeepsWhatWasDroppedOnEitherSideDropped) {
    {
        auto store = open(from_);
        put(*store, 1, 10);
        put(*store, 11, 20, kSession, kNext);
        ASSERT_TRUE(store->drop(partition_of(kTarget, kBucket)).ok());
    }
    expect_agreed(copy());
    EXPECT_EQ(content(to_), (Content{10 * kRows, 10 * kRows}));
    {
        auto store = open(to_);
        const std::vector late{test_writer::batch(Seq{99})};
        EXPECT_EQ(store->put(partition_of(kTarget, kBucket), late)->at(0), PutOutcome::kExpired);
        ASSERT_TRUE(store->drop(partition_of(kTarget, kNext)).ok());
    }
    const CopyReport report = copy();
    expect_agreed(report);
    EXPECT_EQ(report.row_count_expired, 10 * kRows);
    EXPECT_EQ(content(to_), (Content{0, 21 * kRows}));
}

TEST_F(CopiedStore, KeepsNamesAndWhatWasRemovedOnEitherSide) {
    constexpr SessionName kFirst{kTarget, kSession};
    constexpr SessionName kSecond{kTarget, kOther};
    const auto remove = [](Store& store, const SessionName& session) {
        const std::vector sessions{session};
        ASSERT_TRUE(store.remove_sessions(sessions, nullptr).ok());
    };
    {
        const auto store = open(from_);
        put(*store, 1, 4);
        put(*store, 1, 3, kOther);
        ASSERT_TRUE(store->name_session(kSecond, "a name").ok());
    }
    copy();
    {
        const auto store = open(to_);
        EXPECT_EQ(store->session_notes()->at(kSecond).given_name, "a name");
        remove(*store, kFirst);
    }
    const CopyReport again = copy();
    EXPECT_EQ(again.rows.copied, 0U);
    EXPECT_EQ(again.row_count_expired, 4 * kRows);
    EXPECT_EQ(content(to_), (Content{3 * kRows, 4 * kRows}));
    remove(*open(from_), kSecond);
    copy();
    EXPECT_EQ(content(to_), (Content{3 * kRows, 4 * kRows})) << "the target has it still";
    EXPECT_FALSE(open(to_)->session_notes()->at(kSecond).is_removed);

    to_ += "-2";
    EXPECT_EQ(copy().row_count_dropped, 3 * kRows);
    EXPECT_EQ(content(to_), (Content{4 * kRows, 3 * kRows}));
    EXPECT_TRUE(open(to_)->session_notes()->at(kSecond).is_removed);
}

TEST_F(CopiedStore, StaysWholeInTheTargetWhenTheSourceDropsLater) {
    {
        auto store = open(from_);
        put(*store, 1, 10);
        put(*store, 11, 20, kSession, kNext);
    }
    expect_agreed(copy());
    ASSERT_TRUE(open(from_)->drop(partition_of(kTarget, kBucket)).ok());
    expect_agreed(copy());
    EXPECT_EQ(content(to_), (Content{20 * kRows, 0}));
}

TEST_F(CopiedStore, TellsDamageAndCopiesTheRestIntoASoundStore) {
    for (const bool is_compacted : {false, true}) {
        SCOPED_TRACE(is_compacted);
        from_ += "-next";
        to_ += "-next";
        {
            auto store = open(from_);
            put(*store, 1, 40);
            if (is_compacted) {
                compact(*store);
            }
        }
        open(from_).reset();  // its log becomes a table file
        for (const auto& entry : fs::directory_iterator{from_}) {
            if (entry.path().extension() == ".sst" && entry.file_size() > 30'000) {
                std::FILE* file = std::fopen(entry.path().c_str(), "r+");
                ASSERT_NE(file, nullptr);
                std::fseek(file, 20'000, SEEK_SET);
                std::fputs("damage", file);
                std::fclose(file);
            }
        }
        const CopyReport report = copy();
        EXPECT_FALSE(report.damage.empty());
        EXPECT_NE(report.checksum_in_source, report.checksum_in_target);
        EXPECT_GT(report.size_bytes, 0U);
        EXPECT_GE(report.row_count_left_out, kRows);
        EXPECT_EQ(content(to_), (Content{40 * kRows - report.row_count_left_out, 0}));
    }
}

TEST_F(CopiedStore, RefusesTargetsThatCantBe) {
    put(*open(from_), 1, 1);
    const auto refused = [&](const std::string& from, const std::string& to) {
        auto report = copy_store(from, to);
        EXPECT_FALSE(report.ok());
        return report.ok() ? Error{ErrorCode::kInvalid, "none"} : report.error();
    };
    EXPECT_EQ(refused(from_, from_ + "/.").code, ErrorCode::kUsage);
    EXPECT_EQ(refused(folder_->path() + "/nothing", to_).code, ErrorCode::kNotFound);
    EXPECT_FALSE(fs::exists(to_)) << "nothing is made for a source that isn't there";
    fs::create_directory(to_);
    std::fclose(std::fopen((to_ + "/letter.txt").c_str(), "w"));
    EXPECT_NE(refused(from_, to_).message.find("letter.txt"), std::string::npos);
    fs::remove(to_ + "/letter.txt");
    const auto writer = open(to_);
    EXPECT_EQ(refused(from_, to_).code, ErrorCode::kBusy);
}

// An engine that stops after some writes: the copy's process was killed there.
class MortalEngine final : public EngineOver {
public:
    MortalEngine(MemoryEngine& engine, int writes) : EngineOver{engine}, writes_{writes} {}
    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        return --writes_ < 0 ? Result<Done>{Error{ErrorCode::kIo, "killed"}} : engine().write(domain, guard, changes);
    }
    [[nodiscard]] bool is_alive() const { return writes_ >= 0; }

private:
    int writes_;
};

TEST_F(CopiedStore, ShowsASessionsHourWholeOrNotAtAllAndGoesOnAfterAnInterruption) {
    put(*open(from_), 1, 8);
    auto source = open_rocksdb_reader_engine(from_);
    ASSERT_TRUE(source.ok());
    const SessionPart part{partition_of(kTarget, kBucket), {kTarget, kSession}};
    MemoryEngine half;  // of an earlier copy
    {
        MortalEngine to{half, 1'000};
        ASSERT_TRUE(copy_part(**source, to, part, part, true).ok());
    }
    {
        auto store = open(from_);
        put(*store, 9, 12);
        compact(*store);
    }
    ASSERT_TRUE((*source)->refresh().ok());
    int writes = 0;
    for (bool was_whole = false; !was_whole; ++writes) {
        MemoryEngine engine;
        Changes changes;
        std::vector<std::pair<std::string, std::string>> values;
        ASSERT_TRUE(half.visit(everything(),
                               [&](std::string_view key, std::string_view value) {
                                   values.emplace_back(key, value);
                                   return Visit::kContinue;
                               })
                        .ok());
        for (const auto& [key, value] : values) {
            changes.puts.push_back({key, value});
        }
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
        MortalEngine to{engine, writes};
        const auto copied = copy_part(**source, to, part, part, true);
        was_whole = copied.ok();
        const auto batches = read_part(KeyedReads{engine}, part);
        ASSERT_TRUE(batches.ok());
        EXPECT_EQ(batches->row_count(), was_whole ? 12 * kRows : writes == 0 ? 8 * kRows : 0);
        // Begun again.
        MortalEngine anew{engine, 1'000};
        ASSERT_TRUE(copy_part(**source, anew, part, part, true).ok());
        EXPECT_EQ(*checksum_of_part(engine, part), *checksum_of_part(**source, part));
    }
    EXPECT_EQ(writes, 4) << "one to hide, one of blocks, one of records";
}

PartBatches batches_of(const std::map<std::uint64_t, std::uint32_t>& seals) {
    PartBatches batches;
    for (const auto& [seq, seal] : seals) {
        batches.seals.emplace(Seq{seq}, seal);
    }
    return batches;
}

TEST(SessionPart, IsJudgedByTheBatchesOfBothSides) {
    const auto verdict = [](const std::map<std::uint64_t, std::uint32_t>& from,
                            const std::map<std::uint64_t, std::uint32_t>& to) {
        return judge_part(batches_of(from), batches_of(to));
    };
    EXPECT_EQ(verdict({}, {}), PartVerdict::kPresent);
    EXPECT_EQ(verdict({{2, 7}}, {{1, 6}, {2, 7}, {3, 8}}), PartVerdict::kPresent);
    EXPECT_EQ(verdict({{2, 7}}, {}), PartVerdict::kMissing);
    EXPECT_EQ(verdict({{3, 7}, {4, 7}}, {{1, 6}, {2, 6}}), PartVerdict::kMissing) << "behind";
    EXPECT_EQ(verdict({{1, 6}, {2, 6}}, {{3, 7}, {4, 7}}), PartVerdict::kMissing) << "before";
    EXPECT_EQ(verdict({{1, 6}, {2, 7}, {3, 8}}, {{2, 7}}), PartVerdict::kReplaces);
    EXPECT_EQ(verdict({{1, 6}, {3, 6}}, {{2, 7}}), PartVerdict::kInterleaves);
    EXPECT_EQ(verdict({{1, 6}, {2, 7}}, {{2, 7}, {3, 8}}), PartVerdict::kInterleaves) << "a batch was sent to both";
    EXPECT_EQ(verdict({{1, 6}, {2, 7}}, {{2, 8}}), PartVerdict::kConflict);
}

// Two batches in a store in memory, of which a block or a record may be damaged under right checksums of its engine.
class CopiedPart : public testing::Test {
protected:
    void put(MemoryEngine& engine, std::uint64_t first, std::uint64_t last) const {
        auto owned = std::make_unique<MemoryEngine>();
        MemoryEngine& made = *owned;
        const auto store = open_keyed_store(std::move(owned), "memory", {});
        ASSERT_TRUE(store.ok());
        ASSERT_TRUE((*store)->define(part_.partition, sample_session(kTarget, kSession)).ok());
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            ASSERT_TRUE((*store)->put(part_.partition, std::vector{test_writer::batch(Seq{seq})}).ok());
        }
        Changes changes;
        std::vector<std::pair<std::string, std::string>> values = content_of(made);
        for (const auto& [key, value] : values) {
            changes.puts.push_back({key, value});
        }
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
    }
    static void damage(MemoryEngine& engine, const std::string& key) {
        Changes changes;
        changes.puts.push_back({key, "damaged"});
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
    }
    static std::vector<std::pair<std::string, std::string>> content_of(const Engine& engine,
                                                                       const KeyRange& range = everything()) {
        std::vector<std::pair<std::string, std::string>> values;
        EXPECT_TRUE(engine
                        .visit(range,
                               [&](std::string_view key, std::string_view value) {
                                   values.emplace_back(key, value);
                                   return Visit::kContinue;
                               })
                        .ok());
        return values;
    }
    [[nodiscard]] std::string key_of_block(std::uint64_t seq) const {
        return block_key({part_.partition, kTarget, kSession, kSeries, Seq{seq}});
    }
    [[nodiscard]] std::string key_of_record(std::uint64_t seq) const {
        return partition_batch_key(part_.partition, {kTarget, kSession, Seq{seq}});
    }
    [[nodiscard]] PartBatches batches_in(const Engine& engine) const {
        auto batches = read_part(KeyedReads{engine}, part_);
        EXPECT_TRUE(batches.ok());
        return std::move(*batches);
    }

    SessionPart part_{partition_of(kTarget, kBucket), {kTarget, kSession}};
    MemoryEngine from_;
    MemoryEngine to_;
};

TEST_F(CopiedPart, CountsTheBytesOfItsKeysAndValues) {
    put(from_, 1, 3);
    const auto copied = copy_part(from_, to_, part_, part_, true);
    ASSERT_TRUE(copied.ok());
    std::uint64_t size_bytes = 0;
    for (const auto& [key, value] : content_of(to_)) {
        size_bytes += key.size() + value.size();
    }
    EXPECT_EQ(copied->size_bytes, size_bytes);
    EXPECT_EQ(copied->row_count_left_out, 0U);
    EXPECT_EQ(copied->damage, "");
    MemoryEngine merged;
    put(merged, 5, 6);
    EXPECT_EQ(merge_part(from_, merged, part_, part_)->damage, "");
    EXPECT_EQ(batches_in(merged).row_count(), 5 * kRows);
}

TEST_F(CopiedPart, ABlockThatContradictsItselfIsNamedAndItsRowsAreLeftOut) {
    put(from_, 1, 3);
    damage(from_, key_of_block(2));
    const auto copied = copy_part(from_, to_, part_, part_, true);
    ASSERT_TRUE(copied.ok());
    EXPECT_NE(copied->damage.find("first seq 2"), std::string::npos) << copied->damage;
    EXPECT_EQ(copied->row_count_left_out, kRows);
    EXPECT_EQ(batches_in(to_).row_count(), 2 * kRows);
}

TEST_F(CopiedPart, ARecordThatContradictsItselfIsNamed) {
    put(from_, 1, 3);
    damage(from_, key_of_record(2));
    const auto copied = copy_part(from_, to_, part_, part_, true);
    ASSERT_TRUE(copied.ok());
    EXPECT_NE(copied->damage.find("seq 2"), std::string::npos) << copied->damage;
    EXPECT_EQ(batches_in(to_).seals.size(), 2U);
    EXPECT_NE(batches_in(from_).damage, "");
}

TEST_F(CopiedPart, IsMergedWithoutWhatCannotBeReadAndNotIntoWhatCannot) {
    put(from_, 2, 3);
    put(to_, 1, 1);
    put(to_, 4, 4);
    damage(from_, key_of_block(2));
    const auto merged = merge_part(from_, to_, part_, part_);
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    EXPECT_NE(merged->damage.find("first seq 2"), std::string::npos) << merged->damage;

    damage(to_, key_of_block(1));
    const auto before = content_of(to_);
    const auto refused = merge_part(from_, to_, part_, part_);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(refused.error().message.find("first seq 1"), std::string::npos) << refused.error().message;
    EXPECT_EQ(content_of(to_), before);
}

}  // namespace
}  // namespace perfleet
