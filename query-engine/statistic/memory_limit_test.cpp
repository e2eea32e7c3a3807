// Memory that queries really take, as operator new sees it, against their limit.
#include <gtest/gtest.h>

#include "query-engine/statistic/command.h"
#include "query-engine/statistic/testing/memory_peak.h"
#include "query-engine/statistic/testing/threads_scenario.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet {
namespace {

constexpr std::size_t kThreads = 12'000;
// Blocks that are read, and the overhead beside everything that grows.
constexpr std::size_t kOnTopBytes = 6U << 20;

struct Query {
    std::string name;
    std::string command;
    OptionValues values;
    std::size_t rows_min = 0;
};
void PrintTo(const Query& query, std::ostream* out) { *out << query.name; }

class QueryMemoryLimit : public testing::TestWithParam<Query> {
protected:
    static void SetUpTestSuite() {
        store_ = make_memory_store();
        deliver(make_threads_scenario(kThreads), {.rows_per_batch = 4'000}, *store_);
    }
    static void TearDownTestSuite() { store_.reset(); }

    static inline std::unique_ptr<Store> store_;
};

// The result of the query with each of these limits; it stays within each.
struct Outcomes {
    std::size_t answered = 0;
    std::size_t refused = 0;
    std::size_t rows = 0;  // of the last answer
};
Outcomes ask(const Query& query, const Store& store, std::initializer_list<std::size_t> limits_bytes) {
    Outcomes outcomes;
    for (const std::size_t limit_bytes : limits_bytes) {
        OptionValues values = query.values;
        values["threads"] = std::uint64_t{2};
        values["memory"] = std::uint64_t{limit_bytes};
        const MemoryPeak peak;
        const Result<Answer> answer = run_query(query.command, values, store, {}, UtcNs{0});
        EXPECT_LE(peak.taken_bytes(), limit_bytes + kOnTopBytes) << "of " << limit_bytes;
        if (answer.ok()) {
            ++outcomes.answered;
            outcomes.rows = answer->rows.size();
        } else {
            ++outcomes.refused;
            EXPECT_EQ(answer.error().code, ErrorCode::kTooLarge) << answer.error().message;
            EXPECT_NE(answer.error().message.find("--memory"), std::string::npos) << answer.error().message;
        }
    }
    return outcomes;
}

TEST_P(QueryMemoryLimit, ThreadsWithoutNamesStayWithinIt) {
    const Outcomes outcomes = ask(GetParam(), *store_, {4U << 20, 8U << 20, 32U << 20, 256U << 20});
    EXPECT_GT(outcomes.refused, 0U);
    EXPECT_GT(outcomes.answered, 0U) << "with the largest limit";
    EXPECT_GE(outcomes.rows, GetParam().rows_min);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, QueryMemoryLimit,
    testing::Values(Query{"top", "top", {{"addresses", true}}, 500},
                    Query{
                        "top_by_thread", "top", {{"addresses", true}, {"by", std::string{"symbol,thread"}}}, kThreads},
                    Query{"tree", "tree", {{"addresses", true}}, kThreads},
                    Query{"tree_inverted", "tree", {{"addresses", true}, {"inverted", true}}, 500},
                    Query{"diff", "diff", {{"before", std::string{"last"}}, {"after", std::string{"last"}}}}),
    [](const auto& each) { return each.param.name; });

// Of a series of measured values on each target.
std::unique_ptr<Store> store_of_values(std::size_t batch_count, std::size_t target_count = 1) {
    constexpr SessionId kSession{1, 2};
    constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
    constexpr std::size_t kRows = 4'000;
    constexpr BucketNumber kBucket{472'223};
    std::unique_ptr<Store> store = make_memory_store();
    for (std::size_t i = 0; i < target_count; ++i) {
        const TargetId target{7 + i};
        const Partition partition = partition_of(target, kBucket);
        SessionRecord session = sample_session(target, kSession);
        session.target_name = std::to_string(i);
        EXPECT_TRUE(store->define(partition, session).ok());
        for (std::uint64_t seq = 1; seq <= batch_count; ++seq) {
            SampleIntegers rows;
            for (std::uint64_t row = 0; row < kRows; ++row) {
                rows[ColumnId::kTime].push_back(seq * kRows + row);
                rows[ColumnId::kValue].push_back(1 + (seq * kRows + row) * 7'919 % 100'003);
            }
            for (const ColumnId column : {ColumnId::kPid, ColumnId::kTid, ColumnId::kStack, ColumnId::kWeight}) {
                rows[column].assign(kRows, 0);
            }
            SampleBatch batch{target, kSession, Seq{seq}, EpochNumber{0}, kBucket};
            batch.add(kPoints, rows).entry(kPoints, CountName::kProduced, kRows * seq);
            const auto built = batch.build();
            EXPECT_TRUE(store->put(partition, std::span{&built, 1}).ok());
        }
    }
    return store;
}

TEST(QueryMemoryLimitOfValues, LatencyStaysWithinIt) {
    constexpr std::size_t kBatches = 200;
    const std::unique_ptr<Store> store = store_of_values(kBatches);
    for (const Query& query :
         {Query{"", "latency", {}, 1}, Query{"", "latency", {{"table", true}}, kBatches * 4'000},
          Query{"", "latency", {{"mode", std::string{"bernat"}}}, 1}, Query{"", "latency", {{"sketch", true}}, 1}}) {
        const Outcomes outcomes = ask(query, *store, {1U << 20, 4U << 20, 32U << 20, 512U << 20});
        EXPECT_GT(outcomes.answered, 0U) << "with the largest limit";
        EXPECT_EQ(outcomes.rows, query.rows_min);
    }
}

// Each series takes a few MiB, and all of them far more than what may stand on top.
TEST(QueryMemoryLimitOfValues, DiffOfManySeriesStaysWithinIt) {
    constexpr std::size_t kTargets = 12;
    const std::unique_ptr<Store> store = store_of_values(25, kTargets);
    const std::string all = "{target=~\".*\"}";
    const Query query{
        "", "diff", {{"before", all}, {"after", all}, {"by", std::string{"target"}}, {"within-run", true}}};
    const Outcomes outcomes = ask(query, *store, {4U << 20, 16U << 20, 512U << 20});
    EXPECT_EQ(outcomes.answered, 1U) << "with the largest limit";
}

}  // namespace
}  // namespace perfleet
