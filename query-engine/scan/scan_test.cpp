#include "query-engine/scan/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/session_choice.h"
#include "query-engine/scan/testing/tampered_store.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/limits/store_limits.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::scan_test {
namespace {

using SampleTampering = std::function<std::optional<std::string>(Seq, std::string_view)>;

TamperedStore::Tampering of_samples(SampleTampering tampering) {
    return [tampering = std::move(tampering)](Series series, Seq first_seq, std::string_view block) {
        return series.kind == Kind::kSample ? tampering(first_seq, block) : std::string{block};
    };
}

constexpr Series kSamples{Kind::kSample, EventNumber{0}};

class ScanTest : public ::testing::Test {
protected:
    void SetUp() override { deliver(scenario_, DeliveryOrder{50, 0, false}, *store_); }

    static Result<std::uint64_t> count_samples(const StoreReader& store, const Selection& selection) {
        const auto scan = PERFLEET_TRY(Scan::open(store, selection));
        return count_samples(scan);
    }

    static Result<std::uint64_t> count_samples(const Scan& opened) {
        const Scan* scan = &opened;
        std::atomic<std::uint64_t> row_count = 0;
        for (std::size_t i = 0; i < scan->sessions().size(); ++i) {
            for (const EpochNumber epoch : scan->sessions()[i].epochs) {
                const Result<Done> visited = scan->visit_rows_in_parallel(
                    i, epoch, kSamples, CoveredSeqs{}, scan->worker_count(), [&](unsigned, RowBlock& block) {
                        row_count += block.decode_more(std::array{ColumnId::kStack}) ? block.rows.row_count() : 0;
                    });
                if (!visited.ok()) {
                    return Error{visited.error()};
                }
            }
        }
        return row_count.load();
    }

    // The other blocks are counted, and the omitted rows are reported.
    void expect_left_out(SampleTampering tampering, const std::string& named) {
        const std::uint64_t all = *count_samples(*store_, {});
        const TamperedStore store{*store_, of_samples(std::move(tampering))};
        for (const unsigned threads : {1U, 2U, 5U}) {
            Selection selection;
            selection.thread_count = threads;
            const Result<Scan> scan = Scan::open(store, selection);
            ASSERT_TRUE(scan.ok()) << scan.error().message;
            const std::uint64_t counted = count_samples(*scan).value();
            EXPECT_LT(counted, all);
            std::uint64_t stored = 0;
            std::uint64_t damaged = 0;
            std::vector<std::string> warnings;
            for (std::size_t i = 0; i < scan->sessions().size(); ++i) {
                const Ledger ledger = scan->ledger(i, kSamples, warnings);
                stored += ledger.stored;
                damaged += ledger.lost.contains("damaged") ? ledger.lost.at("damaged") : 0;
            }
            EXPECT_EQ(stored, counted);
            EXPECT_EQ(stored + damaged, all);
            EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [&](const std::string& text) {
                return text.find(named) != text.npos;
            })) << named;
        }
    }

    ProfileScenario scenario_ = make_scenario(4);
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(ScanTest, VisitsEveryRowOnce) {
    std::uint64_t expected = 0;
    for (const ScenarioSession& session : scenario_.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                expected += sample.event == 0 ? 1 : 0;
            }
        }
    }
    EXPECT_EQ(*count_samples(*store_, {}), expected);
}

TEST_F(ScanTest, DamagedBlockIsLeftOutAndNamed) {
    const std::string session = session_hex(scenario_.sessions[0].record.session);
    for (const std::size_t at : {0U, 9U, 40U, 70U}) {
        expect_left_out(
            [at](Seq seq, std::string_view block) {
                std::string damaged{block};
                if (seq == Seq{3}) {
                    damaged[std::min(at, damaged.size() - 1)] ^= 0x40;
                }
                return damaged;
            },
            "session " + session + ", sample event 0, batch 3");
    }
    expect_left_out([](Seq, std::string_view block) { return std::string{block.substr(0, block.size() / 2)}; },
                    "sample event 0, batch 1");
}

