// One damaged table file of several that overlap: the others' data stay readable, the loss is reported, and the store
// continues so that nothing is lost for good.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "storage/block/block.h"
#include "storage/compact/compaction_step.h"
#include "storage/copy/store_copy.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/rocksdb/checkpoint.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/testing/file_bytes.h"
#include "storage/key/key_bytes.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/verify/store_check.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

constexpr std::uint64_t kRuns = 3;
constexpr std::uint64_t kBatchesPerRun = 20;
constexpr UtcNs kLater{2'000'000'000 * kNsPerSecond};

// Of one run alone, the others are of all.
SessionId session_of_run(std::uint64_t run) { return {0xabc, 0xe00 + run}; }

struct Place {
    SessionId session;
    std::uint64_t seq = 0;

    friend auto operator<=>(const Place&, const Place&) = default;
};

class StoreOfThreeFiles : public testing::Test {
protected:
    // Each run of a writer leaves a table file: a part of one session, and a session of its own.
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        intact_ = folder_->path() + "/intact";
        damaged_ = folder_->path() + "/damaged";
        fill(intact_);
        for (const auto& entry : fs::directory_iterator{intact_}) {
            if (entry.path().extension() == ".sst") {
                files_.push_back(entry.path().filename());
            }
        }
        std::sort(files_.begin(), files_.end());
        ASSERT_EQ(files_.size(), kRuns);
    }

    static void fill(const std::string& directory) {
        for (std::uint64_t run = 0; run < kRuns; ++run) {
            auto store = open_store(directory);
            ASSERT_TRUE(store.ok()) << store.error().message;
            put(**store, kSession, run * kBatchesPerRun + 1, (run + 1) * kBatchesPerRun);
            put(**store, session_of_run(run), 1, kBatchesPerRun);
            ASSERT_TRUE((*store)->sync().ok());
        }
        ASSERT_TRUE(open_store(directory).ok());
    }

    static void put(Store& store, SessionId session, std::uint64_t first, std::uint64_t last) {
        const Partition partition = test_writer::partition();
        ASSERT_TRUE(store.define(partition, sample_session(kTarget, session)).ok());
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            ASSERT_TRUE(store.put(partition, std::vector{test_writer::batch(Seq{seq}, session)}).ok());
        }
        ASSERT_TRUE(store.advance_watermark(kTarget, session, Seq{last}).ok());
    }

    void copy() {
        fs::remove_all(damaged_);
        fs::copy(intact_, damaged_);
    }

    // Of all runs but one.
    static std::set<Place> places_but_of(std::uint64_t lost_run) {
        std::set<Place> places;
        for (std::uint64_t run = 0; run < kRuns; ++run) {
            for (std::uint64_t i = 1; run != lost_run && i <= kBatchesPerRun; ++i) {
                places.insert({kSession, run * kBatchesPerRun + i});
                places.insert({session_of_run(run), i});
            }
        }
        return places;
    }

    struct Read {
        std::set<Place> blocks;
        std::set<Place> records;
        std::set<SessionId> sessions;
        std::string errors;  // everything

        [[nodiscard]] bool has(const std::set<Place>& places) const {
            return std::includes(blocks.begin(), blocks.end(), places.begin(), places.end()) &&
                   std::includes(records.begin(), records.end(), places.begin(), places.end());
        }
    };

    // Whatever is given must be what was stored, once.
    static Read read_all(const StoreReader& reader) {
        Read read;
        const auto keep = [&](const auto& done) {
            if (!done.ok()) {
                read.errors += done.error().message + "\n";
            }
        };
        auto all = reader.all_sessions();
        keep(all);
        for (const SessionRecord& session : all.ok() ? *all : std::vector<SessionRecord>{}) {
            EXPECT_EQ(session, sample_session(kTarget, session.session));
            read.sessions.insert(session.session);
        }
        auto partitions = reader.partitions();
        keep(partitions);
        for (const Partition& partition : partitions.ok() ? *partitions : std::vector<Partition>{}) {
            auto here = reader.sessions(partition);
            keep(here);
            for (const SessionRecord& session : here.ok() ? *here : std::vector<SessionRecord>{}) {
                keep(visit_blocks(reader, partition, kTarget, session.session, kSeries,
                                  [&](const BlockKey& key, std::string_view block) {
                                      const auto& stored = test_writer::kept_batch(key.first_seq, key.session);
                                      EXPECT_EQ(block, stored.series[0].block);
                                      EXPECT_TRUE(read.blocks.insert({key.session, key.first_seq.value}).second);
                                      return Visit::kContinue;
                                  }));
                keep(reader.visit_batches(partition, kTarget, session.session, [&](const BatchRecord& record) {
                    EXPECT_EQ(record.seal, test_writer::kept_batch(record.seq, session.session).record.seal);
                    EXPECT_TRUE(read.records.insert({session.session, record.seq.value}).second);
                    return Visit::kContinue;
                }));
            }
        }
        for (const std::string& damage : reader.damage()) {
            read.errors += damage + "\n";
        }
        return read;
    }

    // Everything is there that the file of this run doesn't hold, and the rest is reported with the file's name.
    void expect_rest_of(const StoreReader& reader, std::uint64_t run, const std::string& harm) {
        const Read read = read_all(reader);
        EXPECT_TRUE(read.has(places_but_of(run))) << harm << " of " << files_[run] << ": " << read.blocks.size()
                                                  << " blocks, " << read.records.size() << " records\n"
                                                  << read.errors;
        const std::set<Place> everything = places_but_of(kRuns);
        EXPECT_TRUE(read.has(everything) || read.errors.find(fs::path{files_[run]}.stem()) != std::string::npos)
            << harm << " of " << files_[run] << ": rows are missing without a word\n"
            << read.errors;
        for (std::uint64_t other = 0; other < kRuns; ++other) {
            EXPECT_TRUE(other == run || read.sessions.contains(session_of_run(other)));
        }
    }

    // By a reader, by a writer that stores something more, and by a reader after it.
    void expect_to_go_on(std::uint64_t run, const std::string& harm) {
        SCOPED_TRACE(harm + " of " + files_[run]);
        {
            auto reader = open_store_reader(damaged_);
            ASSERT_TRUE(reader.ok()) << reader.error().message;
            expect_rest_of(**reader, run, harm);
        }
        {
            auto store = open_store(damaged_);
            ASSERT_TRUE(store.ok()) << store.error().message;
            expect_rest_of(**store, run, harm);
            put(**store, kSession, kRuns * kBatchesPerRun + 1, kRuns * kBatchesPerRun + 1);
            ASSERT_TRUE((*store)->sync().ok());
            auto beside = open_store_reader(damaged_);
            ASSERT_TRUE(beside.ok()) << beside.error().message;
            expect_rest_of(**beside, run, harm);
            ASSERT_TRUE((*beside)->refresh().ok());
            EXPECT_TRUE(read_all(**beside).blocks.contains({kSession, kRuns * kBatchesPerRun + 1}));
        }
        auto again = open_store(damaged_);
        ASSERT_TRUE(again.ok()) << again.error().message;
        expect_rest_of(**again, run, harm);
        EXPECT_TRUE(read_all(**again).blocks.contains({kSession, kRuns * kBatchesPerRun + 1}));
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string intact_;
    std::string damaged_;
    std::vector<std::string> files_;  // in the order of the runs
};

