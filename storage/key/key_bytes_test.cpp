#include "storage/key/key_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace perfleet {
namespace {

constexpr Partition kPartition{BucketNumber{0x01020304}, 5, 0x0607};
constexpr TargetId kTarget{0x1112131415161718};
constexpr SessionId kSession{0x2122232425262728, 0x3132333435363738};
constexpr Series kKeySeries{Kind::kCounter, EventNumber{0x4142}};
constexpr Seq kSeq{0x5152535455565758};

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text.push_back("0123456789abcdef"[static_cast<unsigned char>(byte) >> 4]);
        text.push_back("0123456789abcdef"[static_cast<unsigned char>(byte) & 15]);
    }
    return text;
}

const std::string kSessionHex =
    "1112131415161718"
    "2122232425262728"
    "3132333435363738";

TEST(Key, HasTheGoldenBytes) {
    EXPECT_EQ(format_key(), std::string("\0perfleet store", 15));
    EXPECT_EQ(hex(partition_session_key(kPartition, kTarget, kSession)),
              "01"
              "01020304050607"
              "01" +
                  kSessionHex);
    EXPECT_EQ(hex(partition_batch_key(kPartition, {kTarget, kSession, kSeq})),
              "01"
              "01020304050607"
              "02" +
                  kSessionHex + "5152535455565758");
    EXPECT_EQ(hex(block_key({kPartition, kTarget, kSession, kKeySeries, kSeq})),
              "01"
              "01020304050607"
              "03" +
                  kSessionHex +
                  "064142"
                  "5152535455565758");
    EXPECT_EQ(hex(summary_key({kPartition, kTarget, kSession, kKeySeries, kSeq})),
              "01"
              "01020304050607"
              "05" +
                  kSessionHex +
                  "064142"
                  "5152535455565758");
    EXPECT_EQ(hex(compacted_key(kPartition)), "010102030405060704");
    EXPECT_EQ(hex(dictionary_key(kPartition)), "010102030405060706");
    EXPECT_EQ(hex(stack_map_key({kPartition, kTarget, kSession, EpochNumber{0x61626364}})),
              "010102030405060707" + kSessionHex + "61626364");
    EXPECT_EQ(hex(session_key(Table::kSession, kTarget, kSession)), "02" + kSessionHex);
    EXPECT_EQ(hex(session_key(Table::kSessionEnd, kTarget, kSession)), "03" + kSessionHex);
    EXPECT_EQ(hex(session_key(Table::kWatermark, kTarget, kSession)), "04" + kSessionHex);
    EXPECT_EQ(hex(session_key(Table::kSessionNote, kTarget, kSession)), "0a" + kSessionHex);
    EXPECT_EQ(hex(session_partition_key(kTarget, kSession, kPartition)), "05" + kSessionHex + "01020304050607");
    EXPECT_EQ(hex(expired_key(kTarget, kSession, kKeySeries, kPartition)), "06" + kSessionHex +
                                                                               "064142"
                                                                               "01020304050607");
    EXPECT_EQ(hex(expired_batch_key({kTarget, kSession, kSeq})), "07" + kSessionHex + "5152535455565758");
    EXPECT_EQ(hex(dropped_key(kPartition)),
              "08"
              "01020304050607");
    EXPECT_EQ(hex(image_key("\x61\x62")),
              "09"
              "6162");
}