TEST_F(ScanTest, BlockOfAnotherPlaceIsLeftOut) {
    std::string first;
    expect_left_out(
        [&first](Seq seq, std::string_view block) {
            if (seq == Seq{1} && first.empty()) {
                first = block;
            }
            return seq == Seq{2} ? first : std::string{block};
        },
        "holds another block's rows");
}

TEST_F(ScanTest, MissingBlockIsTold) {
    expect_left_out(
        [](Seq seq, std::string_view block) {
            return seq == Seq{2} ? std::nullopt : std::optional{std::string{block}};
        },
        "blocks are damaged or missing");
}

TEST_F(ScanTest, RowsPutAfterItWasOpenedAreNotSeen) {
    const std::unique_ptr<Store> growing = make_memory_store();
    ProfileScenario early = scenario_;
    early.sessions.resize(1);
    deliver(early, DeliveryOrder{50, 0, false}, *growing);
    const Result<Scan> scan = Scan::open(*growing, {});
    deliver(scenario_, DeliveryOrder{50, 0, false}, *growing);
    EXPECT_EQ(scan->sessions().size(), 1U);
    EXPECT_EQ(Scan::open(*growing, {})->sessions().size(), 3U);
}

// A store whose batches are given one by one.
class ScanOfCompacted : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(store_->define(partition_, sample_session(kTarget, kSession)).ok()); }

    // As many rows as the seq says, at that many seconds.
    void put(std::uint64_t seq) {
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
        const std::vector<std::uint64_t> times(seq, seq * 1'000'000'000);
        batch.add(kSamples, {{ColumnId::kTime, times}, {ColumnId::kTid, std::vector<std::uint64_t>(seq, seq)}});
        batch.entry(kSamples, CountName::kProduced, seq * (seq + 1) / 2);
        ASSERT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    }
    void compact(std::uint64_t watermark) {
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{watermark}).ok());
        ASSERT_TRUE(
            store_->compact(UtcNs{now_s_ * kNsPerSecond}, [](const CompactionStep&) { return Visit::kContinue; }).ok());
        now_s_ += 10 * kBucketDurationS;
    }

    // Rows by thread, which is their batch's seq, in the order of the visit.
    static std::vector<std::uint64_t> rows_of(const Scan& scan) {
        std::vector<std::uint64_t> rows;
        const std::vector<ColumnId> wanted{ColumnId::kTid};
        RowCursor cursor{scan, 0, kSamples, wanted};
        while (const RowBlock* const block = cursor.next()) {
            const auto tids = block->rows.integers(ColumnId::kTid);
            rows.insert(rows.end(), tids.begin(), tids.end());
            EXPECT_LE(block->first_seq.value, tids.front());
            EXPECT_GE(block->last_seq.value, tids.back());
        }
        EXPECT_TRUE(cursor.status().ok());
        std::atomic<std::size_t> row_count{0};
        EXPECT_TRUE(scan.visit_rows_in_parallel(0, EpochNumber{0}, kSamples, CoveredSeqs{}, 2,
                                                [&](unsigned, RowBlock& block) {
                                                    EXPECT_TRUE(block.decode_more(wanted));
                                                    EXPECT_EQ(block.rows.row_count(), block.row_count);
                                                    row_count += block.row_count;
                                                })
                        .ok());
        EXPECT_EQ(row_count, rows.size());
        return rows;
    }
    static std::vector<std::uint64_t> rows_of_batches(const std::vector<std::uint64_t>& seqs) {
        std::vector<std::uint64_t> rows;
        for (const std::uint64_t seq : seqs) {
            rows.insert(rows.end(), seq, seq);
        }
        return rows;
    }
    static void expect_nothing_damaged(const Scan& scan) {
        std::vector<std::string> warnings;
        EXPECT_TRUE(scan.ledger(0, kSamples, warnings).lost.empty());
        EXPECT_TRUE(warnings.empty()) << warnings.front();
    }

    static constexpr TargetId kTarget{5};
    static constexpr SessionId kSession{1, 2};
    static constexpr BucketNumber kBucket{472'222};
    Partition partition_ = partition_of(kTarget, kBucket);
    std::unique_ptr<Store> store_ = make_memory_store();
    std::int64_t now_s_ = 4'000'000'000;
};

