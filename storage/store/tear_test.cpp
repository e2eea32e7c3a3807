// A store whose engine dies between any two writes: the state then is consistent, and doing everything again ends
// as if nothing had happened.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/engine/testing/tearing_engine.h"
#include "storage/key/key_bytes.h"
#include "storage/store/keyed_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::tear_test {
namespace {

constexpr TargetId kTarget{17};
constexpr TargetId kNeighbour{33};  // of the same shard
constexpr TargetId kStranger{2};    // of another one
constexpr SessionId kSession{0xabc, 0xdef};
constexpr BucketNumber kBucket{480'000};
constexpr BucketNumber kNextBucket{480'001};
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};
constexpr std::uint64_t kRows = 3;

using Disk = TearingEngine::Disk;
using Step = std::function<Result<Done>(Store&)>;

std::unique_ptr<Store> open(const std::shared_ptr<Disk>& disk, Guard guard = 0) {
    auto store = open_keyed_store(std::make_unique<TearingEngine>(disk), "a test's", {}, guard);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return store.ok() ? std::move(*store) : nullptr;
}

Step define(TargetId target, BucketNumber bucket) {
    return [=](Store& store) { return store.define(partition_of(target, bucket), sample_session(target, kSession)); };
}

AdmittedBatch batch(TargetId target, BucketNumber bucket, std::uint64_t seq) {
    SampleBatch made{target, kSession, Seq{seq}, EpochNumber{bucket.value - kBucket.value}, bucket};
    made.add(kSeries, {{ColumnId::kTime, std::vector<std::uint64_t>(kRows, seq)}});
    return made.build();
}

Step put(BucketNumber bucket, const std::vector<std::pair<TargetId, std::uint64_t>>& names) {
    return [=](Store& store) -> Result<Done> {
        std::vector<AdmittedBatch> batches;
        for (const auto& [target, seq] : names) {
            batches.push_back(batch(target, bucket, seq));
        }
        auto outcomes = store.put(partition_of(names.front().first, bucket), batches);
        return outcomes.ok() ? Result<Done>{Done{}} : outcomes.error();
    };
}

Result<Done> drop(Store& store) { return store.drop(partition_of(kTarget, kBucket)); }

Result<Done> remove(Store& store) {
    auto removed = store.remove_sessions(std::vector<SessionName>{{kTarget, kSession}}, nullptr);
    return removed.ok() ? Result<Done>{Done{}} : removed.error();
}

Result<Done> advance(Store& store) {
    return store.advance_watermarks(std::vector<SessionPrefix>{
        {kTarget, kSession, Seq{2}}, {kNeighbour, kSession, Seq{1}}, {kStranger, kSession, Seq{1}}});
}

std::vector<Step> life() {
    return {define(kTarget, kBucket),
            define(kNeighbour, kBucket),
            define(kStranger, kBucket),
            put(kBucket, {{kTarget, 1}, {kNeighbour, 1}, {kTarget, 2}}),
            put(kBucket, {{kStranger, 1}}),
            advance,
            define(kTarget, kNextBucket),
            define(kNeighbour, kNextBucket),
            put(kBucket, {{kTarget, 3}}),  // above the watermark when its partition is dropped
            put(kNextBucket, {{kTarget, 4}, {kNeighbour, 2}}),
            drop,
            put(kBucket, {{kNeighbour, 3}}),  // comes too late
            [](Store& store) {
                return store.put_image("build-id", {1, "content"});
            },
            remove,
            put(kNextBucket, {{kTarget, 5}, {kNeighbour, 4}}),  // one expires, one doesn't
            [](Store& store) {
                return store.end_session(kNeighbour, kSession, {Seq{4}, {}, {}, {}});
            },
            [](Store& store) { return store.sync(); }};
}

std::map<std::string, std::string> content(const Disk& disk) {
    std::map<std::string, std::string> content;
    EXPECT_TRUE(disk.engine
                    .visit(everything(),
                           [&](std::string_view key, std::string_view value) {
                               content.emplace(key, value);
                               return Visit::kContinue;
                           })
                    .ok());
    return content;
}

// As many of a session's batches are in partitions, and as many rows expired, as it has put: no query counts one twice,
// or none. What a removed session still has in partitions isn't looked for.
void expect_each_row_once(const Store& store, TargetId target, std::uint64_t batches_put) {
    const auto notes = store.session_notes();
    const auto note = notes->find({target, kSession});
    const bool is_removed = note != notes->end() && note->second.is_removed;
    std::uint64_t rows = 0;
    for (const Partition& partition : is_removed ? std::vector<Partition>{} : *store.partitions()) {
        EXPECT_TRUE(store
                        .visit_batches(partition, target, kSession,
                                       [&](const BatchRecord& record) {
                                           rows += record.rows.front().row_count;
                                           return Visit::kContinue;
                                       })
                        .ok());
    }
    const auto expired = store.expired(target, kSession);
    for (const auto& [series, row_count] : *expired) {
        rows += row_count;
    }
    EXPECT_EQ(rows, batches_put * kRows);
}

// Removing the session finds everything of it.
void expect_partitions_are_listed(const Disk& disk) {
    for (const auto& [key, value] : content(disk)) {
        const auto session = decode_partition_session_key(key);
        if (session.ok() && !content(disk).contains(dropped_key(session->partition))) {
            EXPECT_TRUE(content(disk).contains(
                session_partition_key(session->name.target, session->name.session, session->partition)))
                << describe_key(key);
        }
    }
}

TEST(TornStore, IsConsistentAfterEachWriteAndEndsTheSameWhenAllIsDoneAgain) {
    const auto whole = std::make_shared<Disk>();
    for (int round = 0; round < 2; ++round) {
        const auto store = open(whole);
        for (const Step& step : life()) {
            ASSERT_TRUE(step(*store).ok());
        }
        expect_each_row_once(*store, kTarget, 5);
        expect_each_row_once(*store, kNeighbour, 4);
        expect_each_row_once(*store, kStranger, 1);
    }
    ASSERT_GT(whole->write_count, life().size()) << "some steps take several domains";
    for (std::uint64_t writes = 1; writes < whole->write_count; ++writes) {
        SCOPED_TRACE("killed after " + std::to_string(writes) + " writes");
        const auto disk = std::make_shared<Disk>();
        disk->writes_left = writes;
        std::size_t steps_done = 0;
        {
            auto store = open_keyed_store(std::make_unique<TearingEngine>(disk), "a test's");  // dies maybe here
            const std::vector<Step> steps = life();
            while (store.ok() && steps_done < steps.size() && steps[steps_done](**store).ok()) {
                ++steps_done;
            }
        }
        disk->writes_left = whole->write_count * 2;
        const auto store = open(disk);
        expect_partitions_are_listed(*disk);
        if (steps_done > 9 && steps_done < 11) {  // drop or nothing: all batches but the late ones were put
            expect_each_row_once(*store, kTarget, 4);
            expect_each_row_once(*store, kNeighbour, 2);
        }
        if (steps_done == 13) {  // the removal was torn
            expect_each_row_once(*store, kTarget, 4);
            expect_each_row_once(*store, kNeighbour, 3);
        }
        for (int round = 0; round < 2; ++round) {
            for (const Step& step : life()) {
                ASSERT_TRUE(step(*store).ok());
            }
        }
        EXPECT_EQ(content(*disk), content(*whole));
    }
}

TEST(TornStore, RefusesWritesUnderAnotherGuardThanTheLeases) {
    const auto disk = std::make_shared<Disk>();
    disk->lease = 7;
    const auto store = open(disk, 7);
    ASSERT_TRUE(define(kTarget, kBucket)(*store).ok());
    disk->lease = 8;
    const auto before = content(*disk);
    for (const Step& step : {put(kBucket, {{kTarget, 1}}), define(kNeighbour, kBucket), Step{drop}, Step{remove}}) {
        const auto refused = step(*store);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    }
    EXPECT_EQ(content(*disk), before);
}

TEST(TearingEngine, WritesOneDomainOfSeveralAndSaysWhichKeyIsOfAnother) {
    const auto disk = std::make_shared<Disk>();
    TearingEngine engine{disk};
    const Partition partition = partition_of(kTarget, kBucket);
    Changes changes;
    changes.puts.push_back({compacted_key(partition), "0"});
    changes.puts.push_back({session_key(Table::kWatermark, kTarget, kSession), "1"});
    auto written = engine.write(domain_of(partition), 0, changes);
    ASSERT_FALSE(written.ok());
    EXPECT_NE(written.error().message.find("watermark"), std::string::npos) << written.error().message;
    EXPECT_EQ(content(*disk).size(), 1U);
}

}  // namespace
}  // namespace perfleet::tear_test
