#include "query-engine/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "schemas/host/descriptor_limit.h"

namespace perfleet::http_server_test {
namespace {

// A connection, by which a test sends and reads bytes.
class Client {
public:
    explicit Client(std::uint16_t port) : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_port = htons(port);
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
        const timeval timeout{20, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (size <= 0) {
                return;  // the server has closed it
            }
            bytes.remove_prefix(static_cast<std::size_t>(size));
        }
    }
    // Reads until the text has come, or to the end.
    std::string read_until(const std::string& text) {
        std::size_t found = std::string::npos;
        while ((found = read_.find(text)) == std::string::npos && read_more()) {
        }
        const std::size_t size = found == std::string::npos ? read_.size() : found + text.size();
        std::string head = read_.substr(0, size);
        read_.erase(0, size);
        return head;
    }
    std::string read_to_end() {
        while (read_more()) {
        }
        return std::exchange(read_, {});
    }
    void close() { fd_.reset(); }

private:
    bool read_more() {
        std::array<char, 65'536> bytes{};
        const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
        read_.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
        return size > 0;
    }

    FileDescriptor fd_;
    std::string read_;
};

class HttpServerTest : public testing::Test {
protected:
    HttpServerTest() { serve(""); }

    void serve(const std::string& tokens) {
        raise_descriptor_limit();  // for both ends of many connections
        FileDescriptor listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
        EXPECT_EQ(::listen(listening.get(), 1'024), 0);
        socklen_t size = sizeof place;
        ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&place), &size);
        port_ = ntohs(place.sin_port);
        auto server = HttpServer::make(
            std::move(listening),
            {[this](const HttpRequest& request, HttpReply& reply) { answer(request, reply); },
             [](std::string_view path) {
                 return path == "/healthz" ? HttpRole::kNone : path == "/push" ? HttpRole::kPush : HttpRole::kRead;
             },
             [this](const HttpRequest& request, HttpReply& reply) {
                 if (request.path == "/healthz") {
                     answer(request, reply);
                 }
                 return request.path == "/healthz";
             },
             "127.0.0.1",
             {tokens, {}}});
        EXPECT_TRUE(server.ok());
        server_ = std::move(*server);
        server_->start();
    }

    void answer(const HttpRequest& request, HttpReply& reply) {
        if (request.path == "/stream") {
            reply.begin({200, "text/plain", {}});
            const std::string piece(10'000, 'x');
            for (int i = 0; i < 1'000 && reply.write(std::as_bytes(std::span{piece})).ok(); ++i) {
            }
        } else if (request.path == "/cut") {
            reply.begin({200, "text/plain", {}});
            (void)reply.write(std::as_bytes(std::span{"half", 4}));
            reply.abort();
        } else if (request.path == "/wait") {
            std::unique_lock lock{mutex_};
            ++waiting_count_;
            changed_.notify_all();
            changed_.wait(lock, [&] { return is_released_; });
            reply.send({200, "text/plain", "waited"});
        } else if (request.path == "/until-cancelled") {
            {
                const std::scoped_lock lock{mutex_};
                ++waiting_count_;
                changed_.notify_all();
            }
            while (!reply.cancelled()) {
                ::usleep(1'000);
            }
            const std::scoped_lock lock{mutex_};
            ++cancelled_count_;
            changed_.notify_all();
        } else if (request.path != "/nothing") {
            reply.send({200,
                        "text/plain",
                        request.method + " " + request.path + " " + request.client + request.body,
                        {{"X-Header", std::string{request.header("x-header")}}}});
        }
    }
    void wait_for(const int& count, int wanted) {
        std::unique_lock lock{mutex_};
        EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return count >= wanted; }));
    }
    void release() {
        const std::scoped_lock lock{mutex_};
        is_released_ = true;
        changed_.notify_all();
    }
    static std::string get(const std::string& path, const std::string& more = "") {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
    }

    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_count_ = 0;
    int cancelled_count_ = 0;
    bool is_released_ = false;
    std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, OneConnectionTakesManyRequests) {
    Client client{port_};
    client.send(get("/a", "X-Header: b\r\n"));
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_EQ(head.find("HTTP/1.1 200 OK\r\n"), 0U) << head;
    EXPECT_NE(head.find("Content-Length: 7\r\n"), std::string::npos) << head;
    EXPECT_NE(head.find("X-Header: b\r\n"), std::string::npos) << head;
    EXPECT_EQ(client.read_until("/a "), "GET /a ");
    client.send(get("/b") + "POST /c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody" + get("/d"));
    client.read_until("GET /b ");
    client.read_until("POST /c body");
    client.read_until("GET /d ");
    client.send("HEAD /e HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/f", "Connection: close\r\n"));
    EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 8\r\n"), std::string::npos);
    EXPECT_EQ(client.read_until("\r\n").find("HTTP/1.1 200 OK"), 0U) << "HEAD has no body";
    client.read_until("GET /f ");
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_EQ(server_->counts().requests, 6U);
}

