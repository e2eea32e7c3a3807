// Conformance of engines: dictionaries of partitions that compact() makes.
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "storage/dictionary/partition_dictionary.h"
#include "storage/limits/store_limits.h"
#include "storage/model/row_cover.h"
#include "storage/store/testing/conformance.h"

namespace perfleet::conformance::dictionary_maker_test {
namespace {

constexpr std::int64_t kHourNs = kBucketDurationS * kNsPerSecond;
constexpr UtcNs kLater{(std::int64_t{kBucket.value} + 100) * kHourNs};
constexpr std::uint32_t kNodes = 12;
constexpr std::uint64_t kSessions = 6;

SessionId session_of(std::uint64_t number) { return {number, 7}; }
TargetId target_of(std::uint64_t number) { return TargetId{kTarget.value + number * limits::kShardsDefault}; }

using Stored = std::map<std::string, std::string>;

class StoreDictionaries : public testing::TestWithParam<TestEngine> {
protected:
    void SetUp() override { open({.epochs_min = 3, .reuse = 2}); }

    void open(const DictionaryPolicy& policy) {
        StoreOptions options;
        options.dictionaries = policy;
        store_.reset();
        stores_ = std::make_unique<TestStores>(GetParam(), options);
        store_ = stores_->open();
        ASSERT_NE(store_, nullptr);
        counts_ = {};
    }

    // A batch of a session with a row and definitions: of numbers from `first` on, of which `own` belong to it alone.
    void put(std::uint64_t number, std::uint64_t seq, std::uint32_t first = 1, std::uint32_t own = 0) {
        const TargetId target = target_of(number);
        const SessionId session = session_of(number);
        ASSERT_TRUE(store_->define(partition_in(kBucket), sample_session(target, session)).ok());
        SampleBatch batch{target, session, Seq{seq}, EpochNumber{2}, kBucket};
        batch.add(kSamples, {{ColumnId::kTime, {seq}}, {ColumnId::kStack, {first}}});
        if (first == 1) {
            batch.add_images({{0, 2, std::string(20, 'a'), "/bin/a"}});
        }
        std::vector<SampleBatch::Stack> stacks;
        for (std::uint32_t i = 0; i < kNodes; ++i) {
            const std::uint64_t offset = i < own ? number << 32U | i : 0x1000 + first * 16 + i;
            stacks.push_back({first + i, i % 4 == 0 ? 0 : first + i - 1, 0, offset});
        }
        batch.add_stacks(stacks);
        const std::vector batches{batch.build()};
        ASSERT_TRUE(store_->put(partition_in(kBucket), batches).ok());
        last_seqs_[number] = std::max(last_seqs_[number], seq);
    }

    void put_all(std::uint32_t own = 0) {
        for (std::uint64_t number = 1; number <= kSessions; ++number) {
            put(number, 1, 1, own);
        }
    }

    // Up to the last batch of each. `steps_max`: stopped behind so many.
    void compact(int hours_later = 0, std::uint64_t steps_max = ~0ULL) {
        for (const auto& [number, seq] : last_seqs_) {
            ASSERT_TRUE(store_->advance_watermark(target_of(number), session_of(number), Seq{seq}).ok());
        }
        const auto compacted =
            store_->compact(UtcNs{kLater.value + hours_later * kHourNs}, [&](const CompactionStep& step) {
                counts_.dictionaries += step.dictionaries;
                counts_.stack_maps += step.stack_maps;
                counts_.map_bytes += step.map_bytes;
                counts_.epochs_left += step.epochs_left;
                return --steps_max == 0 ? Visit::kStop : Visit::kContinue;
            });
        ASSERT_TRUE(compacted.ok()) << compacted.error().message;
    }

