// A store whose reads fail, or find damage.
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/testing/fragile_store.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::keyed_store_test {
namespace {

using UnreadableStore = KeyedStore;

TEST_F(UnreadableStore, SaysSoWhereAnyOfItsReadsFails) {
    const SessionName name{kTarget, kSession};
    const std::vector sessions{name};
    const std::vector batches{test_writer::batch(Seq{3})};
    const Partition next = partition_of(kTarget, BucketNumber{kBucket.value + 1});
    const auto step = [](const CompactionStep&) { return Visit::kContinue; };
    const auto no_record = [](const BatchRecord&) { return Visit::kContinue; };
    const auto no_block = [](const BlockKey&, std::string_view) { return Visit::kContinue; };
    const auto code_of = [](const auto& result) {
        return result.ok() ? std::optional<ErrorCode>{} : std::optional{result.error().code};
    };
    using Operation = std::function<std::optional<ErrorCode>()>;
    const std::vector<std::pair<std::string, Operation>> operations{
        {"define", [&] { return code_of(store_->define(next, test_writer::session())); }},
        {"put", [&] { return code_of(store_->put(test_writer::partition(), batches)); }},
        {"advance", [&] { return code_of(store_->advance_watermark(kTarget, kSession, Seq{2})); }},
        {"end", [&] { return code_of(store_->end_session(kTarget, kSession, {})); }},
        {"name", [&] { return code_of(store_->name_session(name, "a name")); }},
        {"image",
         [&] {
             return code_of(store_->put_image("another", {1, "x"}));
         }},
        {"drop", [&] { return code_of(store_->drop(test_writer::partition())); }},
        {"remove", [&] { return code_of(store_->remove_sessions(sessions, nullptr)); }},
        {"images", [&] { return code_of(store_->remove_unused_images()); }},
        {"compact", [&] { return code_of(store_->compact(kMuchLater, step)); }},
        {"partitions", [&] { return code_of(store_->partitions()); }},
        {"sessions", [&] { return code_of(store_->sessions(test_writer::partition())); }},
        {"all sessions", [&] { return code_of(store_->all_sessions()); }},
        {"notes", [&] { return code_of(store_->session_notes()); }},
        {"size", [&] { return code_of(store_->session_size_bytes(name)); }},
        {"expired", [&] { return code_of(store_->expired(kTarget, kSession)); }},
        {"last", [&] { return code_of(store_->last_expired_bucket(kTarget, kSession)); }},
        {"class", [&] { return code_of(store_->retention_class(kTarget, kSession, next.bucket)); }},
        {"batches",
         [&] { return code_of(store_->visit_batches(test_writer::partition(), kTarget, kSession, no_record)); }},
        {"blocks",
         [&] {
             return code_of(visit_blocks(*store_, test_writer::partition(), kTarget, kSession, kSeries, no_block));
         }},
    };
    for (const auto& [what, operation] : operations) {
        for (std::uint64_t read = 0;; ++read) {
            SCOPED_TRACE(what + ", read " + std::to_string(read));
            shared_ = std::make_shared<FragileEngine::Shared>();
            SetUp();
            ASSERT_TRUE(put(1).ok() && put(2).ok());
            ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
            ASSERT_TRUE(store_->put_image("unused", {1, "x"}).ok());
            open();
            shared_->reads_until_failure = read;
            const auto code = operation();
            if (shared_->reads_until_failure <= read) {  // it has made fewer
                EXPECT_EQ(code, std::nullopt);
                EXPECT_GT(read, 0U);
                break;
            }
            EXPECT_EQ(code, ErrorCode::kUnavailable);
        }
    }
}

TEST_F(UnreadableStore, NamesTheKeyOfADamagedValueAndReadsTheOthers) {
    for (const std::uint64_t seq : {1U, 2U, 3U}) {
        ASSERT_TRUE(put(seq).ok());
    }
    const std::string key = partition_batch_key(test_writer::partition(), {kTarget, kSession, Seq{2}});
    std::string value = value_of(key);
    value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 1);
    damage(key, value);
    std::vector<std::uint64_t> seqs;
    auto visited = store_->visit_batches(test_writer::partition(), kTarget, kSession, [&](const BatchRecord& record) {
        seqs.push_back(record.seq.value);
        return Visit::kContinue;
    });
    ASSERT_FALSE(visited.ok());
    EXPECT_EQ(visited.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(visited.error().message.find("batch of target 0000000000000011"), std::string::npos)
        << visited.error().message;
    EXPECT_NE(visited.error().message.find("seq 2"), std::string::npos) << visited.error().message;
    EXPECT_EQ(seqs, (std::vector<std::uint64_t>{1, 3}));
    int block_count = 0;
    ASSERT_TRUE(visit_blocks(*store_, test_writer::partition(), kTarget, kSession, kSeries,
                             [&](const BlockKey&, std::string_view) {
                                 ++block_count;
                                 return Visit::kContinue;
                             })
                    .ok());
    EXPECT_EQ(block_count, 3);
    ASSERT_TRUE(store_->drop(test_writer::partition()).ok());
    EXPECT_TRUE(partitions().empty());
    EXPECT_EQ(expired_rows(), 2'000U) << "those of the damaged record can't be counted";
}

// Below the watermark it is resolved, whatever can be read of it: stored again it might be there twice.
TEST_F(UnreadableStore, ARepeatOfABatchWhoseRecordIsDamagedIsADuplicate) {
    for (const std::uint64_t seq : {1U, 2U, 3U}) {
        ASSERT_TRUE(put(seq).ok());
    }
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{2}).ok());
    damage(partition_batch_key(test_writer::partition(), {kTarget, kSession, Seq{2}}), "??????");
    open();
    const auto repeated = put(2);
    ASSERT_TRUE(repeated.ok()) << repeated.error().message;
    EXPECT_EQ(repeated->at(0), PutOutcome::kDuplicate);
    EXPECT_EQ(put(1)->at(0), PutOutcome::kDuplicate);
    EXPECT_EQ(put(3)->at(0), PutOutcome::kDuplicate);
}

TEST_F(UnreadableStore, NamesTheKeyOfEveryDamagedRecord) {
    ASSERT_TRUE(store_->end_session(kTarget, kSession, {}).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    ASSERT_TRUE(store_->put_image("id", {1, "x"}).ok());
    damage(session_key(Table::kSessionEnd, kTarget, kSession), "??????");
    damage(session_key(Table::kWatermark, kTarget, kSession), "");
    damage(session_key(Table::kSession, kTarget, kSession), "??????");
    damage(partition_session_key(test_writer::partition(), kTarget, kSession), "??????");
    damage(expired_key(kTarget, kSession, kSeries, test_writer::partition()), "??????");
    damage(image_key("id"), "??????");
    const std::string session = "session 0000000000000abc0000000000000def";
    const auto end = store_->session_end(kTarget, kSession);
    ASSERT_FALSE(end.ok());
    EXPECT_NE(end.error().message.find("end of target 0000000000000011, " + session), std::string::npos);
    const auto watermark = store_->watermark(kTarget, kSession);
    ASSERT_FALSE(watermark.ok());
    EXPECT_EQ(watermark.error().code, ErrorCode::kTruncated);
    EXPECT_NE(watermark.error().message.find("watermark of"), std::string::npos);
    const auto is_reported = [&](const std::string& what) {
        const std::vector<std::string> damage = store_->damage();
        return std::any_of(damage.begin(), damage.end(),
                           [&](const std::string& text) { return text.find(what) != std::string::npos; });
    };
    const auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_TRUE(all->empty());
    EXPECT_TRUE(is_reported("record of target 0000000000000011, " + session));
    const auto here = store_->sessions(test_writer::partition());
    ASSERT_TRUE(here.ok()) << here.error().message;
    EXPECT_TRUE(here->empty());
    EXPECT_TRUE(is_reported("in partition 480000/0/1"));
    const auto expired = store_->expired(kTarget, kSession);
    ASSERT_FALSE(expired.ok());
    EXPECT_NE(expired.error().message.find("expired rows of series sample/0"), std::string::npos)
        << expired.error().message;
    const auto image = store_->image("id");
    ASSERT_FALSE(image.ok());
    EXPECT_NE(image.error().message.find("image 6964"), std::string::npos) << image.error().message;
}

TEST_F(UnreadableStore, LeavesOutSessionsThatNothingDescribesAndNotesThatAreDamaged) {
    constexpr SessionId kOther{1, 2};
    ASSERT_TRUE(put(1).ok());
    ASSERT_TRUE(store_->define(test_writer::partition(), sample_session(kTarget, kOther)).ok());
    ASSERT_TRUE(store_->name_session({kTarget, kSession}, "a name").ok());
    ASSERT_TRUE(store_->name_session({kTarget, kOther}, "another").ok());
    damage(session_key(Table::kSessionNote, kTarget, kSession), "??????");
    const auto notes = store_->session_notes();
    ASSERT_TRUE(notes.ok()) << notes.error().message;
    EXPECT_EQ(notes->size(), 1U);
    EXPECT_EQ(notes->at({kTarget, kOther}).given_name, "another");

    const auto ids = [&](const Result<std::vector<SessionRecord>>& sessions) {
        EXPECT_TRUE(sessions.ok());
        std::vector<SessionId> found;
        for (const SessionRecord& session : *sessions) {
            found.push_back(session.session);
        }
        return found;
    };
    damage(partition_session_key(test_writer::partition(), kTarget, kSession), "??????");
    EXPECT_EQ(ids(store_->sessions(test_writer::partition())), (std::vector{kOther, kSession}));
    damage(session_key(Table::kSession, kTarget, kSession), "??????");
    EXPECT_EQ(ids(store_->sessions(test_writer::partition())), std::vector{kOther});
    ASSERT_TRUE(shared_->engine
                    .erase({session_key(Table::kSession, kTarget, kSession),
                            session_key(Table::kSession, kTarget, kSession) + '\0'},
                           nullptr)
                    .ok());
    EXPECT_EQ(ids(store_->sessions(test_writer::partition())), std::vector{kOther});
}

TEST_F(UnreadableStore, NamesTheDamageOfItsLists) {
    ASSERT_TRUE(put(1).ok());
    for (const std::string& begin : {all_sessions_range().begin, all_partitions_range().begin}) {
        open();
        shared_->damaged_begin = begin;
        const auto all = store_->all_sessions();
        EXPECT_TRUE(all.ok() && all->size() == 1U);
        EXPECT_EQ(partitions(), std::vector{test_writer::partition()});
        EXPECT_EQ(store_->damage(), std::vector<std::string>{"a damaged file"});
    }
}

TEST_F(UnreadableStore, RemovesNoImageWhileABlockThatMayNameItIsDamaged) {
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    batch.add_images({{0, 0, "named", "/bin/true"}});
    const std::vector batches{batch.build()};
    ASSERT_TRUE(store_->put(test_writer::partition(), batches).ok());
    ASSERT_TRUE(store_->put_image("named", {1, "x"}).ok());
    ASSERT_TRUE(store_->put_image("unused", {1, "x"}).ok());
    const std::string key = block_key({test_writer::partition(), kTarget, kSession, {Kind::kImage, kNoEvent}, Seq{1}});
    const std::string value = value_of(key);
    damage(key, "??????");
    EXPECT_EQ(*store_->remove_unused_images(), 0U);
    damage(key, value);
    shared_->damaged_begin =
        series_blocks_range(test_writer::partition(), kTarget, kSession, {Kind::kImage, kNoEvent}).begin;
    EXPECT_EQ(*store_->remove_unused_images(), 0U) << "not even the key can be read";
    shared_->damaged_begin.clear();
    EXPECT_GT(*store_->remove_unused_images(), 0U);
    EXPECT_TRUE(store_->image("named")->has_value());
    EXPECT_FALSE(store_->image("unused")->has_value());
}

// What another file holds of it may be older.
TEST_F(UnreadableStore, WritesADamagedVersionOfItsFormatAnewWhenItIsOpened) {
    FragileEngine engine{shared_};
    ASSERT_TRUE(shared_->engine.erase(everything(), nullptr).ok());
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    shared_->calls.clear();
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    EXPECT_EQ(shared_->calls, std::vector<std::string>{});
    shared_->damaged_key = format_key();
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    EXPECT_EQ(shared_->calls, (std::vector<std::string>{"write", "sync"}));
}

TEST(NumberOfShards, IsTheStoresOwn) {
    MemoryEngine engine;
    ASSERT_TRUE(prepare_keyed_store(engine, "/data", ShardCount{40}).ok());
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    ASSERT_TRUE(prepare_keyed_store(engine, "/data", ShardCount{40}).ok());
    EXPECT_EQ(shards_of(engine)->value, 40);
    const auto refused = prepare_keyed_store(engine, "/data", ShardCount{41});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_EQ(refused.error().message,
              "/data: has 40 shards, which were chosen when it was created; leave --shards out, or copy it into a new "
              "store of 41 (perfleet copy --shards)");
}

TEST(NumberOfShards, AgreesWithWhatIsStoredWhereItIsLost) {
    const auto found = [](std::uint16_t shards, std::initializer_list<std::uint64_t> targets) {
        MemoryEngine engine;
        EXPECT_TRUE(prepare_keyed_store(engine, "/data", ShardCount{shards}).ok());
        Changes changes;
        changes.deletes.push_back(shards_key());
        const std::string nothing = encode_record(0);
        for (const std::uint64_t target : targets) {
            const Partition partition = partition_of(TargetId{target}, kBucket, 0, ShardCount{shards});
            changes.puts.push_back({session_partition_key(TargetId{target}, kSession, partition), nothing});
        }
        EXPECT_TRUE(engine.write({}, 0, changes).ok());
        EXPECT_TRUE(prepare_keyed_store(engine, "/data").ok());
        const auto number = engine.get(shards_key());
        EXPECT_TRUE(number.ok() && number->has_value());
        return *decode_number_untrusted(**number);
    };
    EXPECT_EQ(found(16, {}), 16U);
    EXPECT_EQ(found(16, {3, 19, 0xdeadbeefULL}), 16U);
    EXPECT_EQ(found(40, {7, 47, 91, 0xdeadbeefULL, 0xfeedULL}), 40U);
    EXPECT_EQ(found(1, {7, 47, 91}), 1U);
}

TEST(NumberOfShards, OfADamagedRecordIsAnErrorThatNamesIt) {
    MemoryEngine engine;
    ASSERT_TRUE(prepare_keyed_store(engine, "/data").ok());
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{limits::kShardsMax} + 1}) {
        const std::string bytes = encode_record(number);
        Changes changes;
        changes.puts.push_back({shards_key(), bytes});
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
        const auto shards = shards_of(engine);
        ASSERT_FALSE(shards.ok());
        EXPECT_EQ(shards.error().code, ErrorCode::kCorrupt);
        EXPECT_NE(shards.error().message.find("number of shards"), std::string::npos) << shards.error().message;
    }
}

TEST(CheckFormat, TellsMissingAndOtherStores) {
    MemoryEngine engine;
    auto none = check_format(engine, "/data");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
    for (const std::uint64_t number : {0ULL, 2ULL, 7ULL}) {
        const std::string version = encode_record(number);
        Changes changes;
        changes.puts.push_back({format_key(), version});
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
        auto checked = check_format(engine, "/data");
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
        EXPECT_EQ(checked.error().message, "/data has store format " + std::to_string(number) +
                                               ", this build reads format 1 only; use the perfleet that wrote it");
    }
}

}  // namespace
}  // namespace perfleet::keyed_store_test