TEST(Key, GivesBackWhatItWasMadeOf) {
    const auto partition = decode_partition(block_key({kPartition, kTarget, kSession, kKeySeries, kSeq}));
    ASSERT_TRUE(partition.ok());
    EXPECT_EQ(*partition, kPartition);
    const auto dropped = decode_partition(dropped_key(kPartition));
    ASSERT_TRUE(dropped.ok());
    EXPECT_EQ(*dropped, kPartition);
    const auto session = decode_partition_session_key(partition_session_key(kPartition, kTarget, kSession));
    ASSERT_TRUE(session.ok());
    EXPECT_EQ(*session, (PartitionSession{kPartition, {kTarget, kSession}}));
    const auto batch = decode_partition_batch_key(partition_batch_key(kPartition, {kTarget, kSession, kSeq}));
    ASSERT_TRUE(batch.ok());
    EXPECT_EQ(*batch, (PartitionBatch{kPartition, {kTarget, kSession, kSeq}}));
    const BlockKey block{kPartition, kTarget, kSession, kKeySeries, kSeq};
    const auto decoded = decode_block_key(block_key(block));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, block);
    const SummaryKey summary{kPartition, kTarget, kSession, kKeySeries, kSeq};
    const auto decoded_summary = decode_summary_key(summary_key(summary));
    ASSERT_TRUE(decoded_summary.ok());
    EXPECT_EQ(*decoded_summary, summary);
    const StackMapKey map{kPartition, kTarget, kSession, EpochNumber{0x61626364}};
    const auto decoded_map = decode_stack_map_key(stack_map_key(map));
    ASSERT_TRUE(decoded_map.ok());
    EXPECT_EQ(*decoded_map, map);
    for (const Table table : {Table::kSession, Table::kSessionEnd, Table::kWatermark, Table::kSessionNote}) {
        const auto name = decode_session_key(session_key(table, kTarget, kSession));
        ASSERT_TRUE(name.ok());
        EXPECT_EQ(*name, (SessionName{kTarget, kSession}));
    }
    const auto known = decode_session_partition_key(session_partition_key(kTarget, kSession, kPartition));
    ASSERT_TRUE(known.ok());
    EXPECT_EQ(*known, (PartitionSession{kPartition, {kTarget, kSession}}));
    const auto expired_rows = decode_expired_key(expired_key(kTarget, kSession, kKeySeries, kPartition));
    ASSERT_TRUE(expired_rows.ok());
    EXPECT_EQ(expired_rows->series, kKeySeries);
    EXPECT_EQ(expired_rows->partition, kPartition);
    const auto expired = decode_expired_batch_key(expired_batch_key({kTarget, kSession, kSeq}));
    ASSERT_TRUE(expired.ok());
    EXPECT_EQ(*expired, (BatchKey{kTarget, kSession, kSeq}));
}

// Values that are often equal and often differ in one byte, so that every field decides some pairs.
class Random {
public:
    std::uint64_t operator()() {
        switch (engine_() % 4) {
            case 0: return engine_() % 3;
            case 1: return std::uint64_t{1} << (engine_() % 64);
            case 2: return ~(std::uint64_t{1} << (engine_() % 64));
            default: return engine_();
        }
    }
    template <class Integer>
    Integer integer() {
        return static_cast<Integer>((*this)());
    }
    Partition partition() {
        return {BucketNumber{integer<std::uint32_t>()}, integer<std::uint8_t>(), integer<std::uint16_t>()};
    }
    Series series() { return {static_cast<Kind>(1 + engine_() % kKindLast), EventNumber{integer<std::uint16_t>()}}; }
    SessionId session() { return {(*this)(), (*this)()}; }
    bool coin() { return engine_() % 2 == 0; }

private:
    std::mt19937_64 engine_{17};
};

TEST(Key, SortsAsWhatItNames) {
    Random random;
    const auto make_block = [&] {
        return BlockKey{random.partition(), TargetId{random()}, random.session(), random.series(), Seq{random()}};
    };
    for (int round = 0; round < 50'000; ++round) {
        const BlockKey a = make_block();
        BlockKey b = make_block();
        // The longer the part that they share, the later the field that decides.
        switch (round % 6) {
            case 5: b.series = a.series; [[fallthrough]];
            case 4: b.session = a.session; [[fallthrough]];
            case 3: b.target = a.target; [[fallthrough]];
            case 2: b.partition = a.partition; [[fallthrough]];
            default: break;
        }
        EXPECT_EQ(block_key(a) <=> block_key(b), a <=> b);
        const PartitionBatch c{a.partition, {a.target, a.session, a.first_seq}};
        const PartitionBatch d{b.partition, {b.target, b.session, b.first_seq}};
        EXPECT_EQ(partition_batch_key(c.partition, c.key) <=> partition_batch_key(d.partition, d.key), c <=> d);
        EXPECT_EQ(dropped_key(a.partition) <=> dropped_key(b.partition), a.partition <=> b.partition);
        EXPECT_EQ(expired_batch_key(c.key) <=> expired_batch_key(d.key), c.key <=> d.key);
    }
}