    [[nodiscard]] std::optional<PartitionDictionary> dictionary(std::uint32_t* checksum = nullptr) const {
        const auto bytes = store_->dictionary(partition_in(kBucket));
        EXPECT_TRUE(bytes.ok());
        if (!bytes.ok() || !bytes->has_value()) {
            return std::nullopt;
        }
        const auto decoded = decode_dictionary_untrusted(**bytes);
        EXPECT_TRUE(decoded.ok()) << decoded.error().message;
        if (checksum != nullptr) {
            *checksum = dictionary_checksum(**bytes);
        }
        return decoded.ok() ? std::optional{*decoded} : std::nullopt;
    }

    [[nodiscard]] std::optional<StackMap> map_of(std::uint64_t number) const {
        const auto bytes =
            store_->stack_map({partition_in(kBucket), target_of(number), session_of(number), EpochNumber{2}});
        EXPECT_TRUE(bytes.ok());
        if (!bytes.ok() || !bytes->has_value()) {
            return std::nullopt;
        }
        const auto decoded = decode_stack_map_untrusted(**bytes);
        EXPECT_TRUE(decoded.ok()) << decoded.error().message;
        return decoded.ok() ? std::optional{*decoded} : std::nullopt;
    }

    // The dictionary and all maps into it.
    [[nodiscard]] Stored stored() const {
        Stored all;
        if (const auto bytes = store_->dictionary(partition_in(kBucket)); bytes.ok() && bytes->has_value()) {
            all["dictionary"] = **bytes;
        }
        for (const auto& [number, seq] : last_seqs_) {
            const auto bytes =
                store_->stack_map({partition_in(kBucket), target_of(number), session_of(number), EpochNumber{2}});
            if (bytes.ok() && bytes->has_value()) {
                all[std::to_string(number)] = **bytes;
            }
        }
        return all;
    }

    std::unique_ptr<TestStores> stores_;
    std::unique_ptr<Store> store_;
    std::map<std::uint64_t, std::uint64_t> last_seqs_;
    CompactionStep counts_;
};

TEST_P(StoreDictionaries, TellOnceWhatSessionsHaveInCommon) {
    put_all(4);
    compact();
    std::uint32_t checksum = 0;
    const auto made = dictionary(&checksum);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->images.size(), 1U);
    EXPECT_EQ(made->nodes.size(), kNodes - 4 + kSessions * 4);
    for (std::uint64_t number = 1; number <= kSessions; ++number) {
        const auto map = map_of(number);
        ASSERT_TRUE(map);
        EXPECT_EQ(map->dictionary_checksum, checksum);
        EXPECT_EQ(map->definitions, (RowCover{EpochNumber{2}, kNodes + 1, {{Seq{1}, Seq{1}}}}));
        EXPECT_EQ(map->nodes.size(), kNodes + 1);
        EXPECT_EQ(map->nodes[5], map_of(1)->nodes[5]);
        EXPECT_EQ(map->nodes[1] == map_of(1)->nodes[1], number == 1);
    }
    EXPECT_EQ(counts_.dictionaries, 1U);
    EXPECT_EQ(counts_.stack_maps, kSessions);
    EXPECT_EQ(counts_.epochs_left, 0U);
    std::size_t size_bytes = 0;
    for (const auto& [name, bytes] : stored()) {
        size_bytes += bytes.size();
    }
    EXPECT_GT(counts_.map_bytes, size_bytes);  // and keys
    const Stored before = stored();
    compact(10);
    store_ = stores_->reopen(std::move(store_));
    compact(20);
    EXPECT_EQ(counts_.stack_maps, kSessions);
    EXPECT_EQ(stored(), before);
}

TEST_P(StoreDictionaries, AreMadeAgainForWhatCameLate) {
    put_all();
    compact();
    const Stored before = stored();
    put(3, 2, kNodes + 1);
    EXPECT_EQ(stored(), before);  // readers see that it isn't of all that session 3 defines
    compact(10);
    std::uint32_t checksum = 0;
    const auto made = dictionary(&checksum);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->nodes.size(), 2 * kNodes);
    for (std::uint64_t number = 1; number <= kSessions; ++number) {
        EXPECT_EQ(map_of(number)->dictionary_checksum, checksum);
    }
    EXPECT_EQ(map_of(3)->definitions.seqs, (std::vector<SeqRange>{{Seq{1}, Seq{2}}}));
    EXPECT_EQ(counts_.dictionaries, 2U);
    EXPECT_EQ(counts_.stack_maps, 2 * kSessions);
    // A batch without definitions changes nothing.
    SampleBatch batch{target_of(1), session_of(1), Seq{2}, EpochNumber{2}, kBucket};
    batch.add(kSamples, {{ColumnId::kTime, {5}}});
    ASSERT_TRUE(store_->put(partition_in(kBucket), std::vector{batch.build()}).ok());
    last_seqs_[1] = 2;
    compact(20);
    EXPECT_EQ(counts_.stack_maps, 2 * kSessions);
}