TEST_F(HttpServerTest, BodiesOfUnknownSizeAreChunked) {
    Client client{port_};
    client.send(get("/stream", "Connection: close\r\n"));
    EXPECT_NE(client.read_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
    const std::string body = client.read_to_end();
    EXPECT_EQ(std::ranges::count(body, 'x'), 10'000'000);
    EXPECT_TRUE(body.ends_with("\r\n0\r\n\r\n"));
    Client old{port_};
    old.send("GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n");
    old.read_until("\r\n\r\n");
    EXPECT_EQ(old.read_to_end(), std::string(10'000'000, 'x'));
}

TEST_F(HttpServerTest, ACutBodyHasNoEnd) {
    Client client{port_};
    client.send(get("/cut"));
    client.read_until("half\r\n");
    EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpServerTest, AHandlerWithoutAnAnswerIsAnError) {
    Client client{port_};
    client.send(get("/nothing"));
    EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 500 Internal Server Error\r\n");
}

TEST_F(HttpServerTest, AnErrorForHeadHasNoBody) {
    Client client{port_};
    client.send("HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/a"));
    client.read_until("\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 200 OK\r\n");
}

TEST_F(HttpServerTest, MalformedLargeAndForeignRequestsAreRefused) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + std::string(HttpServer::kHeaderSizeBytesMax, 'a') + "\r\n\r\n",
         "HTTP/1.1 431 "},
        {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(HttpServer::kBodySizeBytesMax + 1) +
             "\r\n\r\n",
         "HTTP/1.1 413 "},
        {"GET / HTTP/1.1\r\nHost: perfleet.example\r\n\r\n", "HTTP/1.1 421 "},
        {"GET / HTTP/1.1\r\nHost: 127.0.0.1.example\r\n\r\n", "HTTP/1.1 421 "},
        {"GET / HTTP/1.1\r\nHost: 127.1.example:80\r\n\r\n", "HTTP/1.1 421 "},
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 421 "},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "HTTP/1.1 400 "},
        {"GET http://perfleet.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 421 "},
        {"POST / HTTP/1.1\r\nHost: perfleet.example\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 421 "},
    };
    for (const auto& [request, expected] : cases) {
        Client client{port_};
        client.send(request);
        const std::string status = client.read_until("\r\n");
        EXPECT_EQ(status.find(expected), 0U) << status << request.substr(0, 100);
    }
    EXPECT_EQ(server_->counts().refused, cases.size());
    for (const std::string host : {"localhost", "localhost:7413", "127.0.0.1", "127.0.0.1:1", "[::1]:7413"}) {
        Client client{port_};
        client.send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 200 OK\r\n") << host;
    }
    Client absolute{port_};
    absolute.send("GET http://127.0.0.1/a HTTP/1.1\r\nHost: perfleet.example\r\n\r\n");
    EXPECT_TRUE(absolute.read_until("GET /a ").ends_with("GET /a "));
}

TEST_F(HttpServerTest, AClientThatGoesCancelsItsRequest) {
    Client client{port_};
    client.send(get("/until-cancelled"));
    wait_for(waiting_count_, 1);
    client.close();
    wait_for(cancelled_count_, 1);
    Client slow{port_};  // doesn't read what is streamed
    slow.send(get("/stream"));
    slow.read_until("\r\n\r\n");
    slow.close();
    Client other{port_};
    other.send(get("/other"));
    other.read_until("GET /other ");
}

TEST_F(HttpServerTest, AClientThatGoesAfterFurtherRequestsCancelsTheFirst) {
    Client client{port_};
    client.send(get("/until-cancelled") + get("/a"));
    wait_for(waiting_count_, 1);
    client.send(get("/b"));  // stays unread
    client.close();
    wait_for(cancelled_count_, 1);
}