TEST_F(ScanOfCompacted, GoesOnWhileTheStoreCompacts) {
    for (const std::uint64_t seq : {1U, 2U, 4U, 5U, 8U}) {
        put(seq);
    }
    const Result<Scan> scan = Scan::open(*store_, {});
    const auto expected = rows_of_batches({1, 2, 4, 5, 8});
    EXPECT_EQ(rows_of(*scan), expected);
    compact(2);
    EXPECT_EQ(rows_of(*scan), expected);
    for (const std::uint64_t seq : {3U, 6U, 7U, 9U}) {
        put(seq);
    }
    compact(9);
    EXPECT_EQ(rows_of(*scan), expected) << "what came later stands in the same blocks";
    expect_nothing_damaged(*scan);
    EXPECT_EQ(rows_of(*Scan::open(*store_, {})), rows_of_batches({1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(ScanOfCompacted, CursorsReadIndependentlyGoOnBehindDamageAndShareTheMemoryOfTheQuery) {
    put(1);
    put(2);
    put(3);
    const TamperedStore damaged{*store_, of_samples([](Seq seq, std::string_view block) {
                                    return std::string{block.substr(0, seq == Seq{2} ? 9 : block.size())};
                                })};
    const Result<Scan> scan = Scan::open(damaged, {});
    const std::size_t before = scan->memory().size_bytes();
    {
        std::vector<std::unique_ptr<RowCursor>> cursors;
        std::vector<std::size_t> held{before};
        for (int i = 0; i < 2; ++i) {
            cursors.push_back(std::make_unique<RowCursor>(*scan, 0, kSamples, std::vector{ColumnId::kTid}));
        }
        for (const std::uint64_t seq : {1, 3}) {
            for (const auto& cursor : cursors) {
                const RowBlock* const block = cursor->next();
                ASSERT_NE(block, nullptr);
                EXPECT_EQ(block->first_seq, Seq{seq});
                EXPECT_EQ(block->rows.integers(ColumnId::kTid).size(), seq);
                held.push_back(scan->memory().size_bytes());
            }
        }
        EXPECT_LT(held[0], held[1]);
        EXPECT_LT(held[1], held[2]);
        for (const auto& cursor : cursors) {
            EXPECT_EQ(cursor->next(), nullptr);
            EXPECT_TRUE(cursor->status().ok());
        }
    }
    EXPECT_EQ(scan->memory().size_bytes(), before);
    std::vector<std::string> warnings;
    EXPECT_EQ(scan->ledger(0, kSamples, warnings).lost.at("damaged"), 2U);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_NE(warnings[1].find("batch 2"), std::string::npos) << warnings[1];
}

TEST_F(ScanOfCompacted, CountsAsExpiredWhatIsDroppedWhileItReads) {
    put(1);
    put(4);
    const Result<Scan> scan = Scan::open(*store_, {});
    ASSERT_TRUE(store_->drop(partition_).ok());
    RowCursor cursor{*scan, 0, kSamples, {}};
    EXPECT_EQ(cursor.next(), nullptr);
    EXPECT_TRUE(cursor.status().ok());
    std::vector<std::string> warnings;
    const Ledger ledger = scan->ledger(0, kSamples, warnings);
    EXPECT_EQ(ledger.stored, 0U);
    EXPECT_EQ(ledger.expired, 5U);
    EXPECT_TRUE(ledger.lost.empty());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("epoch 0 expired while it was read"), std::string::npos) << warnings[0];
}

// A compacted block extends beyond the range: only rows of its batches within the range count as missing.
TEST_F(ScanOfCompacted, OfATimeRangeMissesNothing) {
    for (std::uint64_t seq = 1; seq <= 9; ++seq) {
        put(seq);
    }
    compact(9);
    Selection selection;
    const std::int64_t start = sample_session(kTarget, kSession).start_point.utc_ns.value;
    selection.from = UtcNs{start + 4 * kNsPerSecond};
    selection.to = UtcNs{start + 6 * kNsPerSecond};
    const Result<Scan> scan = Scan::open(*store_, selection);
    EXPECT_EQ(rows_of(*scan).size(), 9U);
    std::vector<std::string> warnings;
    EXPECT_EQ(scan->ledger(0, kSamples, warnings).stored, 9U);

    const TamperedStore damaged{*store_, of_samples([](Seq, std::string_view bytes) {
                                    std::string flipped{bytes};
                                    flipped.back() = static_cast<char>(flipped.back() ^ 1);
                                    return std::optional{flipped};
                                })};
    const Result<Scan> without = Scan::open(damaged, selection);
    EXPECT_TRUE(rows_of(*without).empty());
    const Ledger ledger = without->ledger(0, kSamples, warnings);
    EXPECT_EQ(ledger.stored, 0U);
    EXPECT_EQ(ledger.lost.at("damaged"), 9U);
}

// Nothing unread counts as damaged.
TEST_F(ScanOfCompacted, StopsWhereNoMoreIsPulled) {
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        put(seq);
    }
    const Result<Scan> scan = Scan::open(*store_, {});
    RowCursor rows{*scan, 0, kSamples, {}};
    EXPECT_EQ(rows.next()->first_seq, Seq{1});
    EXPECT_EQ(rows.next()->first_seq, Seq{2});
    expect_nothing_damaged(*scan);
}

// An hour whose retention class changed in the middle.
TEST_F(ScanOfCompacted, AnEpochMayStandInTwoPartitions) {
    put(1);
    put(2);
    partition_ = partition_of(kTarget, kBucket, 1);
    ASSERT_TRUE(store_->define(partition_, sample_session(kTarget, kSession)).ok());
    put(3);
    const Result<Scan> scan = Scan::open(*store_, {});
    EXPECT_EQ(rows_of(*scan), rows_of_batches({1, 2, 3}));
}

TEST_F(ScanOfCompacted, GivesEachBlockToOneOfItsWorkers) {
    constexpr std::uint64_t kBlocks = 200;
    for (std::uint64_t seq = 1; seq <= kBlocks; ++seq) {
        put(seq);
    }
    const Result<Scan> scan = Scan::open(*store_, {});
    std::atomic<std::uint64_t> row_count{0};
    EXPECT_TRUE(scan->visit_rows_in_parallel(0, EpochNumber{0}, kSamples, CoveredSeqs{}, 2,
                                             [&](unsigned worker, RowBlock& block) {
                                                 EXPECT_LT(worker, 2U);
                                                 row_count += block.row_count;
                                             })
                    .ok());
    EXPECT_EQ(row_count, kBlocks * (kBlocks + 1) / 2);
    expect_nothing_damaged(*scan);
}

// Rows that can't be read are in no batch that the range cuts.
TEST_F(ScanOfCompacted, WhatIsDamagedOfABatchThatTheRangeCutsIsNotStored) {
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    batch.add(kSamples, {{ColumnId::kTime, {1 * kNsPerSecond, 9 * kNsPerSecond}}});
    batch.entry(kSamples, CountName::kProduced, 2);
    ASSERT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    Selection selection;
    selection.from = UtcNs{sample_session(kTarget, kSession).start_point.utc_ns.value + 5 * kNsPerSecond};
    const TamperedStore damaged{*store_, of_samples([](Seq, std::string_view) { return std::nullopt; })};
    std::vector<std::string> warnings;
    const Ledger sound = Scan::open(*store_, selection)->ledger(0, kSamples, warnings);
    EXPECT_EQ(sound.stored, 2U);
    EXPECT_EQ(sound.of_cut_batches, 2U);
    const Result<Scan> scan = Scan::open(damaged, selection);
    EXPECT_TRUE(rows_of(*scan).empty());
    const Ledger ledger = scan->ledger(0, kSamples, warnings);
    EXPECT_EQ(ledger.stored, 0U);
    EXPECT_EQ(ledger.of_cut_batches, 0U);
    EXPECT_EQ(ledger.lost.at("damaged"), 2U);
}

// What a lost log held isn't on its way.
TEST_F(ScanOfCompacted, OfAStoreThatLostALogCallsDamagedWhatIsNotThere) {
    class WithLostLogs : public ForwardingReader {
    public:
        explicit WithLostLogs(const StoreReader& store) : ForwardingReader{store} {}
        bool has_lost_logs() const override { return true; }

    private:
    };
    put(1);
    put(3);
    std::vector<std::string> warnings;
    EXPECT_EQ(Scan::open(*store_, {})->ledger(0, kSamples, warnings).pending, 2U);
    const WithLostLogs store{*store_};
    const Ledger ledger = Scan::open(store, {})->ledger(0, kSamples, warnings);
    EXPECT_EQ(ledger.lost.at("damaged"), 2U);
    EXPECT_TRUE(ledger.is_lower_bound);
}

TEST_F(ScanOfCompacted, OfDefinitionsThatContradictEachOtherTheFirstStandsAndAWarningNamesTheEpoch) {
    for (const char* text : {"one", "other"}) {
        SampleBatch batch{kTarget, kSession, Seq{text[0] == 'o' && text[1] == 'n' ? 1U : 2U}, EpochNumber{0}, kBucket};
        batch.add_strings({{1, text}});
        ASSERT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    }
    const auto scan = Scan::open(*store_, {});
    const auto dictionary = scan->dictionary(0, EpochNumber{0});
    ASSERT_TRUE(dictionary.ok()) << dictionary.error().message;
    EXPECT_EQ((*dictionary)->string(StringNumber{1}), "one");
    std::vector<std::string> warnings;
    static_cast<void>(scan->ledger(0, kSamples, warnings));
    ASSERT_FALSE(warnings.empty());
    EXPECT_NE(warnings.front().find("epoch 0: 1 definitions"), std::string::npos) << warnings.front();
}

TEST(SessionChoice, TheLastIsTheOneThatCameLastHoweverOldItIs) {
    NotedSessions sessions;
    const auto add = [&](std::uint64_t number, std::int64_t start_s, std::int64_t received_s) {
        SessionRecord record = sample_session(TargetId{5}, SessionId{number, 0});
        record.start_point.utc_ns = UtcNs{start_s * kNsPerSecond};
        record.received = UtcNs{received_s * kNsPerSecond};
        sessions.emplace(SessionName{record.target, record.session}, NotedSession{record, {}});
    };
    add(9, 1'700'000'000, 1'700'000'001);
    add(2, 1'500'000'000, 1'700'000'700);  // of a file of long ago
    add(3, 1'700'000'300, 1'700'000'300);
    add(4, 1'700'000'500, 0);  // of a store that doesn't know
    const auto chosen = [&](const std::string& wanted) {
        NotedSessions all = sessions;
        EXPECT_TRUE(choose_session(wanted, all).ok());
        return all.begin()->first.session.high;
    };
    EXPECT_EQ(chosen("last"), 2U);
    EXPECT_EQ(chosen("last~1"), 4U);
    EXPECT_EQ(chosen("last~2"), 3U);
    EXPECT_EQ(chosen("last~3"), 9U);
}

TEST_F(ScanTest, CancelledScanEndsAsCancelled) {
    const std::atomic<bool> cancelled = true;
    MemoryPool pool{limits::kQueryMemorySizeBytes};
    QueryContext context{&pool, cancelled, {}};
    const Result<Scan> scan = Scan::open(*store_, {}, &context);
    ASSERT_FALSE(scan.ok());
    EXPECT_EQ(scan.error().code, ErrorCode::kCancelled);
}

TEST_F(ScanTest, SessionsAreChosenByPrefixAndLast) {
    const auto open = [&](const std::string& session) {
        Selection selection;
        selection.session = session;
        return Scan::open(*store_, selection);
    };
    const std::string second = session_hex(scenario_.sessions[1].record.session);
    const Result<Scan> exact = open(second);
    ASSERT_TRUE(exact.ok());
    ASSERT_EQ(exact->sessions().size(), 1U);
    EXPECT_EQ(exact->sessions()[0].record, scenario_.sessions[1].record);
    EXPECT_TRUE(open("000000000000ABC2").ok());
    EXPECT_EQ(open("0").error().code, ErrorCode::kUsage);
    EXPECT_EQ(open("f").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(open("x").error().code, ErrorCode::kUsage);
    // The first session starts last.
    EXPECT_EQ(open("last")->sessions()[0].record, scenario_.sessions[0].record);
    EXPECT_EQ(open("last~0")->sessions()[0].record, scenario_.sessions[0].record);
    EXPECT_NE(open("last~1")->sessions()[0].record, scenario_.sessions[0].record);
    EXPECT_NE(open("last~2")->sessions()[0].record, open("last~1")->sessions()[0].record);
    EXPECT_EQ(open("last~3").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(open("last~x").error().code, ErrorCode::kUsage);
    EXPECT_EQ(open("last~").error().code, ErrorCode::kUsage);
    const std::unique_ptr<Store> empty = make_memory_store();
    Selection last;
    last.session = "last";
    EXPECT_EQ(Scan::open(*empty, last).error().code, ErrorCode::kNotFound);
}

TEST_F(ScanTest, SessionsAreChosenByNameAndRemovedOnesAreNot) {
    const auto name_of = [&](std::size_t index) {
        const SessionRecord& record = scenario_.sessions[index].record;
        return SessionName{record.target, record.session};
    };
    const auto open = [&](const std::string& session) {
        Selection selection;
        selection.session = session;
        return Scan::open(*store_, selection);
    };
    const SessionRecord newest = open("last")->sessions()[0].record;
    for (std::size_t i = 0; i < scenario_.sessions.size(); ++i) {
        ASSERT_TRUE(store_->name_session(name_of(i), "abc").ok());
    }
    EXPECT_EQ(open("abc")->sessions()[0].record, newest) << "of several the one that began last";
    ASSERT_TRUE(store_->name_session(name_of(1), "second").ok());
    EXPECT_EQ(open("second")->sessions()[0].record, scenario_.sessions[1].record);

    std::uint64_t produced = 0;
    std::vector<std::string> warnings;
    const Result<Scan> before = open("");
    for (std::size_t i = 0; i < before->sessions().size(); ++i) {
        produced += before->ledger(i, std::span<const Kind>{}, warnings).stored;
    }
    const std::vector removed{SessionName{newest.target, newest.session}};
    ASSERT_TRUE(store_->remove_sessions(removed, nullptr).ok());
    EXPECT_EQ(open(session_hex(newest.session)).error().code, ErrorCode::kNotFound);
    EXPECT_NE(open("last")->sessions()[0].record, newest);
    const Result<Scan> after = open("");
    ASSERT_EQ(after->sessions().size(), before->sessions().size()) << "its ledger is told";
    std::uint64_t explained = 0;
    for (std::size_t i = 0; i < after->sessions().size(); ++i) {
        const Ledger ledger = after->ledger(i, std::span<const Kind>{}, warnings);
        explained += ledger.stored + ledger.expired;
        EXPECT_EQ(after->sessions()[i].note.is_removed, after->sessions()[i].record == newest);
    }
    EXPECT_EQ(explained, produced);
}

// Counts how often a partition's list of sessions is read.
class CountedLists : public ForwardingReader {
public:
    explicit CountedLists(const StoreReader& store) : ForwardingReader{store} {}

    Result<std::vector<SessionName>> session_names(const Partition& partition) const override {
        ++list_count;
        return ForwardingReader::session_names(partition);
    }
    Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                               const std::function<Visit(const BatchRecord&)>& visitor) const override {
        auto visited = ForwardingReader::visit_batches(partition, target, session, visitor);
        return partition == damaged && visited.ok() ? Error{ErrorCode::kCorrupt, "damaged on purpose"}
                                                    : std::move(visited);
    }

    mutable int list_count = 0;
    std::optional<Partition> damaged;
};

TEST(ScanOfAFleet, FewSessionsAreFoundWithoutListsOfAll) {
    // A shard of twenty targets, and one of another; each third has rows in the second hour, too.
    constexpr BucketNumber kHour{480'000};
    const auto store = make_memory_store();
    std::vector<TargetId> targets{TargetId{8}};
    for (std::uint64_t i = 0; i < 20; ++i) {
        targets.push_back(TargetId{7 + i * limits::kShardsDefault});
    }
    std::size_t batch_count = 0;
    for (const TargetId target : targets) {
        for (std::uint32_t hour = 0; hour < (target.value % 3 == 0 ? 2 : 1); ++hour) {
            const SessionId session{target.value, 1};
            const BucketNumber bucket{kHour.value + hour};
            const Partition partition = partition_of(target, bucket);
            ASSERT_TRUE(store->define(partition, sample_session(target, session)).ok());
            SampleBatch batch{target, session, Seq{hour + 1}, EpochNumber{hour}, bucket};
            batch.add(kSamples, {{ColumnId::kTime, {1'000, 2'000}}});
            ASSERT_TRUE(store->put(partition, std::vector{batch.build()}).ok());
            ++batch_count;
        }
    }
    CountedLists counted{*store};
    const auto scan_of = [&](const std::string& select) {
        Selection selection;
        selection.matchers = *parse_matchers(select);
        auto scan = Scan::open(counted, selection);
        EXPECT_TRUE(scan.ok());
        return std::move(*scan);
    };
    for (const TargetId target : targets) {
        const Scan scan = scan_of("{target=\"target-" + std::to_string(target.value) + "\"}");
        ASSERT_EQ(scan.sessions().size(), 1U);
        EXPECT_EQ(scan.sessions()[0].batches.size(), target.value % 3 == 0 ? 2U : 1U) << target.value;
        EXPECT_EQ(scan.sessions()[0].partitions.front(), partition_of(target, kHour));
    }
    EXPECT_EQ(counted.list_count, 0);
    const Scan all = scan_of("");
    EXPECT_EQ(counted.list_count, 2);  // of the great shard, an hour each
    std::size_t found = 0;
    for (const ScannedSession& session : all.sessions()) {
        found += session.batches.size();
    }
    EXPECT_EQ(found, batch_count);

    // Damage in an hour without the session isn't the session's damage.
    counted.damaged = partition_of(TargetId{7}, BucketNumber{kHour.value + 1});
    EXPECT_FALSE(scan_of("{target=\"target-7\"}").sessions()[0].is_damaged);
    EXPECT_TRUE(scan_of("{target=\"target-39\"}").sessions()[0].is_damaged);
}

TEST_F(ScanTest, BlocksOutsideTheTimeRangeAreNotRead) {
    Selection selection;
    selection.session = session_hex(scenario_.sessions[2].record.session);
    const std::int64_t start = scenario_.sessions[2].record.start_point.utc_ns.value;
    selection.from = UtcNs{start + static_cast<std::int64_t>(kScenarioEpochTicks)};
    selection.to = UtcNs{start + static_cast<std::int64_t>(2 * kScenarioEpochTicks)};
    const Result<Scan> scan = Scan::open(*store_, selection);
    EXPECT_FALSE(scan->has_rows(0, EpochNumber{0}, kSamples));
    EXPECT_TRUE(scan->has_rows(0, EpochNumber{1}, kSamples));
    EXPECT_FALSE(scan->has_rows(0, EpochNumber{2}, kSamples));
    EXPECT_TRUE(scan->has_rows(0, EpochNumber{0}, {Kind::kTask, kNoEvent}));
    std::uint64_t expected = 0;
    for (const ScenarioSample& sample : scenario_.sessions[2].epochs[1].samples) {
        expected += sample.event == 0 ? 1 : 0;
    }
    EXPECT_EQ(*count_samples(*store_, selection), expected);
}

TEST_F(ScanTest, ReadsTheDictionaryOfEachEpoch) {
    const Result<Scan> scan = Scan::open(*store_, {});
    for (std::size_t i = 0; i < scan->sessions().size(); ++i) {
        for (const EpochNumber epoch : scan->sessions()[i].epochs) {
            const auto dictionary = scan->dictionary(i, epoch);
            ASSERT_TRUE(dictionary.ok()) << dictionary.error().message;
            EXPECT_GT((*dictionary)->stack_count(), 10U);
        }
    }
}

}  // namespace
}  // namespace perfleet::scan_test