TEST_F(StoreOfThreeFiles, KeepsWhatTwoFilesHoldWhicheverIsLost) {
    const std::map<std::string, std::function<void(const fs::path&)>> harms{
        {"loss", [](const fs::path& path) { fs::remove(path); }},
        {"half", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) / 2); }},
        {"emptying", [](const fs::path& path) { fs::resize_file(path, 0); }},
        {"a byte less", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); }},
        {"a byte more", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) + 1); }},
        {"a folder",
         [](const fs::path& path) {
             fs::remove(path);
             fs::create_directory(path);
         }},
    };
    for (const auto& [harm, damage] : harms) {
        for (std::uint64_t run = 0; run < kRuns; ++run) {
            copy();
            damage(fs::path{damaged_} / files_[run]);
            expect_to_go_on(run, harm);
        }
    }
}

// Each opens as well as the right one, and holds rows of the same sessions.
TEST_F(StoreOfThreeFiles, TakesNoOtherTableFileForItsOwn) {
    const std::string other = folder_->path() + "/other";
    fill(other);
    const std::string last = files_[kRuns - 1];
    ASSERT_EQ(fs::file_size(fs::path{other} / last), fs::file_size(fs::path{intact_} / last));
    const auto replace = [&](std::uint64_t run, const fs::path& from) {
        copy();
        fs::copy_file(from, fs::path{damaged_} / files_[run], fs::copy_options::overwrite_existing);
        const auto check = check_store(damaged_, true);
        ASSERT_TRUE(check.ok());
        EXPECT_TRUE(std::any_of(check->damage.begin(), check->damage.end(),
                                [&](const StoreDamage& damage) { return damage.place == files_[run]; }));
    };
    for (std::uint64_t run = 0; run < kRuns; ++run) {
        replace(run, fs::path{other} / files_[run]);
        expect_to_go_on(run, "a file of another store in place");
        replace(run, fs::path{intact_} / files_[(run + 1) % kRuns]);
        expect_to_go_on(run, "another file of the store in place");
    }
    // A backup and a copy of it have their files from elsewhere, and newer ones of their own.
    const std::string backup = folder_->path() + "/backup";
    ASSERT_TRUE(make_checkpoint(intact_, backup).ok());
    put(**open_store(backup), session_of_run(kRuns), 1, 5);
    ASSERT_TRUE(open_store(backup).ok());
    const auto check = check_store(backup, true);
    ASSERT_TRUE(check.ok());
    EXPECT_TRUE(check->damage.empty()) << check->damage.front().place << ": " << check->damage.front().what;
}

