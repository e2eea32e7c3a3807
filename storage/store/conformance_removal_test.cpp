// Conformance of engines: sessions that are named and removed.
#include <map>
#include <set>

#include "storage/store/testing/conformance.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::conformance::conformance_removal_test {
namespace {

constexpr SessionId kOther{0xabc, 0xdf0};
constexpr BucketNumber kNext{kBucket.value + 1};
constexpr SessionName kName{kTarget, kSession};
using Expired = std::vector<std::pair<Series, std::uint64_t>>;

class Removal : public StoreConformance {
protected:
    std::uint64_t remove(const std::vector<SessionName>& sessions) {
        auto removed = store_->remove_sessions(sessions, nullptr);
        EXPECT_TRUE(removed.ok()) << removed.error().message;
        return removed.ok() ? *removed : 0;
    }

    Expired expired(SessionId session = kSession) {
        auto rows = store_->expired(kTarget, session);
        EXPECT_TRUE(rows.ok());
        return rows.ok() ? *rows : Expired{};
    }

    bool is_removed(SessionId session = kSession) {
        auto notes = store_->session_notes();
        EXPECT_TRUE(notes.ok());
        return notes.ok() && (*notes)[{kTarget, session}].is_removed;
    }

    std::vector<Partition> partitions() {
        auto found = store_->partitions();
        EXPECT_TRUE(found.ok());
        return found.ok() ? *found : std::vector<Partition>{};
    }
};

TEST_P(Removal, CountsTheRowsOfASessionAsExpiredAndLeavesOthersAlone) {
    define();
    define(kNext);
    define(kBucket, kOther);
    SampleBatch sample{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    sample.add(kSamples, {{ColumnId::kTime, {1, 2, 3}}}).add_strings({{1, "a"}, {2, "b"}});
    put({sample.build(), sample_batch(Seq{2}, {4}), sample_batch(Seq{1}, {1, 2}, kBucket, kOther)});
    put({sample_batch(Seq{3}, {5, 6}, kNext)}, kNext);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{2}).ok());
    ASSERT_TRUE(store_->sync().ok());

    EXPECT_EQ(remove({kName}), 6U);
    for (int round = 0; round < 3; ++round) {
        EXPECT_TRUE(is_removed());
        EXPECT_FALSE(is_removed(kOther));
        EXPECT_EQ(expired(), (Expired{{kSamples, 6}, {{Kind::kString, kNoEvent}, 2}}));
        EXPECT_TRUE(expired(kOther).empty());
        EXPECT_TRUE(seqs().empty());
        EXPECT_TRUE(block_seqs().empty());
        EXPECT_EQ(seqs(kBucket, kOther), Seqs{1});
        EXPECT_EQ(block_seqs(kBucket, kOther), Seqs{1});
        EXPECT_EQ(partitions(), std::vector{partition_in(kBucket)}) << "nothing is left in the other";
        auto here = store_->sessions(partition_in(kBucket));
        ASSERT_TRUE(here.ok());
        EXPECT_EQ(*here, std::vector{sample_session(kTarget, kOther)});
        auto all = store_->all_sessions();
        ASSERT_TRUE(all.ok());
        EXPECT_EQ(all->size(), 2U) << "its ledger goes on";
        if (round == 0) {
            reopen();
        } else {
            EXPECT_EQ(remove({kName}), 0U) << "a second time counts nothing";
        }
    }
}

TEST_P(Removal, CountsWhatComesLaterOnce) {
    define();
    put({sample_batch(Seq{1}, {1})});
    EXPECT_EQ(remove({kName}), 1U);
    for (int round = 0; round < 2; ++round) {
        define();
        define(kNext);
        EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kDuplicate}) << "it was counted";
        EXPECT_EQ(put({sample_batch(Seq{1}, {7})}), Outcomes{PutOutcome::kConflict});
        EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2}, kNext)}, kNext),
                  Outcomes{round == 0 ? PutOutcome::kExpired : PutOutcome::kDuplicate});
        EXPECT_EQ(expired(), (Expired{{kSamples, 3}}));
        EXPECT_TRUE(seqs().empty());
        EXPECT_TRUE(partitions().empty());
        reopen();
    }
    define(kBucket, kOther);
    EXPECT_EQ(put({sample_batch(Seq{1}, {1}, kBucket, kOther)}), Outcomes{PutOutcome::kStored})
        << "the hour goes on for others";
}

