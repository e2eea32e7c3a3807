// Which keys may query: those that are enrolled, as long as they are.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "daemon/metrics/testing/scrape.h"
#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "query-engine/wire/query_server.h"
#include "query-engine/wire/testing/raw_client.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::query_keys_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kUnknownKeys = "perfleet_gateway_query_handshakes_failed_total{reason=\"unknown_key\"}";
constexpr std::string_view kRevoked = "perfleet_gateway_query_connections_refused_total{reason=\"revoked\"}";

// Asks over one socket, which connects again by itself.
class Client {
public:
    Client(const std::string& endpoint, const ConnectKeys* keys) : socket_{endpoint, keys} {}

    // False: it isn't accepted.
    bool ask(const std::string& command) {
        ++query_;
        return socket_.send(
            encode_query_message({query_, query_message::Ask{command, {}, limits::kQueryChunksAheadMax}}));
    }

    // Whether anything was reported about the last question by now.
    bool has_heard() {
        while (const auto received = socket_.receive()) {
            const auto message = decode_query_message_untrusted(std::as_bytes(std::span{*received}));
            if (message.ok() && message->query == query_) {
                return true;
            }
        }
        return false;
    }

    void expect_heard() {
        const auto deadline = Clock::now() + std::chrono::seconds{kTimeoutS};
        while (!has_heard()) {
            ASSERT_LT(Clock::now(), deadline) << "no answer";
            socket_.wait(100);
        }
    }

private:
    RawClient socket_;
    std::uint64_t query_ = 0;
};

// The folder also holds the keys of clients that query.
struct ClientKeys : TestKeys {
    ClientKeys() {
        make("query");
        enrol("me");
        make("stranger");
    }
};

class QueryKeys : public testing::Test {
protected:
    Client client(const std::string& name) {
        const ConnectKeys keys = keys_.connect_keys(name, "query");
        return Client{gateway_.query(), &keys};
    }

    // Of one sample, or over all of a family.
    [[nodiscard]] double metric(std::string_view name) const {
        const ScrapedPage page = scrape(gateway_.metrics());
        EXPECT_EQ(page.all_problems(), "");
        return page.value(std::string{name}).value_or(page.sum(std::string{name}));
    }

    void wait_for_metric(std::string_view name, double at_least) const {
        const auto deadline = Clock::now() + std::chrono::seconds{kTimeoutS};
        while (metric(name) < at_least) {
            ASSERT_LT(Clock::now(), deadline) << name << "\n" << http_get(gateway_.metrics(), "/metrics").body;
            std::this_thread::sleep_for(std::chrono::milliseconds{10});  // scrapes are the gateway's work, too
        }
    }

    TemporaryFolder folder_;
    ClientKeys keys_;
    GatewayProgram gateway_{
        folder_ / "data",
        "tcp://127.0.0.1:*",
        "tcp://127.0.0.1:*",
        program_path("perfleet-gateway"),
        {},
        {"--query-key", keys_.secret("query"), "--query-clients", keys_.folder(), "--metrics", "127.0.0.1:*"}};
};

TEST_F(QueryKeys, WhoIsEnrolledAsks) {
    const Finished asked = run({program_path("perfleet"), "targets", "--gateway", gateway_.query(), "--key",
                                keys_.secret("me"), "--gateway-key", keys_.pub("query")});
    EXPECT_EQ(asked.ending.status, 0) << asked.error_output;
    wait_for_metric("perfleet_gateway_query_connections_accepted_total", 1);
    EXPECT_EQ(metric("perfleet_gateway_query_keys_enrolled"), 1);
    EXPECT_EQ(metric(kUnknownKeys), 0);
    EXPECT_EQ(metric("perfleet_gateway_connections_accepted_total"), 0);  // those are of collectors
    const Finished remote =
        run({program_path("perfleet-query"), "--data", folder_ / "data", "--listen", "tcp://0.0.0.0:*"});
    EXPECT_EQ(remote.ending.status, 2);
    EXPECT_NE(remote.error_output.find("keygen"), std::string::npos) << remote.error_output;
}

