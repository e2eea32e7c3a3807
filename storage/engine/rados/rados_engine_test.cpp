// The engine itself, on a cluster of testing/with_ceph_cluster. What stores do on it is in their conformance suite.
#include "storage/engine/rados/rados_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/engine/rados/gateway_table.h"
#include "storage/engine/rados/lease.h"
#include "storage/engine/rados/pool.h"
#include "storage/engine/rados/rados_limits.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/limits/store_limits.h"
#include "storage/store/testing/stores.h"

namespace perfleet::rados_test {
namespace {

constexpr TargetId kTarget{17};
constexpr SessionId kSession{1, 2};
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};

class RadosStore : public testing::Test {
protected:
    void SetUp() override {
        if (test_rados_pool() == nullptr) {
            GTEST_SKIP() << "no cluster: run it by storage/engine/testing/with_ceph_cluster";
        }
        place_ = new_rados_place();
    }

    [[nodiscard]] std::unique_ptr<Engine> writer() const {
        auto engine = open_rados_writer_engine(place_);
        EXPECT_TRUE(engine.ok()) << engine.error().message;
        return engine.ok() ? std::move(*engine) : nullptr;
    }
    [[nodiscard]] std::unique_ptr<Engine> shared() const {
        auto engine = open_rados_writer_engine(place_, true);
        EXPECT_TRUE(engine.ok()) << engine.error().message;
        return engine.ok() ? std::move(*engine) : nullptr;
    }
    [[nodiscard]] std::unique_ptr<Engine> reader() const {
        auto engine = open_rados_reader_engine(place_);
        EXPECT_TRUE(engine.ok()) << engine.error().message;
        return engine.ok() ? std::move(*engine) : nullptr;
    }

    [[nodiscard]] static Partition partition(std::uint32_t bucket = 1) {
        return partition_of(kTarget, BucketNumber{bucket});
    }
    [[nodiscard]] static std::string key(std::uint64_t seq, std::uint32_t bucket = 1) {
        return block_key({partition(bucket), kTarget, kSession, kSeries, Seq{seq}});
    }
    static Result<Done> put(Engine& engine, const std::vector<std::pair<std::string, std::string>>& values) {
        Changes changes;
        for (const auto& [at, value] : values) {
            changes.puts.push_back({at, value});
        }
        PERFLEET_TRY(engine.write(*domain_of_key(values.front().first, ShardCount{}), 0, changes));
        return engine.sync();
    }
    static Result<Done> remove(Engine& engine, const std::string& at) {
        Changes changes;
        changes.deletes = {at};
        PERFLEET_TRY(engine.write(*domain_of_key(at, ShardCount{}), 0, changes));
        return engine.sync();
    }
    // Without what the engine begins a store with.
    [[nodiscard]] static std::map<std::string, std::string> content(const Engine& engine,
                                                                    const KeyRange& range = {"\1", everything().end}) {
        std::map<std::string, std::string> found;
        std::string last;
        auto visited = engine.visit(range, [&](std::string_view at, std::string_view value) {
            EXPECT_LT(last, at);
            last = at;
            found.emplace(at, value);
            return Visit::kContinue;
        });
        EXPECT_TRUE(visited.ok()) << visited.error().message;
        return found;
    }

