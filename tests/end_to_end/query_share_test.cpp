// Query clients that hold as many places as they get, beside one whose queries are all answered by the same process.
#include <gtest/gtest.h>

#include <csignal>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "query-engine/wire/testing/raw_client.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::query_share_test {
namespace {

using query_message::Ask;

class QueryShare : public testing::Test {
protected:
    QueryShare() {
        // Sessions enough that a table of them has more chunks than the columns alone.
        auto store = open_store(data_, {1U << 20});
        EXPECT_TRUE(store.ok());
        for (std::uint64_t number = 1; number <= 3; ++number) {
            const SessionRecord record = sample_session(TargetId{number}, SessionId{number, number});
            EXPECT_TRUE((*store)->define(partition_of(record.target, BucketNumber{472'222}), record).ok());
        }
        EXPECT_TRUE((*store)->sync().ok());
    }

    // The query process, with more options.
    void start(const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{program_path("perfleet-query"), "--data", data_, "--listen",
                                       "tcp://127.0.0.1:*"};
        words.insert(words.end(), more.begin(), more.end());
        process_ = std::make_unique<Process>(words);
        const auto line = process_->wait_for_output("ready ");
        ASSERT_TRUE(line.has_value()) << process_->error_output();
        endpoint_ = field_of(*line, "query");
    }

    // A client that asks for the sessions so often, and takes so many chunks of each answer.
    RawClient& ask(std::size_t query_count, std::uint32_t chunk_count, const ConnectKeys* keys = nullptr) {
        RawClient& client = stuck_.emplace_back(endpoint_, keys);
        for (std::uint64_t i = 1; i <= query_count; ++i) {
            EXPECT_TRUE(client.send(encode_query_message({i, Ask{"sessions", {}, chunk_count}})));
        }
        return client;
    }

    // Whether the query received anything but heartbeats.
    static bool has_ended(RawClient& client, std::uint64_t query) {
        bool has_ended = false;
        while (const auto received = client.receive()) {
            const auto message = decode_query_message_untrusted(std::as_bytes(std::span{*received}));
            has_ended =
                has_ended ||
                (message.ok() && message->query == query &&
                 (std::holds_alternative<QueryEnd>(message->body) || std::holds_alternative<Error>(message->body)));
        }
        return has_ended;
    }

    void expect_answers(const std::vector<std::string>& keys = {}) const {
        for (int i = 0; i < 3; ++i) {
            std::vector<std::string> words{program_path("perfleet"), "sessions", "--gateway", endpoint_};
            words.insert(words.end(), keys.begin(), keys.end());
            const Finished finished = run(words);
            ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
        }
    }

    ~QueryShare() override {
        stuck_.clear();
        if (process_ != nullptr) {
            process_->send_signal(SIGTERM);
            const auto ending = process_->wait();
            EXPECT_TRUE(ending.has_value() && ending->status == 0) << process_->error_output();
        }
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    std::unique_ptr<Process> process_;
    std::string endpoint_;
    std::list<RawClient> stuck_;
};

TEST_F(QueryShare, QueriesThatTakeNoChunksHoldUpNobody) {
    start();
    ask(40, 0);
    RawClient& last = ask(20, 0);
    expect_answers();
    EXPECT_FALSE(has_ended(last, 1)) << "it is still stuck";
}

TEST_F(QueryShare, AStuckQueryOnEachOfManyConnectionsHoldsUpNobody) {
    start();
    for (std::uint32_t i = 0; i < limits::kQueriesAtOnceMax; ++i) {
        ask(1, 1);
    }
    expect_answers();
    std::size_t stuck_count = 0;
    for (RawClient& client : stuck_) {
        stuck_count += has_ended(client, 1) ? 0 : 1;
    }
    EXPECT_GT(stuck_count, limits::kQueriesAtOnceMax / 2) << "others are still stuck";
}

TEST_F(QueryShare, ConnectionsThatComeAndGoHoldUpNobody) {
    start();
    for (int round = 0; round < 20; ++round) {
        ask(8, 1);
        stuck_.clear();
    }
    expect_answers();
}

TEST_F(QueryShare, ConnectionsOfOneKeyAreOneClient) {
    TestKeys keys;
    keys.make("query");
    keys.enrol("greedy");
    keys.enrol("me");
    start({"--key", keys.secret("query"), "--query-clients", keys.folder()});
    const ConnectKeys greedy = keys.connect_keys("greedy", "query");
    for (int i = 0; i < 5; ++i) {
        ask(limits::kQueriesOfClientMax, 1, &greedy);
    }
    expect_answers({"--key", keys.secret("me"), "--gateway-key", keys.pub("query")});
}

}  // namespace
}  // namespace perfleet::end_to_end::query_share_test
