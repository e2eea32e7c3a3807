#include "query-engine/wire/query_server.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_client.h"
#include "query-engine/wire/testing/raw_client.h"
#include "schemas/zmtp/listener.h"

namespace perfleet {
namespace {

using namespace query_message;

constexpr std::size_t kFileParts = 200;
constexpr std::size_t kPartSizeBytes = 50'000;
static_assert(kPartSizeBytes <= limits::kQueryChunkSizeBytes);

// A server on a thread of its own, on a free port.
class QueryServerTest : public ::testing::Test {
protected:
    void SetUp() override {
        stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
        std::map<std::string, std::function<Result<QueryEnd>(const OptionValues&, QueryReply&)>> handlers;
        handlers["table"] = [](const OptionValues& options, QueryReply& reply) -> Result<QueryEnd> {
            Answer answer;
            answer.columns = {{"i", ""}, {"text", ""}};
            for (std::uint64_t i = 0; i < std::get<std::uint64_t>(options.at("rows")); ++i) {
                answer.rows.push_back({i, std::string(i % 100, 'x')});
            }
            if (Result<Done> sent = reply.send_table(answer); !sent.ok()) {
                return std::move(sent).error();
            }
            QueryEnd end;
            end.ledger.produced = 5;
            end.ledger.stored = 5;
            end.warnings = {"careful"};
            return end;
        };
        handlers["endless"] = [](const OptionValues&, QueryReply& reply) -> Result<QueryEnd> {
            Answer answer;
            answer.columns = {{"number", ""}};
            answer.rows.assign(1'000, {std::uint64_t{7}});
            while (true) {
                if (Result<Done> sent = reply.send_table(answer); !sent.ok()) {
                    return std::move(sent).error();
                }
            }
        };
        handlers["file"] = [this](const OptionValues&, QueryReply& reply) -> Result<QueryEnd> {
            const std::string part(kPartSizeBytes, 'y');
            for (std::size_t i = 0; i < kFileParts; ++i) {
                if (Result<Done> sent = reply.write_at(i * part.size(), std::as_bytes(std::span{part})); !sent.ok()) {
                    file_was_cancelled_ = true;
                    return std::move(sent).error();
                }
                ++file_parts_sent_;
            }
            QueryEnd end;
            end.modified = UtcNs{77};
            end.summary = "a file";
            return end;
        };
        handlers["fail"] = [](const OptionValues&, QueryReply&) -> Result<QueryEnd> {
            return Error{ErrorCode::kUsage, "--event x: there is none"};
        };
        handlers["hang"] = [this](const OptionValues&, QueryReply& reply) -> Result<QueryEnd> {
            ++hanging_;
            reply.progress()(3, 9);
            while (!reply.cancelled()) {
                std::this_thread::sleep_for(std::chrono::microseconds{50});
            }
            --hanging_;
            return Error{ErrorCode::kCancelled, "cancelled"};
        };
        Result<std::unique_ptr<QueryServer>> server =
            QueryServer::open("tcp://127.0.0.1:*", [handlers](const Query& query, QueryReply& reply) {
                const auto handler = handlers.find(query.command);
                return handler == handlers.end()
                           ? Result<QueryEnd>{Error{ErrorCode::kUsage, "there is no such command"}}
                           : handler->second(query.values, reply);
            });
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_ = std::move(server).value();
        thread_ = std::thread{[this] {
            EXPECT_TRUE(server_
                            ->serve(stop_fd_,
                                    [this](const TransportCounts& counts) {
                                        malformed_count_ = counts.messages_malformed;
                                        cut_count_ = counts.refused_abuse_limit;
                                    })
                            .ok());
        }};
    }
    void TearDown() override {
        stop();
        ::close(stop_fd_);
    }
    void stop() {
        if (thread_.joinable()) {
            (void)::eventfd_write(stop_fd_, 1);
            thread_.join();
        }
    }

    std::unique_ptr<QueryClient> client() {
        Result<std::unique_ptr<QueryClient>> made = QueryClient::connect(server_->endpoint());
        EXPECT_TRUE(made.ok());
        return std::move(made).value();
    }

    // A client that behaves as the test wants.
    std::unique_ptr<RawClient> socket() { return std::make_unique<RawClient>(server_->endpoint()); }
    static Result<QueryMessage> next(RawClient& socket) {
        for (int i = 0; i < 1'000; ++i) {
            if (const auto received = socket.receive()) {
                return decode_query_message_untrusted(std::as_bytes(std::span{*received}));
            }
            socket.wait(100);
        }
        return Error{ErrorCode::kUnavailable, "nothing came"};
    }

    int stop_fd_ = -1;
    std::atomic<std::size_t> file_parts_sent_ = 0;
    std::atomic<bool> file_was_cancelled_ = false;
    std::atomic<int> hanging_ = 0;
    std::atomic<std::uint64_t> malformed_count_ = 0;
    std::atomic<std::uint64_t> cut_count_ = 0;
    std::unique_ptr<QueryServer> server_;
    std::thread thread_;
};

TEST_F(QueryServerTest, TablesOfManyChunksArriveWhole) {
    const auto query_client = client();
    for (const std::uint64_t row_count : {0U, 1U, 50'000U}) {
        const Result<Answer> answer = query_client->ask_table("table", {{"rows", std::uint64_t{row_count}}});
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        ASSERT_EQ(answer->rows.size(), row_count);
        for (std::uint64_t i = 0; i < row_count; ++i) {
            ASSERT_EQ(answer->rows[i], (std::vector<AnswerValue>{i, std::string(i % 100, 'x')}));
        }
        EXPECT_EQ(answer->columns.size(), 2U);
        EXPECT_EQ(answer->ledger.produced, 5U);
        EXPECT_EQ(answer->warnings, std::vector<std::string>{"careful"});
    }
}

// Messages sent before it hung up are handled, without a wait for another connection.
TEST_F(QueryServerTest, AClientHearsThatItStopped) {
    std::size_t parts = 0;
    const auto end =
        client()->ask_file("file", {}, [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<Done> {
            EXPECT_EQ(offset, parts * bytes.size());
            if (++parts == limits::kQueryChunksAheadMax / 2) {  // before it says that it has taken them
                stop();
                server_.reset();
                std::this_thread::sleep_for(std::chrono::milliseconds{100});  // the client's thread knows it then
            }
            return Done{};
        });
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().message, "perfleet-query is stopping");
    EXPECT_LT(parts, kFileParts);
}

TEST_F(QueryServerTest, ATableStaysWithinTheMemoryOfItsCommand) {
    const auto query_client = client();
    constexpr std::uint64_t kRows = 50'000;
    const Result<Answer> refused =
        query_client->ask_table("table", {{"rows", std::uint64_t{kRows}}, {"memory", std::uint64_t{4U << 20}}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
    EXPECT_NE(refused.error().message.find("--memory 4m: raise that"), std::string::npos) << refused.error().message;
    const Result<Answer> whole =
        query_client->ask_table("table", {{"rows", std::uint64_t{kRows}}, {"memory", std::uint64_t{64U << 20}}});
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    EXPECT_EQ(whole->rows.size(), kRows);
}

TEST_F(QueryServerTest, AnAnswerHasOneTable) {
    const Result<Answer> answer = client()->ask_table("endless", {});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
    EXPECT_NE(answer.error().message.find("a second table"), std::string::npos) << answer.error().message;
}

TEST_F(QueryServerTest, FilesArriveWhole) {
    std::string file;
    const Result<QueryEnd> end =
        client()->ask_file("file", {}, [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<Done> {
            EXPECT_EQ(offset, file.size());
            file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            return Done{};
        });
    ASSERT_TRUE(end.ok()) << end.error().message;
    EXPECT_EQ(file, std::string(kFileParts * kPartSizeBytes, 'y'));
    EXPECT_EQ(end->modified, UtcNs{77});
    EXPECT_EQ(end->summary, "a file");
}

TEST_F(QueryServerTest, ErrorsKeepTheirCode) {
    const auto query_client = client();
    const Result<Answer> failed = query_client->ask_table("fail", {});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kUsage);
    EXPECT_EQ(failed.error().message, "--event x: there is none");
    const Result<Answer> unknown = query_client->ask_table("nosuch", {});
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
    EXPECT_TRUE(query_client->ask_table("table", {{"rows", std::uint64_t{1}}}).ok());
}

TEST_F(QueryServerTest, TellsHowFarAQueryHasCome) {
    const auto query_client = client();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> reported;
    query_client->report_to([&](std::uint64_t done, std::uint64_t total) {
        reported.emplace_back(done, total);
        if (done != 0 || reported.size() > 5) {
            stop();  // ends the query
        }
    });
    EXPECT_FALSE(query_client->ask_table("hang", {}).ok());
    ASSERT_FALSE(reported.empty());
    EXPECT_EQ(reported.back(), std::pair(std::uint64_t{3}, std::uint64_t{9}));
}

TEST_F(QueryServerTest, SlowClientHoldsTheHandlerAtItsCredit) {
    const auto query_client = socket();
    ASSERT_TRUE(query_client->send(encode_query_message({1, Ask{"file", {}, 3}})));
    std::size_t chunks = 0;
    while (chunks < 3) {
        const Result<QueryMessage> message = next(*query_client);
        ASSERT_TRUE(message.ok()) << message.error().message;
        chunks += std::holds_alternative<Bytes>(message->body) ? 1 : 0;
    }
    // The next word is the server's sign of life: no chunk goes out without credit.
    const Result<QueryMessage> working = next(*query_client);
    ASSERT_TRUE(working.ok());
    EXPECT_TRUE(std::holds_alternative<Working>(working->body));
    while (file_parts_sent_ < 3) {
        std::this_thread::sleep_for(std::chrono::microseconds{50});  // the handler is a moment behind what it has sent
    }
    EXPECT_EQ(file_parts_sent_, 3U);
    // However much credit is asked for, the server looks ahead no further than its limit.
    ASSERT_TRUE(query_client->send(encode_query_message({1, More{~0U}})));
    while (chunks < 3 + limits::kQueryChunksAheadMax) {
        const Result<QueryMessage> message = next(*query_client);
        ASSERT_TRUE(message.ok()) << message.error().message;
        chunks += std::holds_alternative<Bytes>(message->body) ? 1 : 0;
    }
    const Result<QueryMessage> again = next(*query_client);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(std::holds_alternative<Working>(again->body));
    ASSERT_TRUE(query_client->send(encode_query_message({1, Cancel{}})));
    while (true) {
        const Result<QueryMessage> message = next(*query_client);
        ASSERT_TRUE(message.ok()) << message.error().message;
        if (const auto* error = std::get_if<Error>(&message->body)) {
            EXPECT_EQ(error->code, ErrorCode::kCancelled);
            break;
        }
    }
    EXPECT_TRUE(file_was_cancelled_);
}

TEST_F(QueryServerTest, ClientThatIsGoneIsCancelled) {
    {
        const auto query_client = socket();
        ASSERT_TRUE(query_client->send(encode_query_message({1, Ask{"hang", {}, 3}})));
        while (hanging_ == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
    }
    const auto other = client();
    while (hanging_ != 0) {
        ASSERT_TRUE(other->ask_table("table", {{"rows", std::uint64_t{0}}}).ok());
    }
}

TEST_F(QueryServerTest, MoreQueriesThanTheLimitAreRefused) {
    const auto query_client = socket();
    for (std::uint64_t i = 1; i <= limits::kQueriesAtOnceMax + 1; ++i) {
        ASSERT_TRUE(query_client->send(encode_query_message({i, Ask{"hang", {}, 1}})));
    }
    while (true) {
        const Result<QueryMessage> message = next(*query_client);
        ASSERT_TRUE(message.ok()) << message.error().message;
        if (const auto* error = std::get_if<Error>(&message->body)) {
            EXPECT_EQ(message->query, limits::kQueriesAtOnceMax + 1);
            EXPECT_EQ(error->code, ErrorCode::kBusy);
            break;
        }
    }
    stop();  // ends those that hang
    EXPECT_EQ(hanging_, 0);
}

// Clients that are stuck, while another one's queries are answered.
class StuckQueries : public QueryServerTest {
protected:
    // A client that asks so often, and reads nothing.
    RawClient& ask(std::size_t query_count, std::uint32_t chunk_count, const char* command = "endless") {
        stuck_.push_back(socket());
        for (std::uint64_t i = 1; i <= query_count; ++i) {
            EXPECT_TRUE(stuck_.back()->send(encode_query_message({i, Ask{command, {}, chunk_count}})));
        }
        return *stuck_.back();
    }

    void expect_answers(int count = 5) {
        const auto honest = client();
        for (int i = 0; i < count; ++i) {
            const Result<Answer> answer = honest->ask_table("table", {{"rows", std::uint64_t{1'000}}});
            ASSERT_TRUE(answer.ok()) << answer.error().message;
            ASSERT_EQ(answer->rows.size(), 1'000U);
        }
    }

    // The outcome of the query: its failure, or nothing yet.
    static std::optional<Error> failure_of(RawClient& client, std::uint64_t query) {
        while (const auto received = client.receive()) {
            auto message = decode_query_message_untrusted(std::as_bytes(std::span{*received}));
            if (message.ok() && message->query == query && std::holds_alternative<Error>(message->body)) {
                return std::get<Error>(message->body);
            }
        }
        return std::nullopt;
    }

    std::vector<std::unique_ptr<RawClient>> stuck_;
};

TEST_F(StuckQueries, OfAChunkCountOfZeroHoldNoPlace) {
    ask(40, 0);
    ask(24, 0);
    expect_answers();
    EXPECT_EQ(failure_of(*stuck_.back(), 1), std::nullopt) << "it still waits";
}

TEST_F(StuckQueries, OfOneClientHoldNoMoreThanItsShare) {
    RawClient& stuck = ask(limits::kQueriesOfClientMax, 1);
    expect_answers();
    EXPECT_EQ(failure_of(stuck, 1), std::nullopt) << "nobody waits for its place";
}

TEST_F(StuckQueries, OfManyClientsMakeWayForOthers) {
    for (std::uint32_t i = 0; i < limits::kQueriesAtOnceMax; ++i) {
        ask(1, 1);
    }
    expect_answers();
    std::size_t failed_count = 0;
    for (const auto& stuck : stuck_) {
        if (const auto failure = failure_of(*stuck, 1)) {
            ++failed_count;
            EXPECT_EQ(failure->code, ErrorCode::kBusy);
            EXPECT_NE(failure->message.find("repeat the query"), std::string::npos) << failure->message;
        }
    }
    EXPECT_GE(failed_count, 1U);
    EXPECT_LT(failed_count, limits::kQueriesAtOnceMax / 2) << "no more than others wait for";
}

TEST_F(StuckQueries, OfOneClientMakeWayForItsOwn) {
    RawClient& stuck = ask(limits::kQueriesOfClientMax, 1);
    ASSERT_TRUE(stuck.send(encode_query_message({99, Ask{"table", {{"rows", std::uint64_t{1}}}, 16}})));
    while (true) {
        const Result<QueryMessage> message = next(stuck);
        ASSERT_TRUE(message.ok()) << message.error().message;
        if (message->query == 99 && std::holds_alternative<QueryEnd>(message->body)) {
            break;
        }
    }
}

TEST_F(StuckQueries, ThatKeepTheProcessorBusyLeavePlacesToOthers) {
    for (int i = 0; i < 4; ++i) {
        ask(limits::kQueriesOfClientMax + limits::kQueriesWaitingOfClientMax, 1, "hang");
    }
    while (hanging_ < static_cast<int>(limits::kQueriesAtOnceMax / 4 * 3)) {
        std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    expect_answers();
    EXPECT_LT(hanging_, static_cast<int>(limits::kQueriesAtOnceMax)) << "some places stay for clients that run none";
}

TEST_F(StuckQueries, OfClientsThatAreGoneEndAtOnce) {
    for (int round = 0; round < 8; ++round) {
        ask(limits::kQueriesOfClientMax, 1, "hang");
        while (hanging_ == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
        stuck_.clear();
    }
    expect_answers();
}

TEST_F(StuckQueries, OnAllConnectionsMakeWayForANewOne) {
    for (int i = 0; i < 300; ++i) {
        ask(1, 0);
    }
    expect_answers();
}

TEST_F(QueryServerTest, GarbageIsAnsweredAndForgotten) {
    const auto stranger = socket();
    ASSERT_TRUE(stranger->send("GET / HTTP/1.1"));
    const Result<QueryMessage> message = next(*stranger);
    ASSERT_TRUE(message.ok());
    EXPECT_TRUE(std::holds_alternative<Error>(message->body));
    EXPECT_TRUE(client()->ask_table("table", {{"rows", std::uint64_t{3}}}).ok());
}

TEST_F(QueryServerTest, WhoGoesOnSendingGarbageIsCountedAndCutOff) {
    const auto decent = socket();
    ASSERT_TRUE(decent->send("a mistake"));
    EXPECT_TRUE(next(*decent).ok());
    const auto stranger = socket();
    for (int round = 0; round < 10'000 && cut_count_ == 0; ++round) {
        for (int i = 0; i < 100; ++i) {
            (void)stranger->send("GET / HTTP/1.1");
        }
        stranger->wait(10);
        while (stranger->receive()) {
        }
    }
    EXPECT_GE(cut_count_, 1U);
    EXPECT_GT(malformed_count_, std::uint64_t{QueryServer::kStrikeLimits.count_max});
    ASSERT_TRUE(decent->send("another"));
    EXPECT_TRUE(next(*decent).ok()) << "one mistake in a while is forgiven";
    EXPECT_TRUE(client()->ask_table("table", {{"rows", std::uint64_t{3}}}).ok());
}

TEST_F(QueryServerTest, WhoGoesOnSendingWhatBelongsToNoQueryIsCutOff) {
    const auto stranger = socket();
    for (int round = 0; round < 10'000 && cut_count_ == 0; ++round) {
        for (std::uint64_t i = 0; i < 100; ++i) {
            (void)stranger->send(encode_query_message({i, More{1}}));
            (void)stranger->send(encode_query_message({i, Working{}}));
        }
        stranger->wait(10);
    }
    EXPECT_GE(cut_count_, 1U);
    EXPECT_TRUE(client()->ask_table("table", {{"rows", std::uint64_t{3}}}).ok());
}

TEST_F(QueryServerTest, WhoGoesOnAskingWhatIsRefusedIsCutOff) {
    const auto stranger = socket();
    for (int round = 0; round < 10'000 && cut_count_ == 0; ++round) {
        for (std::uint64_t i = 1; i < 100; ++i) {
            (void)stranger->send(encode_query_message({i, Ask{"nosuch", {}, 1}}));
        }
        stranger->wait(10);
        while (stranger->receive()) {
        }
    }
    EXPECT_GE(cut_count_, 1U);
    EXPECT_TRUE(client()->ask_table("table", {{"rows", std::uint64_t{3}}}).ok());
}

TEST(QueryClient, NobodyThereIsReportedAfterTheTimeout) {
    // An endpoint that listens and never answers: the port is taken, so no other program can use it.
    const auto mute = zmtp::Listener::open("--listen", "tcp://127.0.0.1:*");
    ASSERT_TRUE(mute.ok());
    const auto query_client = QueryClient::connect(mute->endpoint(), nullptr, 50'000'000);
    ASSERT_TRUE(query_client.ok());
    const Result<Answer> answer = (*query_client)->ask_table("top", {});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(answer.error().message.find(mute->endpoint()), std::string::npos);
}

TEST(QueryClient, EndpointThatIsNoneIsAUsageError) {
    for (const char* endpoint : {"", "localhost", "tcp://", "tcp://127.0.0.1", "udp://127.0.0.1:1"}) {
        const auto query_client = QueryClient::connect(endpoint);
        ASSERT_FALSE(query_client.ok()) << endpoint;
        EXPECT_EQ(query_client.error().code, ErrorCode::kUsage) << query_client.error().message;
    }
}

TEST(QueryServer, ListensOnThisMachineOnlyAndOnFreePorts) {
    for (const char* endpoint : {"tcp://0.0.0.0:*", "tcp://*:*", "tcp://192.0.2.1:5000", "nowhere"}) {
        const auto server = QueryServer::open(endpoint, {});
        ASSERT_FALSE(server.ok()) << endpoint;
        EXPECT_EQ(server.error().code, ErrorCode::kUsage);
    }
    const auto first = QueryServer::open("tcp://127.0.0.1:*", {});
    ASSERT_TRUE(first.ok());
    const auto second = QueryServer::open((*first)->endpoint(), {});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
}

}  // namespace
}  // namespace perfleet
