// Data that compaction deleted, put back beside its result: as after damage, or after a lost file is put back.
#include "storage/read/repeated_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "storage/key/key_bytes.h"
#include "storage/store/testing/fragile_store.h"

namespace perfleet::keyed_store_test {
namespace {

constexpr SessionId kNotCompacted{0xabc, 0xdf0};
constexpr SessionId kDamaged{0xabc, 0xdf1};

class RepeatedRows : public KeyedStore {
protected:
    void put_all(SessionId session, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            const std::vector batches{test_writer::batch(Seq{seq}, session)};
            ASSERT_TRUE(store_->put(test_writer::partition(), batches).ok());
            for (const std::string& key : {block_of(session, seq), record_of(session, seq)}) {
                before_[key] = value_of(key);
            }
        }
    }
    void put_back() {
        for (const auto& [key, value] : before_) {
            if (!has_key(key)) {
                damage(key, value);
            }
        }
    }
    static std::string block_of(SessionId session, std::uint64_t seq) {
        return block_key({test_writer::partition(), kTarget, session, kSeries, Seq{seq}});
    }
    static std::string record_of(SessionId session, std::uint64_t seq) {
        return partition_batch_key(test_writer::partition(), {kTarget, session, Seq{seq}});
    }

    std::map<std::string, std::string> before_;
};

TEST_F(RepeatedRows, AreInTheCompactedBlockBefore) {
    for (const SessionId session : {kNotCompacted, kDamaged}) {
        ASSERT_TRUE(store_->define(test_writer::partition(), sample_session(kTarget, session)).ok());
    }
    put_all(kSession, 1, 4);
    put_all(kNotCompacted, 1, 8);
    put_all(kDamaged, 1, 4);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{4}).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kDamaged, Seq{4}).ok());
    compact();
    put_all(kSession, 5, 8);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{8}).ok());
    compact(UtcNs{kMuchLater.value + 10 * kBucketDurationS * kNsPerSecond});
    ASSERT_FALSE(has_key(block_of(kSession, 8)));
    put_back();
    std::string compacted = value_of(block_of(kDamaged, 1));
    compacted.back() = static_cast<char>(compacted.back() ^ 1);
    damage(block_of(kDamaged, 1), compacted);

    RepeatedBlocks repeated{shared_->engine};
    std::map<SessionId, std::vector<std::uint64_t>> shown;
    const auto on_key = [&](std::string_view key, std::string_view value) {
        if (const auto block = decode_block_key(key); block.ok()) {
            const auto is_repeated = repeated.take(*block, value);
            EXPECT_TRUE(is_repeated.ok());
            if (!*is_repeated) {
                shown[block->session].push_back(block->first_seq.value);
            }
        }
        return Visit::kContinue;
    };
    ASSERT_TRUE(shared_->engine.visit(partition_range(test_writer::partition()), on_key).ok());
    EXPECT_EQ(shown[kSession], (std::vector<std::uint64_t>{1, 5}));
    EXPECT_EQ(shown[kNotCompacted], (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(shown[kDamaged], (std::vector<std::uint64_t>{1, 2, 3, 4})) << "what is in the block isn't known";

    std::vector<std::uint64_t> seqs;
    ASSERT_TRUE(store_
                    ->visit_batches(test_writer::partition(), kTarget, kSession,
                                    [&](const BatchRecord& record) {
                                        seqs.push_back(record.seq.value);
                                        return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_EQ(seqs, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace perfleet::keyed_store_test