// A table ends with its filter, index, properties, list of those, and footer, in this order.
TEST_F(StoreOfThreeFiles, KeepsWhatTwoFilesHoldWhateverOfTheEndIsDamaged) {
    constexpr std::size_t kEndSizeBytes = 2'400;
    constexpr std::size_t kStepBytes = 61;
    for (std::size_t from_end = 1, run = 0; from_end < kEndSizeBytes; from_end += kStepBytes, run = (run + 1) % kRuns) {
        copy();
        const fs::path path = fs::path{damaged_} / files_[run];
        std::string table = read_file(path);
        const std::size_t at = table.size() - from_end;
        table[at] = static_cast<char>(table[at] ^ 4);
        write_file(path, table);
        auto reader = open_store_reader(damaged_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        expect_rest_of(**reader, run, "byte " + std::to_string(from_end) + " from the end");
        auto store = open_store(damaged_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        expect_rest_of(**store, run, "byte " + std::to_string(from_end) + " from the end");
    }
}

TEST_F(StoreOfThreeFiles, KeepsWhatTwoFilesHoldWhicheverBitIsDamaged) {
    constexpr int kFlips = 60;
    std::mt19937_64 random{7};
    for (int flip = 0; flip < kFlips; ++flip) {
        copy();
        const std::uint64_t run = random() % kRuns;
        const fs::path path = fs::path{damaged_} / files_[run];
        std::string table = read_file(path);
        const std::size_t at = random() % table.size();
        table[at] = static_cast<char>(table[at] ^ (1 << random() % 8));
        write_file(path, table);
        auto reader = open_store_reader(damaged_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        expect_rest_of(**reader, run, "byte " + std::to_string(at));
    }
}

// Two files, in the same places.
TEST_F(StoreOfThreeFiles, KeepsWhatOneFileHoldsOfThree) {
    copy();
    for (const std::uint64_t run : {0U, 1U}) {
        const fs::path path = fs::path{damaged_} / files_[run];
        std::string table = read_file(path);
        for (std::size_t at = 100; at + 4'000 < table.size(); at += 1'000) {
            table[at] = static_cast<char>(table[at] ^ 1);
        }
        write_file(path, table);
    }
    auto reader = open_store_reader(damaged_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const Read read = read_all(**reader);
    std::set<Place> kept = places_but_of(0);
    std::erase_if(kept, [&](const Place& place) { return !places_but_of(1).contains(place); });
    EXPECT_EQ(kept.size(), 2 * kBatchesPerRun);
    EXPECT_TRUE(read.has(kept)) << read.blocks.size();
    for (const std::uint64_t run : {0U, 1U}) {
        EXPECT_NE(read.errors.find(files_[run]), std::string::npos) << read.errors;
    }
}

TEST_F(StoreOfThreeFiles, HasEverythingAgainWhenTheFileIsPutBack) {
    for (std::uint64_t run = 0; run < kRuns; ++run) {
        copy();
        fs::remove(fs::path{damaged_} / files_[run]);
        {
            auto store = open_store(damaged_);
            ASSERT_TRUE(store.ok()) << store.error().message;
            // Its collector got no acknowledgement of it.
            const Seq lost{(run + 1) * kBatchesPerRun};
            const std::vector again{test_writer::batch(lost), test_writer::batch(Seq{lost.value % 60 + 1})};
            ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
            auto outcomes = (*store)->put(test_writer::partition(), again);
            ASSERT_TRUE(outcomes.ok()) << outcomes.error().message;
            EXPECT_EQ(outcomes->back(), PutOutcome::kDuplicate);
            put(**store, session_of_run(kRuns), 1, 5);
            // Neither compaction nor dropping may write over what is lost, or forget the file.
            ASSERT_TRUE((*store)->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
            Partition other = test_writer::partition();
            other.bucket.value -= 1'000;
            ASSERT_TRUE((*store)->drop(other).ok());
            ASSERT_TRUE((*store)->sync().ok());
        }
        fs::copy(fs::path{intact_} / files_[run], fs::path{damaged_} / files_[run]);
        auto store = open_store(damaged_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        Read read = read_all(**store);
        EXPECT_EQ(read.errors, "");
        EXPECT_EQ(read.blocks.size(), 2 * kRuns * kBatchesPerRun + 5);
        EXPECT_EQ(read.records, read.blocks);
        for (std::uint64_t other = 0; other < kRuns; ++other) {
            EXPECT_EQ(*(*store)->watermark(kTarget, session_of_run(other)), Seq{kBatchesPerRun});
        }
    }
}

// Its watermark is lost, and with it the proof that its batches were stored: those come again, if at all, to the keys
// that they had.
TEST_F(StoreOfThreeFiles, StoresAgainWhatTheLostFileHeldAndNothingElseTwice) {
    copy();
    fs::remove(fs::path{damaged_} / files_[2]);
    auto store = open_store(damaged_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ(*(*store)->watermark(kTarget, kSession), Seq{2 * kBatchesPerRun});
    ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
    std::map<PutOutcome, int> outcomes;
    for (std::uint64_t seq = 1; seq <= kRuns * kBatchesPerRun; ++seq) {
        auto outcome = (*store)->put(test_writer::partition(), std::vector{test_writer::batch(Seq{seq})});
        ASSERT_TRUE(outcome.ok());
        ++outcomes[outcome->front()];
    }
    EXPECT_EQ(outcomes[PutOutcome::kStored], kBatchesPerRun);
    EXPECT_EQ(outcomes[PutOutcome::kDuplicate], 2 * kBatchesPerRun);
    EXPECT_TRUE(read_all(**store).has(places_but_of(2)));
}

// The record that blocks were compacted can't be read, or was removed: small ones are back beside the compacted one.
class StoreOfCompactedBlocks : public StoreOfThreeFiles {
protected:
    // As after the loss of nothing but the deletions.
    void bring_back_small_ones() {
        copy();
        std::map<std::string, std::string> before;
        {
            auto engine = open_rocksdb_reader_engine(damaged_);
            ASSERT_TRUE(engine.ok());
            ASSERT_TRUE((*engine)
                            ->visit(partition_range(test_writer::partition()),
                                    [&](std::string_view key, std::string_view value) {
                                        before.emplace(key, value);
                                        return Visit::kContinue;
                                    })
                            .ok());
        }
        {
            auto store = open_store(damaged_);
            ASSERT_TRUE(store.ok());
            ASSERT_TRUE((*store)->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
        }
        auto engine = open_rocksdb_writer_engine(damaged_);
        ASSERT_TRUE(engine.ok());
        Changes changes;
        for (const auto& [key, value] : before) {
            auto now = (*engine)->get(key);
            ASSERT_TRUE(now.ok());
            if (!now->has_value()) {
                changes.puts.push_back({key, value});
            }
        }
        EXPECT_GT(changes.puts.size(), kBatchesPerRun);
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
        ASSERT_TRUE((*engine)->sync().ok());
    }
};

TEST_F(StoreOfCompactedBlocks, IsSoundAndIsCopiedOnceWhereSmallBlocksAreBackBesideThem) {
    bring_back_small_ones();
    const auto expect_sound = [&](const std::string& directory) {
        const auto check = check_store(directory, true);
        ASSERT_TRUE(check.ok()) << check.error().message;
        EXPECT_TRUE(check->damage.empty()) << check->damage.front().place << ": " << check->damage.front().what;
        ASSERT_EQ(check->partitions.size(), 1U);
        EXPECT_EQ(check->partitions[0].batch_count, 2 * kRuns * kBatchesPerRun);
        EXPECT_EQ(check->partitions[0].row_count, 2 * kRuns * kBatchesPerRun * 1'000);
    };
    expect_sound(damaged_);
    const std::string copied = folder_->path() + "/copied";
    const auto report = copy_store(damaged_, copied);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->damage.empty());
    expect_sound(copied);
    auto engine = open_rocksdb_reader_engine(copied);
    ASSERT_TRUE(engine.ok());
    std::size_t key_count = 0;
    ASSERT_TRUE((*engine)
                    ->visit(partition_range(test_writer::partition()),
                            [&](std::string_view, std::string_view) {
                                ++key_count;
                                return Visit::kContinue;
                            })
                    .ok());
    EXPECT_LT(key_count, 2 * kBatchesPerRun) << "nothing small is copied";
}

TEST_F(StoreOfCompactedBlocks, CountsRowsOnceWhereSmallBlocksAreBackBesideThem) {
    bring_back_small_ones();
    auto store = open_store(damaged_);
    ASSERT_TRUE(store.ok());
    std::map<std::uint64_t, int> rows;
    std::map<std::uint64_t, int> records;
    ASSERT_TRUE(visit_blocks(**store, test_writer::partition(), kTarget, kSession, kSeries,
                             [&](const BlockKey&, std::string_view bytes) {
                                 const auto block = parse_block_untrusted(bytes);
                                 EXPECT_TRUE(block.ok());
                                 for (const BlockPart& part : block->parts) {
                                     ++rows[part.seq.value];
                                 }
                                 if (block->parts.empty()) {
                                     ++rows[block->header.first_seq.value];
                                 }
                                 return Visit::kContinue;
                             })
                    .ok());
    ASSERT_TRUE((*store)
                    ->visit_batches(test_writer::partition(), kTarget, kSession,
                                    [&](const BatchRecord& record) {
                                        ++records[record.seq.value];
                                        return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_EQ(rows.size(), kRuns * kBatchesPerRun);
    EXPECT_EQ(records.size(), kRuns * kBatchesPerRun);
    for (const auto& counts : {rows, records}) {
        EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](const auto& one) { return one.second == 1; }));
    }
    ASSERT_TRUE((*store)->drop(test_writer::partition()).ok());
    EXPECT_EQ(*(*store)->expired(kTarget, kSession),
              (std::vector<std::pair<Series, std::uint64_t>>{{kSeries, kRuns * kBatchesPerRun * 1'000}}));
}

}  // namespace
}  // namespace perfleet