TEST_P(Removal, ForgetsWhatTheWriterRememberedOfTheSession) {
    define();
    put({sample_batch(Seq{1}, {1})});
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    EXPECT_EQ(remove({kName}), 1U);
    EXPECT_EQ(put({sample_batch(Seq{2}, {1})}), Outcomes{PutOutcome::kExpired});
    EXPECT_EQ(expired(), (Expired{{kSamples, 2}}));
}

TEST_P(Removal, DeletesWhatWasCompactedAndMadeOfIt) {
    const StoreOptions options{.summaries = SummaryPolicy{.hours_min = 1, .saving = 1},
                               .dictionaries = DictionaryPolicy{.epochs_min = 1, .reuse = 1}};
    TestStores stores{GetParam(), options};
    store_ = stores.open();
    for (const SessionId session : {kSession, kOther}) {
        define(kBucket, session);
        for (std::uint64_t seq = 1; seq <= 5; ++seq) {
            SampleBatch batch{kTarget, session, Seq{seq}, EpochNumber{0}, kBucket};
            batch.add(kSamples, {{ColumnId::kTime, {seq, seq}}, {ColumnId::kStack, {seq, 1}}});
            batch.add_images({{0, 0, "\x12", "/bin/true"}});
            batch.add_stacks({{static_cast<std::uint32_t>(seq), 0, 0, seq}});
            put({batch.build()});
        }
        ASSERT_TRUE(store_->advance_watermark(kTarget, session, Seq{5}).ok());
    }
    const UtcNs over{(std::int64_t{kBucket.value} + 72) * kBucketDurationS * kNsPerSecond};
    ASSERT_TRUE(store_->compact(over, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    ASSERT_EQ(block_seqs(), Seqs{1});
    const auto summaries = [&](SessionId session) {
        std::uint64_t count = 0;
        EXPECT_TRUE(visit_summaries(*store_, partition_in(kBucket), kTarget, session, kSamples,
                                    [&](const SummaryKey&, std::string_view) {
                                        ++count;
                                        return Visit::kContinue;
                                    })
                        .ok());
        return count;
    };
    const auto has_map = [&](SessionId session) {
        auto map = store_->stack_map({partition_in(kBucket), kTarget, session, EpochNumber{0}});
        EXPECT_TRUE(map.ok());
        return map.ok() && map->has_value();
    };
    ASSERT_EQ(summaries(kSession), 1U);
    ASSERT_TRUE(has_map(kSession));

    auto size_before = store_->session_size_bytes(kName);
    ASSERT_TRUE(size_before.ok());
    EXPECT_GT(*size_before, 0U);
    EXPECT_EQ(remove({kName}), 10U);
    auto size_after = store_->session_size_bytes(kName);
    ASSERT_TRUE(size_after.ok());
    EXPECT_EQ(*size_after, 0U);
    EXPECT_TRUE(block_seqs().empty());
    EXPECT_EQ(summaries(kSession), 0U);
    EXPECT_FALSE(has_map(kSession));
    EXPECT_EQ(block_seqs(kBucket, kOther), Seqs{1});
    EXPECT_EQ(summaries(kOther), 1U);
    EXPECT_TRUE(has_map(kOther));
    ASSERT_TRUE(store_->compact(over, [](const CompactionStep&) { return Visit::kContinue; }).ok());

    EXPECT_EQ(remove({{kTarget, kOther}}), 10U);
    EXPECT_TRUE(partitions().empty());
    EXPECT_EQ(store_->partitions_to_compact(), 0U);
    store_.reset();
}

TEST_P(Removal, StaysBesideCompactionThatHadBegun) {
    const StoreOptions options{.compact_batches = 4};
    TestStores stores{GetParam(), options};
    store_ = stores.open();
    define();
    define(kBucket, kOther);
    for (std::uint64_t seq = 1; seq <= 6; ++seq) {
        put({sample_batch(Seq{seq}, {seq}), sample_batch(Seq{seq}, {seq}, kBucket, kOther)});
    }
    for (const SessionId session : {kSession, kOther}) {
        ASSERT_TRUE(store_->advance_watermark(kTarget, session, Seq{6}).ok());
    }
    const UtcNs over{(std::int64_t{kBucket.value} + 3) * kBucketDurationS * kNsPerSecond};
    bool is_removed_now = false;
    ASSERT_TRUE(store_
                    ->compact(over,
                              [&](const CompactionStep&) {
                                  if (!is_removed_now) {
                                      is_removed_now = true;
                                      remove({kName, {kTarget, kOther}});
                                  }
                                  return Visit::kContinue;
                              })
                    .ok());
    EXPECT_TRUE(is_removed_now);
    EXPECT_TRUE(partitions().empty());
    EXPECT_EQ(expired(), (Expired{{kSamples, 6}}));
    EXPECT_EQ(expired(kOther), (Expired{{kSamples, 6}}));
    store_.reset();
}

TEST_P(Removal, OfASessionThatIsNotThereIsAnError) {
    const std::vector sessions{kName};
    auto removed = store_->remove_sessions(sessions, nullptr);
    ASSERT_FALSE(removed.ok());
    EXPECT_EQ(removed.error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(store_->name_session(kName, "a").ok());
}

TEST_P(Removal, KeepsTheNameThatWasGivenLast) {
    define();
    const auto name = [&] {
        auto notes = store_->session_notes();
        EXPECT_TRUE(notes.ok());
        return notes.ok() ? (*notes)[kName].given_name : "";
    };
    ASSERT_TRUE(store_->name_session(kName, "before").ok());
    ASSERT_TRUE(store_->name_session(kName, "with the patch").ok());
    reopen();
    EXPECT_EQ(name(), "with the patch");
    for (const std::string& bad : {std::string{"a\nb"}, std::string{"last"}, std::string{"last~2"}, std::string{" a"},
                                   std::string(kGivenNameSizeBytesMax + 1, 'a')}) {
        auto refused = store_->name_session(kName, bad);
        ASSERT_FALSE(refused.ok()) << bad;
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    }
    EXPECT_EQ(name(), "with the patch");
    ASSERT_TRUE(store_->name_session(kName, "").ok());
    EXPECT_EQ(name(), "");
    ASSERT_TRUE(store_->name_session(kName, "gone").ok());
    remove({kName});
    EXPECT_EQ(name(), "");
}

TEST_P(Removal, LeavesImagesThatOtherSessionsName) {
    const std::string shared = "\x11";
    const std::string own = "\x12";
    for (const SessionId session : {kSession, kOther}) {
        define(kBucket, session);
        SampleBatch batch{kTarget, session, Seq{1}, EpochNumber{0}, kBucket};
        batch.add_images({{0, 0, shared, "/bin/true"}, {1, 0, session == kSession ? own : "", "/bin/false"}});
        put({batch.build()});
    }
    for (const std::string& build_id : {shared, own}) {
        ASSERT_TRUE(store_->put_image(build_id, {1, std::string(1000, 'x')}).ok());
    }
    const auto has = [&](const std::string& build_id) {
        auto image = store_->image(build_id);
        EXPECT_TRUE(image.ok());
        return image.ok() && image->has_value();
    };
    const auto remove_unused = [&] {
        auto removed = store_->remove_unused_images();
        EXPECT_TRUE(removed.ok());
        return removed.ok() ? *removed : 0;
    };
    EXPECT_EQ(remove_unused(), 0U);
    remove({kName});
    EXPECT_GT(remove_unused(), 1000U);
    EXPECT_TRUE(has(shared));
    EXPECT_FALSE(has(own));
    remove({{kTarget, kOther}});
    remove_unused();
    EXPECT_FALSE(has(shared));
}

INSTANTIATE_TEST_SUITE_P(Engines, Removal, testing::ValuesIn(test_engines()),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

}  // namespace
}  // namespace perfleet::conformance::conformance_removal_test