bool holds(const KeyRange& range, const std::string& key) { return range.begin <= key && key < range.end; }

TEST(Key, OfAPartitionStandsInItsRangeAndInNoOther) {
    Random random;
    for (int round = 0; round < 20'000; ++round) {
        const Partition here = random.partition();
        const Partition there = random.coin() ? random.partition() : here;
        const TargetId target{random()};
        const SessionId session = random.session();
        const Seq seq{random()};
        for (const std::string& key :
             {partition_session_key(there, target, session), partition_batch_key(there, {target, session, seq}),
              block_key({there, target, session, random.series(), seq})}) {
            EXPECT_EQ(holds(partition_range(here), key), here == there);
            EXPECT_TRUE(holds(all_partitions_range(), key));
        }
        for (const std::string& key :
             {format_key(), session_key(Table::kSession, target, session), session_partition_key(target, session, here),
              expired_key(target, session, random.series(), here), expired_batch_key({target, session, seq}),
              dropped_key(here), image_key("\xff\xff")}) {
            EXPECT_FALSE(holds(all_partitions_range(), key));
            EXPECT_TRUE(holds(everything(), key));
        }
    }
}

TEST(Key, OfASessionStandsInItsRangesAndInNoOther) {
    Random random;
    for (int round = 0; round < 20'000; ++round) {
        const Partition partition = random.partition();
        const TargetId target{random()};
        const SessionId session = random.session();
        const bool is_same = random.coin();
        const TargetId other_target = is_same ? target : TargetId{random()};
        const SessionId other = is_same ? session : random.session();
        const bool is_equal = target == other_target && session == other;
        const Seq seq{random()};
        const Seq first{random()};
        const std::string batch = partition_batch_key(partition, {other_target, other, seq});
        EXPECT_EQ(holds(session_batches_range(partition, target, session, first), batch), is_equal && seq >= first);
        EXPECT_TRUE(holds(partition_batches_range(partition), batch));
        EXPECT_EQ(
            holds(session_expired_batches_range(target, session, first), expired_batch_key({other_target, other, seq})),
            is_equal && seq >= first);
        const Series series = random.series();
        const Series other_series = random.coin() ? series : random.series();
        EXPECT_EQ(holds(series_blocks_range(partition, target, session, series),
                        block_key({partition, other_target, other, other_series, seq})),
                  is_equal && series == other_series);
        EXPECT_EQ(holds(session_expired_range(target, session), expired_key(other_target, other, series, partition)),
                  is_equal);
        EXPECT_EQ(holds(session_buckets_range(target, session, BucketNumber{0}, BucketNumber{~0U}),
                        session_partition_key(other_target, other, partition)),
                  is_equal);
        const BucketNumber bucket{partition.bucket.value + (random.coin() ? 1U : 0U)};
        EXPECT_EQ(
            holds(session_bucket_range(target, session, bucket), session_partition_key(other_target, other, partition)),
            is_equal && bucket == partition.bucket);
        EXPECT_EQ(holds(dropped_bucket_range(bucket), dropped_key(partition)), bucket == partition.bucket);
    }
}

