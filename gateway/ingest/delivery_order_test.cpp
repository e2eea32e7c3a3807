// However batches come, doubled, late, from several peers, over restarts, to a gateway that forgets sessions in
// between: the store holds the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "gateway/admission/testing/sample_messages.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "storage/store/testing/stores.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::delivery_order_test {
namespace {

constexpr std::uint64_t kBatchCount = 60;
constexpr std::uint64_t kSessionCount = 3;

struct Sending {
    std::uint64_t session = 0;
    std::uint64_t seq = 0;
};

SessionId session_of(std::uint64_t number) { return {77, number}; }
TargetId target_of(std::uint64_t number) { return TargetId{number}; }

// Batches of several kinds over two buckets.
AdmittedBatch batch_of(const Sending& sending) {
    const BucketNumber bucket{kSampleBucket.value - (sending.seq <= kBatchCount / 2 ? 1 : 0)};
    SampleBatch batch = sample_batch(target_of(sending.session), session_of(sending.session), Seq{sending.seq},
                                     1 + sending.seq % 5, bucket);
    if (sending.seq % 3 == 0) {
        batch.add_stacks({{static_cast<std::uint32_t>(sending.seq), 0, 0, sending.seq}});
    }
    if (sending.seq % 7 == 0) {
        batch.clock_point({Ticks{sending.seq}, UtcNs{static_cast<std::int64_t>(sending.seq)}, 1});
    }
    return batch.build();
}

std::string text_of(const BatchRecord& record) {
    std::ostringstream text;
    text << record.seq.value << ' ' << record.epoch.value << ' ' << record.bucket.value << ' ' << record.seal;
    for (const CountEntry& entry : record.counts) {
        text << " t" << static_cast<unsigned>(entry.name) << '=' << entry.value;
    }
    for (const ClockPoint& point : record.clock_points) {
        text << " c" << point.ticks.value << '@' << point.utc_ns.value;
    }
    return text.str();
}

// Everything that a reader can see.
std::string everything_in(const Store& store) {
    std::ostringstream text;
    const auto partitions = store.partitions();
    for (const Partition& partition : *partitions) {
        const auto sessions = store.sessions(partition);
        for (const SessionRecord& session : *sessions) {
            text << "partition " << partition.bucket.value << '/' << partition.shard << " session "
                 << session.session.low << ' ' << session.target_name << '\n';
            EXPECT_TRUE(store
                            .visit_batches(partition, session.target, session.session,
                                           [&](const BatchRecord& record) {
                                               text << text_of(record) << '\n';
                                               return Visit::kContinue;
                                           })
                            .ok());
            for (const Series series : {Series{Kind::kSample, EventNumber{0}}, Series{Kind::kStack, kNoEvent}}) {
                EXPECT_TRUE(visit_blocks(store, partition, session.target, session.session, series,
                                         [&](const BlockKey& key, std::string_view block) {
                                             text << key.first_seq.value << ' ' << block << '\n';
                                             return Visit::kContinue;
                                         })
                                .ok());
            }
        }
    }
    for (std::uint64_t number = 1; number <= kSessionCount; ++number) {
        text << "watermark " << store.watermark(target_of(number), session_of(number)).value().value << '\n';
    }
    return text.str();
}

class DeliveryOrder : public testing::TestWithParam<TestEngine>, protected IngestFixture {
protected:
    void hello_of(std::uint64_t session, std::uint64_t peer) {
        take(std::to_string(peer), sample::hello(sample_session(target_of(session), session_of(session))));
    }

    void start(Store& store, std::uint32_t sessions_max) {
        Ingest::Options options;
        options.sessions_max = sessions_max;
        open(&store, options);
    }

    // Again with a Hello before it where the gateway has forgotten the session.
    void send(const Sending& sending, std::uint64_t peer) {
        const sample::Frame batch = sample::batch(batch_of(sending));
        const std::string name = std::to_string(peer);
        replies(name);
        take(name, batch);
        for (auto said = replies(name); !said.empty() && said[0].type == sample::ReplyType::kHelloAgain;) {
            ++forgotten_count_;
            hello_of(sending.session, peer);
            replies(name);
            take(name, batch);
            said = replies(name);
            commit();  // what is being stored isn't forgotten
        }
    }

    // Delivers as the seed says; 0: in order, each once.
    std::string deliver(Store& store, std::uint64_t seed, std::uint32_t sessions_max = kSessionCount) {
        start(store, sessions_max);
        std::mt19937_64 random{seed};
        std::vector<Sending> sendings;
        for (std::uint64_t session = 1; session <= kSessionCount; ++session) {
            for (std::uint64_t seq = 1; seq <= kBatchCount; ++seq) {
                sendings.insert(sendings.end(), seed == 0 ? 1 : 1 + random() % 3, {session, seq});
            }
        }
        if (seed != 0) {
            std::shuffle(sendings.begin(), sendings.end(), random);
        }
        std::uint64_t peer = kSessionCount;
        std::vector<std::uint64_t> peer_of{0, 1, 2, 3};
        for (std::uint64_t session = 1; session <= kSessionCount; ++session) {
            hello_of(session, peer_of[session]);
        }
        for (const Sending& sending : sendings) {
            if (seed != 0 && random() % 16 == 0) {  // it comes back as a new peer
                peer_of[sending.session] = ++peer;
                hello_of(sending.session, peer);
            }
            if (seed != 0 && random() % 64 == 0) {  // the gateway is started again
                commit();
                start(store, sessions_max);
                for (std::uint64_t session = 1; session <= kSessionCount; ++session) {
                    hello_of(session, peer_of[session]);
                }
            }
            send(sending, peer_of[sending.session]);
            if (random() % 8 == 0) {
                commit();
            }
        }
        commit();
        link_.replies.clear();
        return everything_in(store);
    }

    std::uint64_t forgotten_count_ = 0;
};

TEST_P(DeliveryOrder, LeavesNoTrace) {
    TestStores stores{GetParam()};
    const std::unique_ptr<Store> in_order = stores.open();
    const std::string expected = deliver(*in_order, 0);
    ASSERT_TRUE(expected.ends_with("watermark 60\nwatermark 60\nwatermark 60\n"));
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        TestStores other_stores{GetParam()};
        const std::unique_ptr<Store> store = other_stores.open();
        EXPECT_TRUE(deliver(*store, seed) == expected) << "seed " << seed;
    }
    EXPECT_EQ(forgotten_count_, 0U);
}

TEST_P(DeliveryOrder, LeavesNoTraceWhereSessionsAreForgotten) {
    TestStores stores{GetParam()};
    const std::unique_ptr<Store> in_order = stores.open();
    const std::string expected = deliver(*in_order, 0);
    for (const std::uint32_t sessions_max : {1U, 2U}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            forgotten_count_ = 0;
            TestStores other_stores{GetParam()};
            const std::unique_ptr<Store> store = other_stores.open();
            EXPECT_TRUE(deliver(*store, seed, sessions_max) == expected) << "seed " << seed;
            EXPECT_GT(forgotten_count_, 20U);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, DeliveryOrder, testing::ValuesIn(test_engines()),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

}  // namespace
}  // namespace perfleet::delivery_order_test
