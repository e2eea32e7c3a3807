#include "query-engine/wire/query_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet {
namespace {

class QueryQueueTest : public ::testing::Test {
protected:
    bool ask(const std::string& client, std::uint32_t chunk_count = 1, std::size_t size_bytes = 100) {
        return queue_.add(client, {{1, ++number_}, {"top", {}, chunk_count}, size_bytes, 0});
    }
    // The clients of the queries that begin to run now, in their order.
    std::string started() {
        std::string clients;
        while (const auto start = queue_.next()) {
            clients += start->client;
        }
        return clients;
    }

    QueryQueue queue_;
    std::uint64_t number_ = 0;
};

TEST_F(QueryQueueTest, AClientRunsNoMoreThanItsShare) {
    for (std::uint32_t i = 0; i < limits::kQueriesWaitingOfClientMax; ++i) {
        ASSERT_TRUE(ask("a"));
    }
    EXPECT_FALSE(ask("a"));
    EXPECT_EQ(started(), std::string(limits::kQueriesOfClientMax, 'a'));
    EXPECT_TRUE(ask("b"));
    EXPECT_EQ(started(), "b");
    queue_.end("a");
    EXPECT_EQ(started(), "a");
}

TEST_F(QueryQueueTest, ClientsTakeTurnsInTheOrderInWhichTheyCame) {
    for (const char* client : {"c", "c", "a", "b", "a"}) {
        ASSERT_TRUE(ask(client));
    }
    EXPECT_EQ(started(), "cabca");
}

TEST_F(QueryQueueTest, TheLastQuarterIsForClientsThatRunNone) {
    for (const char* client : {"a", "b", "c", "d"}) {
        for (std::uint32_t i = 0; i < limits::kQueriesOfClientMax; ++i) {
            ASSERT_TRUE(ask(client));
        }
    }
    EXPECT_EQ(started().size(), limits::kQueriesAtOnceMax / 4 * 3);
    for (char client = 'e'; client < 'e' + 9; ++client) {
        ASSERT_TRUE(ask(std::string{client}));
    }
    EXPECT_EQ(started(), "efghijkl");
    // One that runs none gets the next place, also before those that came earlier and run some.
    queue_.end("e");
    EXPECT_EQ(started(), "m");
    ASSERT_EQ(queue_.blocked().size(), 4U);
    EXPECT_FALSE(queue_.blocked().front().of_client);
}

TEST_F(QueryQueueTest, WhoHasHadAPlaceComesAfterThoseThatWait) {
    for (std::uint32_t i = 0; i < limits::kQueriesAtOnceMax; ++i) {
        const std::string client(1, static_cast<char>('0' + i));
        ASSERT_TRUE(ask(client.c_str()));
        ASSERT_TRUE(ask(client.c_str()));
    }
    EXPECT_EQ(started().size(), limits::kQueriesAtOnceMax);
    ASSERT_TRUE(ask("me"));
    queue_.end("3");
    EXPECT_EQ(started(), "me");
}

TEST_F(QueryQueueTest, AQueryWhoseClientTakesNoChunksDoesNotRun) {
    ASSERT_TRUE(ask("a", 0));
    ASSERT_TRUE(ask("a", 0));
    EXPECT_EQ(started(), "");
    EXPECT_TRUE(queue_.blocked().empty());
    EXPECT_TRUE(queue_.add_credit("a", {1, 2}, 3));
    EXPECT_FALSE(queue_.add_credit("b", {1, 1}, 3));
    const auto start = queue_.next();
    ASSERT_TRUE(start.has_value());
    EXPECT_EQ(start->query.name, QueryName(1, 2));
    EXPECT_EQ(start->query.ask.chunk_count, 3U);
    EXPECT_TRUE(queue_.remove("a", {1, 1}));
    EXPECT_FALSE(queue_.remove("a", {1, 1}));
}

TEST_F(QueryQueueTest, WaitingQueriesAreBoundedInBytes) {
    EXPECT_TRUE(ask("a", 0, limits::kQueriesWaitingOfClientBytes * 2)) << "one of any size that a message may have";
    EXPECT_FALSE(ask("a", 0));
    EXPECT_TRUE(queue_.remove("a", {1, 1}));
    EXPECT_TRUE(ask("a", 0, limits::kQueriesWaitingOfClientBytes));
    EXPECT_FALSE(ask("a", 0));
}

TEST_F(QueryQueueTest, ReportsWhoIsHeldUpByItself) {
    for (std::uint32_t i = 0; i <= limits::kQueriesOfClientMax; ++i) {
        ASSERT_TRUE(ask("a"));
    }
    EXPECT_EQ(started().size(), limits::kQueriesOfClientMax);
    ASSERT_EQ(queue_.blocked().size(), 1U);
    EXPECT_EQ(queue_.blocked().front().client, "a");
    EXPECT_TRUE(queue_.blocked().front().of_client);
}

}  // namespace
}  // namespace perfleet