// What is removed with a session: all that a partition has of it, and nothing of its neighbours.
TEST(Key, OfASessionInAPartitionStandsInOneOfItsRanges) {
    const auto keys_of = [](SessionId session) {
        return std::vector{partition_batch_key(kPartition, {kTarget, session, kSeq}),
                           block_key({kPartition, kTarget, session, kKeySeries, kSeq}),
                           stack_map_key({kPartition, kTarget, session, EpochNumber{3}}),
                           summary_key({kPartition, kTarget, session, kKeySeries, kSeq})};
    };
    const std::vector<KeyRange> ranges = session_ranges(kPartition, {kTarget, kSession});
    const auto count = [&](const std::string& key) {
        return std::count_if(ranges.begin(), ranges.end(), [&](const KeyRange& range) { return holds(range, key); });
    };
    for (const std::string& key : keys_of(kSession)) {
        EXPECT_EQ(count(key), 1) << describe_key(key);
    }
    for (const std::string& key : keys_of({kSession.high, kSession.low + 1})) {
        EXPECT_EQ(count(key), 0) << describe_key(key);
    }
    EXPECT_EQ(count(partition_session_key(kPartition, kTarget, kSession)), 0) << "goes last, apart";
    EXPECT_TRUE(holds(series_summaries_range(kPartition, kTarget, kSession, kKeySeries), keys_of(kSession)[3]));
    EXPECT_TRUE(holds(stack_maps_range(kPartition), keys_of(kSession)[2]));
}

TEST(Key, RangesOfBucketsHaveBothTheirEnds) {
    const KeyRange range = session_buckets_range(kTarget, kSession, BucketNumber{5}, BucketNumber{7});
    for (std::uint32_t bucket = 4; bucket <= 8; ++bucket) {
        EXPECT_EQ(holds(range, session_partition_key(kTarget, kSession, {BucketNumber{bucket}, 0xff, 0xffff})),
                  bucket >= 5 && bucket <= 7);
    }
}

// Of the same length as its own, so that nothing else refuses it.
TEST(Key, WithTheNumberOfAnotherTableIsRefused) {
    const auto expect_refused = [](std::string key, std::size_t at, const auto& decode) {
        ASSERT_TRUE(decode(key).ok());
        key[at] = '\x7f';
        EXPECT_FALSE(decode(key).ok()) << describe_key(key);
    };
    const std::string block = block_key({kPartition, kTarget, kSession, kKeySeries, kSeq});
    const std::string summary = summary_key({kPartition, kTarget, kSession, kKeySeries, kSeq});
    for (const std::size_t at : {std::size_t{0}, 1 + sizeof(std::uint32_t) + 1 + sizeof(std::uint16_t)}) {
        expect_refused(block, at, decode_block_key);
        expect_refused(summary, at, decode_summary_key);
        expect_refused(partition_session_key(kPartition, kTarget, kSession), at, decode_partition_session_key);
        expect_refused(partition_batch_key(kPartition, {kTarget, kSession, kSeq}), at, decode_partition_batch_key);
        expect_refused(stack_map_key({kPartition, kTarget, kSession, EpochNumber{3}}), at, decode_stack_map_key);
    }
    expect_refused(block, 0, decode_partition);
    expect_refused(dropped_key(kPartition), 0, decode_partition);
    EXPECT_FALSE(decode_partition(dropped_key(kPartition) + "x").ok());
    expect_refused(session_key(Table::kSessionNote, kTarget, kSession), 0, decode_session_key);
    expect_refused(session_partition_key(kTarget, kSession, kPartition), 0, decode_session_partition_key);
    expect_refused(expired_key(kTarget, kSession, kKeySeries, kPartition), 0, decode_expired_key);
    expect_refused(expired_batch_key({kTarget, kSession, kSeq}), 0, decode_expired_batch_key);
    expect_refused(block, block.size() - sizeof kSeq - sizeof kKeySeries.event - 1, decode_block_key);  // the kind
}