    RadosPlace place_;
};

TEST_F(RadosStore, OrdersKeysOfAllDomainsAndKeepsLongAndShortValues) {
    std::map<std::string, std::string> expected;
    {
        const auto engine = writer();
        for (std::uint64_t i = 0; i < 40; ++i) {
            const std::string value(i * 20, static_cast<char>('a' + i % 26));  // some in the index, some in the body
            for (const std::string& at :
                 {key(i, static_cast<std::uint32_t>(i % 3)), session_key(Table::kWatermark, TargetId{i}, kSession),
                  session_key(Table::kSessionNote, TargetId{i}, kSession), image_key(std::to_string(i))}) {
                ASSERT_TRUE(put(*engine, {{at, value}}).ok());
                expected[at] = value;
            }
        }
        EXPECT_EQ(content(*engine), expected);
    }
    EXPECT_EQ(content(*writer()), expected);
    const auto reading = reader();
    EXPECT_EQ(content(*reading), expected);
    const KeyRange range{key(10), session_key(Table::kWatermark, TargetId{20}, kSession)};
    EXPECT_EQ(content(*reading, range),
              (std::map<std::string, std::string>{expected.lower_bound(range.begin), expected.lower_bound(range.end)}));
    for (const auto& [at, value] : expected) {
        EXPECT_EQ(*reading->get(at), value);
    }
    EXPECT_EQ(*reading->get(key(1'000)), std::nullopt);
}

TEST_F(RadosStore, HasTheShardsThatItsFirstWriterChose) {
    constexpr std::uint16_t kLast = 299;
    const TargetId target{kLast};
    const std::string at = session_key(Table::kWatermark, target, kSession);
    {
        const auto engine = open_rados_writer_engine(place_, true, ShardCount{kLast + 1});
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        ASSERT_TRUE((*engine)->leases()->join({"tcp://one", ""}).ok());
        (void)(*engine)->leases()->take_news();
        EXPECT_EQ((*engine)->leases()->held_count(), kLast + 1);
        EXPECT_TRUE((*engine)->leases()->is_held(kLast));
        EXPECT_FALSE((*engine)->leases()->is_held(kLast + 1));
        Changes changes;
        changes.puts.push_back({at, "value"});
        ASSERT_TRUE((*engine)->write(shard_domain(kLast), 0, changes).ok());
        const auto none = (*engine)->write(shard_domain(kLast + 1), 0, changes);
        ASSERT_FALSE(none.ok());
        EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
    }
    const auto engine = open_rados_writer_engine(place_, false, ShardCount{7});
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    EXPECT_EQ(*(*engine)->get(shards_key()), encode_format(ShardCount{kLast + 1}).shards);
    EXPECT_EQ(*(*engine)->get(at), "value");
    EXPECT_EQ(*reader()->get(at), "value");
}

TEST_F(RadosStore, ReadsIndexesOfSeveralPagesAndKeysFullOfZeros) {
    const auto engine = writer();
    std::vector<std::pair<std::string, std::string>> values;
    for (std::uint64_t i = 0; i < 2'500; ++i) {
        values.emplace_back(key(i), std::to_string(i));
    }
    ASSERT_TRUE(put(*engine, values).ok());
    EXPECT_EQ(content(*reader()), (std::map<std::string, std::string>{values.begin(), values.end()}));
}

TEST_F(RadosStore, KeepsWhatWasReplacedAndDeletedBesideCompaction) {
    const auto engine = writer();
    const std::string longer(5'000, 'x');
    ASSERT_TRUE(put(*engine, {{key(1), longer}, {key(2), longer}, {key(3), longer}}).ok());
    Changes compacted;
    compacted.puts = {{key(1), "1 and 2"}};
    compacted.deletes = {key(2)};
    ASSERT_TRUE(engine->write_unlogged(domain_of(partition()), 0, compacted).ok());
    const std::map<std::string, std::string> expected{{key(1), "1 and 2"}, {key(3), longer}};
    EXPECT_EQ(content(*engine), expected);
    EXPECT_EQ(content(*reader()).size(), 3U) << "a reader sees it once it was flushed";
    const auto early = reader();
    ASSERT_TRUE(engine->flush_unlogged().ok());
    EXPECT_EQ(content(*engine), expected);
    EXPECT_EQ(content(*reader()), expected);
    EXPECT_EQ(content(*early).size(), 3U) << "whoever reads still finds the old segments";
    ASSERT_TRUE(early->refresh().ok());
    EXPECT_EQ(content(*early), expected);
    // Behind what was compacted.
    ASSERT_TRUE(remove(*engine, key(3)).ok());
    ASSERT_TRUE(put(*engine, {{key(4), "4"}}).ok());
    ASSERT_TRUE(put(*engine, {{key(1), "again"}}).ok());
    const std::map<std::string, std::string> later{{key(1), "again"}, {key(4), "4"}};
    EXPECT_EQ(content(*engine), later);
    EXPECT_EQ(content(*reader()), later);
    ASSERT_TRUE(engine->reclaim(everything(), nullptr).ok());
    EXPECT_EQ(content(*engine), later);
    EXPECT_EQ(content(*reader()), later);
}

TEST_F(RadosStore, ForgetsWhatWasNotSettledAsAWhole) {
    {
        const auto engine = writer();
        ASSERT_TRUE(put(*engine, {{key(1), "1"}, {key(2), "2"}}).ok());
        Changes compacted;
        compacted.puts = {{key(1), "both"}};
        compacted.deletes = {key(2)};
        ASSERT_TRUE(engine->write_unlogged(domain_of(partition()), 0, compacted).ok());
        ASSERT_TRUE(put(*engine, {{key(3), "3"}}).ok());
    }
    EXPECT_EQ(content(*writer()), (std::map<std::string, std::string>{{key(1), "1"}, {key(2), "2"}, {key(3), "3"}}));
}

TEST_F(RadosStore, RemovesTheObjectsOfADroppedPartition) {
    const auto engine = writer();
    ASSERT_TRUE(put(*engine, {{key(1, 1), std::string(5'000, 'x')}}).ok());
    ASSERT_TRUE(put(*engine, {{key(1, 2), "stays"}}).ok());
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    const auto directory = [&] { return **read_directory(**pool, directory_of(domain_of(partition()))); };
    const std::string object = directory().domains.at(domain_of(partition(1))).front()->object;
    EXPECT_GT(*engine->size_bytes(partition_range(partition(1))), 5'000U);
    ASSERT_TRUE(engine->erase(partition_range(partition(1)), nullptr).ok());
    EXPECT_EQ(content(*engine), (std::map<std::string, std::string>{{key(1, 2), "stays"}}));
    EXPECT_EQ(content(*reader()), content(*engine));
    EXPECT_EQ(*engine->size_bytes(partition_range(partition(1))), 0U);
    EXPECT_EQ(*(*pool)->head(object), std::nullopt);
    EXPECT_TRUE(directory().unused.empty());
}

TEST_F(RadosStore, HasOneWriterWhoSharesItWithNobody) {
    auto engine = writer();
    const auto second = open_rados_writer_engine(place_);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy) << second.error().message;
    const auto gateway = shared();
    const auto joined = gateway->leases()->join({"tcp://127.0.0.1:1", ""});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ErrorCode::kBusy) << joined.error().message;
    engine.reset();
    engine = writer();
    EXPECT_NE(engine, nullptr);
}

// A process that takes the store over waits until it is sure that no other lives.
TEST_F(RadosStore, IsTakenOverFromOneThatWasKilled) {
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    GatewayEntry killed;
    killed.name = "killed";
    killed.leases[0] = 1;
    GatewayTableChange change;
    change.gateways.push_back(killed);
    ASSERT_TRUE(change_gateway_table(**pool, change).ok());
    const auto engine = writer();
    ASSERT_TRUE(put(*engine, {{key(1), "1"}}).ok());
    const auto table = read_gateway_table(**pool);
    ASSERT_TRUE(table.ok());
    ASSERT_EQ(table->gateways.size(), 1U);
    EXPECT_NE(table->gateways.front().name, "killed");
}

TEST_F(RadosStore, IsAtOnceAgainThatOfAGatewayWhichWasKilledAndStarted) {
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    GatewayEntry killed;
    killed.name = "killed";
    killed.address.endpoint = "tcp://127.0.0.1:1";
    killed.leases[0] = 1;
    GatewayTableChange change;
    change.gateways.push_back(killed);
    ASSERT_TRUE(change_gateway_table(**pool, change).ok());
    const auto gateway = shared();
    ASSERT_TRUE(gateway->leases()->join({"tcp://127.0.0.1:1", ""}).ok());
    (void)gateway->leases()->take_news();
    EXPECT_EQ(gateway->leases()->held_count(), limits::kShardsDefault);
}

TEST_F(RadosStore, RequestsGoToTheHolderOfTheirShardOnceAndAnswersComeBack) {
    const auto box = open_rados_request_box(place_);
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(box.ok() && pool.ok());
    const std::vector<RequestBox::Request> requests{
        {limits::kShardsDefault, "nobody's"}, {0, "first\nof two"}, {0, "second"}};
    EXPECT_EQ((*box)->post(requests).error().code, ErrorCode::kNotFound);
    const auto gateway = shared();
    ShardLeases& leases = *gateway->leases();
    ASSERT_TRUE(leases.join({"tcp://127.0.0.1:1", ""}).ok());
    std::vector<std::string> ids;
    std::map<std::string, std::string> taken;
    // The gateway takes the two at consecutive looks, of which one comes before the beat that removes its request.
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto posted = (*box)->post(std::span{requests}.subspan(i, 1));
        ASSERT_TRUE(posted.ok()) << posted.error().message;
        ids.push_back(posted->front());
        while (taken.size() < i) {
            for (const ShardLeases::Message& request : leases.take_requests()) {
                EXPECT_TRUE(taken.emplace(request.id, request.text).second) << "taken twice";
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }
    EXPECT_EQ(taken, (std::map<std::string, std::string>{{ids[1], requests[1].text}, {ids[2], requests[2].text}}));
    const auto requests_left = [&] {
        const auto table = read_gateway_table(**pool);
        EXPECT_TRUE(table.ok());
        return table.ok() ? table->requests.size() : 0;
    };
    while (requests_left() > 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_TRUE(leases.take_requests().empty()) << "taken twice";
    leases.answer({ids[2], "done"});
    std::map<std::string, std::string> answers;
    while (answers.empty()) {
        auto some = (*box)->take_answers();
        ASSERT_TRUE(some.ok());
        answers.merge(*some);
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_EQ(answers, (std::map<std::string, std::string>{{ids[2], "done"}}));
    EXPECT_TRUE((*box)->withdraw().ok());
    const auto table = read_gateway_table(**pool);
    ASSERT_TRUE(table.ok());
    EXPECT_TRUE(table->requests.empty());
    EXPECT_TRUE(table->answers.empty());
}

TEST_F(RadosStore, GatewaysKnowWhatTheOthersShardsTakeOnceAllHaveMeasuredTheirs) {
    const auto first = shared();
    const auto second = shared();
    ASSERT_TRUE(first->leases()->join({"tcp://127.0.0.1:1", ""}).ok());
    ASSERT_TRUE(second->leases()->join({"tcp://127.0.0.1:2", ""}).ok());
    while (second->leases()->held_count() != limits::kShardsDefault / 2) {
        for (const std::uint16_t shard : first->leases()->take_news().surplus) {
            first->leases()->give_up(shard);
        }
        (void)second->leases()->take_news();
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    const auto has_known_holder = [&](std::uint16_t shard) {
        return first->leases()->is_held(shard) || first->leases()->holder_of(shard).has_value();
    };
    for (std::uint16_t shard = 0; shard < limits::kShardsDefault; ++shard) {
        while (!has_known_holder(shard)) {
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }
    EXPECT_EQ(first->leases()->sizes_of_others(), std::nullopt) << "all shards have a holder, but aren't measured";
    const ShardLeases::ClassSizes sizes{{0, 7}, {3, 1ULL << 40}};
    ShardLeases& of_second = *second->leases();
    of_second.publish_sizes({{0, 9}}, of_second.change_count() - 1);  // measured before its last shard came
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    const auto entry_of_second = [&] {
        const auto table = read_gateway_table(**pool);
        const auto& gateways = table->gateways;
        return *std::find_if(gateways.begin(), gateways.end(),
                             [](const GatewayEntry& one) { return one.address.endpoint == "tcp://127.0.0.1:2"; });
    };
    const std::uint64_t beat = entry_of_second().beat;
    while (entry_of_second().beat == beat) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_EQ(entry_of_second().sizes, std::nullopt);
    of_second.publish_sizes(sizes, of_second.change_count());
    while (first->leases()->sizes_of_others() == std::nullopt) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_EQ(first->leases()->sizes_of_others(), sizes);
    of_second.give_up(limits::kShardsDefault - 1);
    while (first->leases()->sizes_of_others() != std::nullopt) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

TEST_F(RadosStore, ShardsAreSharedByGatewaysAndGoToThoseThatAreLeft) {
    auto first = shared();
    ASSERT_TRUE(first->leases()->join({"tcp://127.0.0.1:1", "key"}).ok());
    (void)first->leases()->take_news();
    EXPECT_EQ(first->leases()->held_count(), limits::kShardsDefault);
    const std::uint16_t shard = partition().shard;
    ASSERT_TRUE(put(*first, {{key(1), "1"}}).ok());

    auto second = shared();
    ASSERT_TRUE(second->leases()->join({"tcp://127.0.0.1:2", ""}).ok());
    EXPECT_EQ(second->leases()->held_count(), 0U);
    const auto give_and_take = [&](const std::vector<Engine*>& engines, auto&& is_done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
        while (!is_done()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            for (Engine* engine : engines) {
                for (const std::uint16_t surplus : engine->leases()->take_news().surplus) {
                    engine->leases()->give_up(surplus);
                }
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    };
    const auto half = limits::kShardsDefault / 2;
    give_and_take({first.get(), second.get()},
                  [&] { return first->leases()->held_count() == half && second->leases()->held_count() == half; });
    for (std::uint16_t i = 0; i < limits::kShardsDefault; ++i) {
        EXPECT_NE(first->leases()->is_held(i), second->leases()->is_held(i)) << i;
    }
    Engine& holder = first->leases()->is_held(shard) ? *first : *second;
    Engine& other = first->leases()->is_held(shard) ? *second : *first;
    const GatewayAddress address =
        &holder == first.get() ? GatewayAddress{"tcp://127.0.0.1:1", "key"} : GatewayAddress{"tcp://127.0.0.1:2", ""};
    give_and_take({}, [&] { return other.leases()->holder_of(shard) == address; });
    EXPECT_EQ(holder.leases()->holder_of(shard), std::nullopt) << "it is its own";
    ASSERT_TRUE(put(holder, {{key(2), "2"}}).ok());
    const auto refused = put(other, {{key(3), "3"}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
    const std::map<std::string, std::string> both{{key(1), "1"}, {key(2), "2"}};
    EXPECT_EQ(content(holder), both);
    EXPECT_TRUE(content(other).empty()) << "it sees what it holds";
    EXPECT_EQ(content(*reader()), both);

    // An image may come from any of them, and is there once.
    ASSERT_TRUE(put(other, {{image_key("build"), std::string(5'000, 'i')}}).ok());
    ASSERT_TRUE(put(holder, {{image_key("build"), std::string(5'000, 'j')}}).ok());
    EXPECT_EQ(*holder.get(image_key("build")), std::string(5'000, 'i'));
    EXPECT_EQ(*reader()->get(image_key("build")), std::string(5'000, 'i'));

    const bool is_first_holder = &holder == first.get();
    (is_first_holder ? first : second).reset();
    give_and_take({&other}, [&] { return other.leases()->held_count() == limits::kShardsDefault; });
    EXPECT_EQ(content(other, partition_range(partition())), both);
    EXPECT_TRUE(put(other, {{key(3), "3"}}).ok());
}

// As one that was frozen: it doesn't know, and its write is refused; the rest of its shards it keeps.
TEST_F(RadosStore, LosesTheShardThatAnotherHasTakenAndNoOther) {
    const auto gateway = shared();
    ASSERT_TRUE(gateway->leases()->join({"tcp://127.0.0.1:1", ""}).ok());
    (void)gateway->leases()->take_news();
    const std::uint16_t shard = partition().shard;
    const TargetId neighbour{kTarget.value + 1};
    const std::string neighbours = session_key(Table::kWatermark, neighbour, kSession);
    ASSERT_TRUE(put(*gateway, {{key(1), "1"}}).ok());
    ASSERT_TRUE(put(*gateway, {{neighbours, "1"}}).ok());
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    ASSERT_TRUE(take_directory(**pool, shard).ok());
    const auto refused = put(*gateway, {{key(2), "2"}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
    EXPECT_FALSE(put(*gateway, {{neighbours, "2"}}).ok()) << "before it has recovered";
    EXPECT_TRUE(*gateway->recover(GoOn::kToStore));
    EXPECT_EQ(gateway->leases()->take_news().lost, std::vector<std::uint16_t>{shard});
    EXPECT_FALSE(gateway->leases()->is_held(shard));
    EXPECT_TRUE(put(*gateway, {{neighbours, "2"}}).ok());
    EXPECT_FALSE(put(*gateway, {{key(2), "2"}}).ok());
    EXPECT_EQ(content(*reader()), (std::map<std::string, std::string>{{key(1), "1"}, {neighbours, "2"}}));
}

// As a writer that was frozen while another took over.
TEST_F(RadosStore, FencesOffAWriterWhoseLeaseWasTaken) {
    const auto old = writer();
    ASSERT_TRUE(put(*old, {{key(1), "1"}}).ok());
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    ASSERT_TRUE(take_directory(**pool, partition().shard).ok());
    const auto before = content(*reader());
    const auto refused = [&](const Result<Done>& result) {
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, ErrorCode::kConflict) << result.error().message;
        EXPECT_NE(result.error().message.find("another gateway has taken the store over"), std::string::npos);
    };
    refused(put(*old, {{key(2), "2"}}));       // in a segment that is there
    refused(put(*old, {{key(1, 7), "new"}}));  // in a new one
    refused(old->erase(everything(), nullptr));
    refused(old->sync());
    EXPECT_FALSE(old->recover(GoOn::kToStore).ok());
    EXPECT_EQ(content(*reader()), before);
}

TEST_F(RadosStore, ListsPartitionsByItsDirectories) {
    const auto engine = writer();
    EXPECT_EQ(engine->listed_partitions(), std::vector<Partition>{});
    ASSERT_TRUE(put(*engine, {{key(1, 7), "1"}}).ok());
    ASSERT_TRUE(put(*engine, {{key(1, 2), "1"}}).ok());
    const std::vector both{partition(2), partition(7)};
    EXPECT_EQ(engine->listed_partitions(), both);
    const auto reading = reader();
    EXPECT_EQ(reading->listed_partitions(), both);
    ASSERT_TRUE(remove(*engine, key(1, 2)).ok());
    EXPECT_EQ(engine->listed_partitions(), std::vector{partition(7)});
    ASSERT_TRUE(engine->reclaim(everything(), nullptr).ok());
    ASSERT_TRUE(reading->refresh().ok());
    EXPECT_EQ(reading->listed_partitions(), std::vector{partition(7)});
}

TEST_F(RadosStore, BeginsANewSegmentWhenOneIsFull) {
    const auto engine = writer();
    const std::string value(30U << 20, 'v');
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(put(*engine, {{key(i), value}}).ok());
    }
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    const auto directory = read_directory(**pool, directory_of(domain_of(partition())));
    EXPECT_EQ((*directory)->domains.at(domain_of(partition())).size(), 2U);
    EXPECT_EQ(content(*reader()).size(), 3U);
    const std::string large(limits::kRadosChangeSizeBytesMax + 1, 'v');
    const auto refused = put(*engine, {{key(4), large}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

// Which never happens to one that holds the lease: its outcome was unknown, and then it was there.
TEST_F(RadosStore, GoesOnFromWhatIsThereAfterAFailure) {
    const auto engine = writer();
    ASSERT_TRUE(put(*engine, {{key(1), "1"}}).ok());
    auto pool = RadosPool::connect(place_);
    ASSERT_TRUE(pool.ok());
    const auto directory = read_directory(**pool, directory_of(domain_of(partition())));
    const std::string object = (*directory)->domains.at(domain_of(partition())).front()->object;
    RadosHead head = *decode_head_untrusted(**(*pool)->head(object));
    const std::string before = encode_head(head);
    ++head.write_count;
    ++head.key_count;
    ASSERT_TRUE(
        (*pool)
            ->change(object, {before,
                              encode_head(head),
                              0,
                              {},
                              {{key(2), encode_entry({RadosEntry::Type::kInline, head.write_count, "2", 0, 0})}},
                              {}})
            .ok());
    const auto refused = put(*engine, {{key(2), "2"}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(engine->sync().ok());
    EXPECT_TRUE(*engine->recover(GoOn::kToStore));
    EXPECT_EQ(content(*engine), (std::map<std::string, std::string>{{key(1), "1"}, {key(2), "2"}}));
    ASSERT_TRUE(put(*engine, {{key(3), "3"}}).ok());
    EXPECT_EQ(content(*reader()).size(), 3U);
}

TEST_F(RadosStore, SaysWhoMayNotReadItAndWhy) {
    RadosPlace place = place_;
    place.user = "nobody";
    const auto unknown = open_rados_reader_engine(place);
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kPermission);
    EXPECT_NE(unknown.error().message.find("ceph auth get client.nobody"), std::string::npos)
        << unknown.error().message;
    const std::string conf = std::getenv("CEPH_CONF");
    ::setenv("CEPH_CONF", "/nowhere/ceph.conf", 1);
    const auto without = open_rados_reader_engine(place_);
    ::setenv("CEPH_CONF", conf.c_str(), 1);
    ASSERT_FALSE(without.ok());
    EXPECT_NE(without.error().message.find("(/nowhere/ceph.conf; --ceph-conf names another)"), std::string::npos)
        << without.error().message;
}

TEST_F(RadosStore, SaysWhichPoolIsMissing) {
    RadosPlace place;
    place.pool = "nothere";
    const auto opened = open_rados_reader_engine(place);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
    EXPECT_NE(opened.error().message.find("no pool nothere"), std::string::npos) << opened.error().message;
    EXPECT_EQ(open_rados_reader_engine(RadosPlace{}).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace perfleet::rados_test