TEST_F(QueryKeys, AnUnknownClientHearsNothingAndIsCountedUntilItIsEnrolled) {
    Client stranger = client("stranger");
    EXPECT_FALSE(stranger.ask("targets"));
    wait_for_metric(kUnknownKeys, 1);
    EXPECT_FALSE(stranger.has_heard());
    keys_.enrol("stranger");
    wait_for_metric("perfleet_gateway_query_keys_enrolled", 2);
    Client enrolled = client("stranger");
    EXPECT_TRUE(enrolled.ask("targets"));
    enrolled.expect_heard();
}

TEST_F(QueryKeys, AClientWithoutAKeyHearsNothingAndIsCounted) {
    Client keyless{gateway_.query(), nullptr};
    EXPECT_FALSE(keyless.ask("targets"));
    // As `no_key`, or as `unfinished` when the client is the first to see that they don't fit.
    wait_for_metric("perfleet_gateway_query_handshakes_failed_total", 1);
    EXPECT_FALSE(keyless.has_heard());
}

TEST_F(QueryKeys, ARevokedClientIsCutOffAndTheOthersGoOn) {
    keys_.enrol("other");
    wait_for_metric("perfleet_gateway_query_keys_enrolled", 2);
    Client me = client("me");
    Client other = client("other");
    for (Client* const both : {&me, &other}) {
        EXPECT_TRUE(both->ask("targets"));
        both->expect_heard();
    }
    EXPECT_EQ(metric(kRevoked), 0);
    keys_.revoke("me");
    wait_for_metric(kRevoked, 1);
    while (me.has_heard()) {
        // its replies before the end
    }
    (void)me.ask("sessions");  // libzmq may not have seen the end yet, and then may not reconnect by itself
    Client again = client("me");
    EXPECT_FALSE(again.ask("sessions"));
    wait_for_metric(kUnknownKeys, 1);
    EXPECT_FALSE(me.has_heard());
    EXPECT_FALSE(again.has_heard());
    other.ask("sessions");
    other.expect_heard();
    EXPECT_EQ(metric(kRevoked), 1);
}

TEST(QueryProcessLog, HasTheGatewaysLevelAndFormat) {
    const TemporaryFolder folder;
    const ClientKeys keys;
    std::ofstream{keys.folder() + "/bad.pub"} << "no key";
    const auto said_with = [&](const std::string& level, const std::string& format) {
        GatewayProgram gateway{folder / "data",
                               "tcp://127.0.0.1:*",
                               "tcp://127.0.0.1:*",
                               program_path("perfleet-gateway"),
                               {},
                               {"--query-key", keys.secret("query"), "--query-clients", keys.folder(), "--log-level",
                                level, "--log-format", format}};
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
        return gateway.process().error_output();
    };
    const std::string json = said_with("info", "json");
    EXPECT_NE(json.find("bad.pub"), std::string::npos) << json;
    std::istringstream lines{json};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    }
    EXPECT_EQ(said_with("error", "text"), "");
}

TEST(QueryServerKeys, AQueryEndsWhenItsClientIsRevoked) {
    const ClientKeys keys;
    std::atomic<bool> is_running{false};
    std::atomic<bool> was_cancelled{false};
    const auto hang = [&](const Query&, QueryReply& reply) -> Result<QueryEnd> {
        is_running = true;
        is_running.notify_all();
        while (!reply.cancelled()) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
        was_cancelled = true;
        was_cancelled.notify_all();
        return Error{ErrorCode::kCancelled, "cancelled"};
    };
    const QueryServerKeys server_keys{keys.secret("query"), keys.folder(), {}};
    auto server = QueryServer::open("tcp://127.0.0.1:*", hang, &server_keys);
    ASSERT_TRUE(server.ok()) << server.error().message;
    const int stop_fd = ::eventfd(0, EFD_CLOEXEC);
    std::thread thread{[&] { EXPECT_TRUE((*server)->serve(stop_fd).ok()); }};
    {
        const ConnectKeys own = keys.connect_keys("me", "query");
        Client me{(*server)->endpoint(), &own};
        EXPECT_TRUE(me.ask("hang"));
        is_running.wait(false);
        keys.revoke("me");
        was_cancelled.wait(false);  // nobody else cancels it: without revocation this test hangs
    }
    (void)::eventfd_write(stop_fd, 1);
    thread.join();
    ::close(stop_fd);
}

}  // namespace
}  // namespace perfleet::end_to_end::query_keys_test