TEST_P(StoreDictionaries, ArentKeptWhereTheyWouldSaveLittle) {
    put_all(kNodes);  // nothing in common
    compact();
    EXPECT_TRUE(stored().empty());
    EXPECT_EQ(counts_.epochs_left, kSessions);
    open({.epochs_min = kSessions + 1, .reuse = 1});
    put_all();
    compact();
    EXPECT_TRUE(stored().empty());
    EXPECT_EQ(counts_.epochs_left, kSessions);
}

TEST_P(StoreDictionaries, LeaveToTheirDefinitionsEpochsForWhichThereIsNoRoom) {
    open({.epochs_min = 3, .reuse = 2, .nodes_max = kNodes + 5});
    put(1, 1);
    put(2, 1, 1, 4);
    put(3, 1, 1, 4);
    put(4, 1);
    put(5, 1);
    compact();
    ASSERT_TRUE(dictionary());
    EXPECT_TRUE(map_of(1) && map_of(2) && map_of(4) && map_of(5));
    EXPECT_FALSE(map_of(3));
    EXPECT_EQ(counts_.epochs_left, 1U);
    EXPECT_EQ(dictionary()->nodes.size(), kNodes + 4);
}

// What may still come would be between the batches that a map covers.
TEST_P(StoreDictionaries, LeaveOutWhatIsAboveTheWatermark) {
    put_all();
    put(2, 3, kNodes + 1);
    last_seqs_[2] = 1;
    compact();
    EXPECT_FALSE(map_of(2));
    EXPECT_TRUE(map_of(1) && map_of(3));
}

// A map into a dictionary that is no more goes with it, also where no other follows.
TEST_P(StoreDictionaries, TakeTheirMapsWithThem) {
    put_all();
    compact();
    ASSERT_TRUE(map_of(2));
    put(2, 3, kNodes + 1);
    last_seqs_[2] = 1;
    put(3, 2, 3 * kNodes);
    compact(10);
    EXPECT_FALSE(map_of(2));
    EXPECT_TRUE(map_of(1) && map_of(3));
}

// However often it is stopped: the same bytes, and until then never a map without its dictionary.
TEST_P(StoreDictionaries, AreTheSameHoweverOftenTheWorkIsStopped) {
    put_all(2);
    compact();
    const Stored expected = stored();
    ASSERT_EQ(expected.size(), 1 + kSessions);
    for (std::uint64_t steps = 1; steps <= 2 * kSessions + 2; ++steps) {
        last_seqs_.clear();
        open({.epochs_min = 3, .reuse = 2});
        put_all(2);
        compact(0, steps);
        EXPECT_TRUE(stored().empty() || stored().contains("dictionary"));
        store_ = stores_->reopen(std::move(store_));
        EXPECT_TRUE(stored().empty() || stored().contains("dictionary"));
        compact();
        EXPECT_EQ(stored(), expected) << steps;
    }
}

TEST_P(StoreDictionaries, GoWithTheirPartition) {
    put_all();
    compact();
    ASSERT_FALSE(stored().empty());
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    EXPECT_TRUE(stored().empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreDictionaries, testing::ValuesIn(test_engines()),
                         [](const auto& instance) { return std::string{engine_name(instance.param)}; });

}  // namespace
}  // namespace perfleet::conformance::dictionary_maker_test