TEST_F(HttpServerTest, MoreThanCanWaitAreToldSo) {
    constexpr std::size_t kMost = HttpServer::kHandlersMax + HttpServer::kWaitingMax;
    std::vector<std::unique_ptr<Client>> clients;
    for (std::size_t i = 0; i < kMost; ++i) {
        clients.push_back(std::make_unique<Client>(port_));
        clients.back()->send(get("/wait"));
        if (i < HttpServer::kHandlersMax) {
            wait_for(waiting_count_, static_cast<int>(i) + 1);  // else requests wait that a handler is about to take
        }
    }
    while (server_->counts().requests < kMost) {
        ::usleep(1'000);
    }
    Client late{port_};
    late.send(get("/a"));
    const std::string head = late.read_until("\r\n\r\n");
    EXPECT_EQ(head.find("HTTP/1.1 503 "), 0U) << head;
    EXPECT_NE(head.find("Retry-After: 1\r\n"), std::string::npos) << head;
    EXPECT_EQ(server_->counts().busy, 1U);
    release();
    for (const auto& client : clients) {
        EXPECT_EQ(client->read_until("\r\n"), "HTTP/1.1 200 OK\r\n");
    }
}

TEST_F(HttpServerTest, AnswersThatTakeNoTimeDontWaitForHandlers) {
    std::vector<std::unique_ptr<Client>> clients;
    for (std::size_t i = 0; i < HttpServer::kHandlersMax; ++i) {
        clients.push_back(std::make_unique<Client>(port_));
        clients.back()->send(get("/wait"));
        wait_for(waiting_count_, static_cast<int>(i) + 1);
    }
    Client client{port_};
    client.send(get("/healthz"));
    EXPECT_TRUE(client.read_until("GET /healthz ").ends_with("GET /healthz "));
    release();
}

TEST_F(HttpServerTest, ClientsThatDontReadGiveWayToOthers) {
    std::vector<std::unique_ptr<Client>> slow;
    for (std::size_t i = 0; i < HttpServer::kHandlersMax; ++i) {
        slow.push_back(std::make_unique<Client>(port_));
        slow.back()->send(get("/stream", "Connection: close\r\n"));
        slow.back()->read_until("\r\n\r\n");
    }
    Client client{port_};
    client.send(get("/a"));
    EXPECT_TRUE(client.read_until("GET /a ").ends_with("GET /a "));
    EXPECT_GT(
        std::ranges::count_if(slow, [](const auto& each) { return !each->read_to_end().ends_with("\r\n0\r\n\r\n"); }),
        0)
        << "it sees that it doesn't have all";
}

class HttpServerTokensTest : public HttpServerTest {
protected:
    HttpServerTokensTest() {
        std::ofstream{path_}
            << "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad read reader\n"
               "sha256:cb8379ac2098aa165029e3938a51da0bcecfc008fd6795f401178647f96c5b34 push pusher\n"
               "sha256:50ae61e841fac4e8f9e40baf2ad36ec868922ea48368c18f9535e47db56dd7fb push small quota=1k\n";
        serve(path_);
    }
    ~HttpServerTokensTest() override { std::filesystem::remove(path_); }

    std::string head_of(const std::string& path, const std::string& token, const std::string& body = "") {
        Client client{port_};
        client.send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                    (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        std::string head = client.read_until("\r\n\r\n");
        return head += client.read_until(body);
    }

    std::string path_ = testing::TempDir() + "http_server_tokens." + std::to_string(::getpid());
};

TEST_F(HttpServerTokensTest, RolesAreTheTokens) {
    for (const auto& [path, token, status, more] : std::vector<std::tuple<std::string, std::string, int, std::string>>{
             {"/a", "abc", 200, "POST /a reader"},
             {"/push", "def", 200, "POST /push pusher"},
             {"/healthz", "", 200, ""},
             {"/a", "", 401, "WWW-Authenticate: Bearer realm=\"perfleet\"\r\n"},
             {"/push", "", 401, "WWW-Authenticate: Bearer"},
             {"/a", "nonsense", 401, "error=\"invalid_token\""},
             {"/healthz", "nonsense", 401, "error=\"invalid_token\""},
             {"/a?access_token=abc", "", 401, ""},
             {"/a", "def", 403, "error=\"insufficient_scope\""},
             {"/push", "abc", 403, "error=\"insufficient_scope\""},
             {"/%70ush", "abc", 403, ""}}) {
        for (const std::string body : {"", "body"}) {
            const std::string head = head_of(path, token, body);
            EXPECT_EQ(head.find("HTTP/1.1 " + std::to_string(status)), 0U) << path << " " << token << ": " << head;
            EXPECT_TRUE(body.empty() || head.find(more) != std::string::npos) << path << " " << token << ": " << head;
        }
    }
    EXPECT_EQ(server_->counts().denied, 16U);
    EXPECT_EQ(server_->counts().unknown_tokens, 4U);
}

TEST_F(HttpServerTokensTest, AClientPushesNoMoreThanItsQuota) {
    const std::string body(600, 'x');
    const auto push = [&] {
        Client client{port_};
        client.send(
            "POST /push HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ghi\r\nContent-Length: 600\r\n\r\n" +
            body);
        return client.read_until("\r\n\r\n");
    };
    EXPECT_EQ(push().find("HTTP/1.1 200"), 0U);
    EXPECT_EQ(push().find("HTTP/1.1 200"), 0U) << "some are left";
    const std::string head = push();
    EXPECT_EQ(head.find("HTTP/1.1 429"), 0U) << head;
    EXPECT_NE(head.find("Retry-After: 3"), std::string::npos) << head;
    EXPECT_EQ(head_of("/push", "def", "body").find("HTTP/1.1 200"), 0U) << "of another client";
}

TEST_F(HttpServerTokensTest, TheBodyOfADeniedRequestIsNotWaitedFor) {
    Client client{port_};
    client.send("POST /push HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n").find("HTTP/1.1 401 "), 0U);
}

TEST_F(HttpServerTokensTest, GuessesAreLimitedAndKnownTokensAreNot) {
    int limited_count = 0;
    for (std::uint32_t i = 0; i < 3 * HttpServer::kFailedTokensMax; ++i) {
        const std::string head = head_of("/a", "guess-" + std::to_string(i));
        limited_count += head.find("HTTP/1.1 429 ") == 0 ? 1 : 0;
        EXPECT_TRUE(head.find("HTTP/1.1 429 ") == 0 || head.find("HTTP/1.1 401 ") == 0) << head;
    }
    EXPECT_GT(limited_count, 0);
    EXPECT_EQ(head_of("/a", "abc").find("HTTP/1.1 200 "), 0U);
}

TEST_F(HttpServerTest, AFloodOfIdleConnectionsKeepsNobodyOut) {
    std::vector<std::unique_ptr<Client>> idle;
    for (std::size_t i = 0; i < HttpServer::kConnectionsMax + 50; ++i) {
        idle.push_back(std::make_unique<Client>(port_));
        idle.back()->send("GET");  // and no more
    }
    Client client{port_};
    client.send(get("/a"));
    EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 200 OK\r\n");
    EXPECT_GE(server_->counts().dropped, 50U);
}

TEST_F(HttpServerTest, BodiesThatAreBeingReadHaveALimitTogether) {
    const std::string head =
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(HttpServer::kBodySizeBytesMax) +
        "\r\n\r\n";
    const std::string most(HttpServer::kBodySizeBytesMax - 1, 'x');
    std::vector<std::unique_ptr<Client>> clients;
    for (std::size_t i = 0; i < HttpServer::kBodiesSizeBytesMax / HttpServer::kBodySizeBytesMax + 4; ++i) {
        clients.push_back(std::make_unique<Client>(port_));
        clients.back()->send(head + most);
    }
    while (server_->counts().refused == 0) {
        ::usleep(1'000);
    }
    Client client{port_};
    client.send(get("/a"));
    EXPECT_EQ(client.read_until("\r\n"), "HTTP/1.1 200 OK\r\n") << "a request without a body";
    clients.clear();
    Client other{port_};
    other.send(head + most + "x");
    EXPECT_EQ(other.read_until("\r\n"), "HTTP/1.1 200 OK\r\n") << "those of closed connections don't count";
}

TEST_F(HttpServerTest, TheEndMayComeAmongRequests) {
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([client = std::make_unique<Client>(port_)] {
            do {
                for (int request = 0; request < 20; ++request) {
                    client->send(get("/a"));
                }
            } while (!client->read_until("GET /a ").empty());
        });
    }
    while (server_->counts().requests < 100) {
        ::usleep(1'000);
    }
    server_.reset();
    for (std::thread& client : clients) {
        client.join();
    }
}

TEST_F(HttpServerTest, TheEndCancelsWhatRuns) {
    Client client{port_};
    client.send(get("/until-cancelled"));
    wait_for(waiting_count_, 1);
    server_.reset();
    EXPECT_EQ(cancelled_count_, 1);
    EXPECT_EQ(client.read_to_end(), "");
}

}  // namespace
}  // namespace perfleet::http_server_test