TEST(Key, OfAnotherTableOrLengthIsRefused) {
    const std::string block = block_key({kPartition, kTarget, kSession, kKeySeries, kSeq});
    const std::string batch = partition_batch_key(kPartition, {kTarget, kSession, kSeq});
    EXPECT_FALSE(decode_block_key(batch).ok());
    EXPECT_FALSE(decode_partition_batch_key(block).ok());
    EXPECT_FALSE(decode_session_key(dropped_key(kPartition)).ok());
    EXPECT_FALSE(decode_block_key(block + "x").ok());
    for (std::size_t size = 0; size < block.size(); ++size) {
        const auto decoded = decode_block_key(std::string_view{block}.substr(0, size));
        ASSERT_FALSE(decoded.ok());
        EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
    }
}

TEST(Key, IsDescribedForPeople) {
    EXPECT_EQ(describe_key(block_key({kPartition, kTarget, kSession, kKeySeries, Seq{7}})),
              "block of target 1112131415161718, session 21222324252627283132333435363738, series counter/16706, first "
              "seq 7, in partition 16909060/5/1543");
    EXPECT_NE(describe_key(partition_batch_key(kPartition, {kTarget, kSession, Seq{9}})).find("seq 9"),
              std::string::npos);
    const std::string of_session = " of target 1112131415161718, session 21222324252627283132333435363738";
    const std::string in_partition = ", in partition 16909060/5/1543";
    EXPECT_EQ(describe_key(summary_key({kPartition, kTarget, kSession, kKeySeries, Seq{7}})),
              "summary" + of_session + ", series counter/16706, first seq 7" + in_partition);
    EXPECT_EQ(describe_key(partition_session_key(kPartition, kTarget, kSession)), "record" + of_session + in_partition);
    EXPECT_EQ(describe_key(session_key(Table::kSession, kTarget, kSession)), "record" + of_session);
    EXPECT_EQ(describe_key(session_key(Table::kSessionEnd, kTarget, kSession)), "end" + of_session);
    EXPECT_EQ(describe_key(session_key(Table::kWatermark, kTarget, kSession)), "watermark" + of_session);
    EXPECT_EQ(describe_key(session_key(Table::kSessionNote, kTarget, kSession)), "note" + of_session);
    EXPECT_EQ(describe_key(session_partition_key(kTarget, kSession, kPartition)),
              "partition 16909060/5/1543" + of_session);
    EXPECT_EQ(describe_key(expired_batch_key({kTarget, kSession, Seq{7}})), "expired batch" + of_session + ", seq 7");
    EXPECT_EQ(describe_key(stack_map_key({kPartition, kTarget, kSession, EpochNumber{3}})),
              "map of stacks" + of_session + ", epoch 3" + in_partition);
    EXPECT_EQ(describe_key(compacted_key(kPartition)), "mark of compacted partition 16909060/5/1543");
    EXPECT_EQ(describe_key(dictionary_key(kPartition)), "dictionary of partition 16909060/5/1543");
    EXPECT_EQ(describe_key(dropped_key(kPartition)), "partition 16909060/5/1543, key 0801020304050607");
    EXPECT_EQ(describe_key(format_key()), "format version");
    EXPECT_EQ(describe_key("\x0a"), "the beginning of the sessions' notes");
    EXPECT_EQ(describe_key("\x0b"), "the end of everything");
    EXPECT_EQ(describe_key(image_key("\x0a\xff")), "image 0aff");
    EXPECT_EQ(describe_key("\xff?"), "key ff3f");
    EXPECT_EQ(describe_key(""), "the beginning of everything");
    EXPECT_EQ(describe_key("\2"), "the beginning of the sessions");
    std::mt19937_64 random{19};
    for (int round = 0; round < 20'000; ++round) {
        std::string key(random() % 60, '\0');
        for (char& byte : key) {
            byte = static_cast<char>(random() % 3 == 0 ? random() : random() % 11);
        }
        for (const char letter : describe_key(key)) {
            ASSERT_GE(letter, ' ');
            ASSERT_LE(letter, '~');
        }
    }
}

}  // namespace
}  // namespace perfleet
