#include "schemas/zmtp/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace perfleet::zmtp {
namespace {

constexpr int kRunsMax = 100'000;

class Sink final : public Server::Sink {
public:
    bool take(const Server::Message& message) override {
        ++offered_count;
        if (taken.size() >= space) {
            return false;
        }
        taken.emplace_back(reinterpret_cast<const char*>(message.frame.data()), message.frame.size());
        last = message.from;
        if (on_take) {
            on_take(message);
        }
        return true;
    }
    std::function<void(const Server::Message&)> on_take;
    std::size_t space = ~std::size_t{0};
    std::size_t offered_count = 0;
    std::vector<std::string> taken;
    ConnectionId last = 0;
};

// A peer without a key that writes what a test gives it.
class Peer {
public:
    explicit Peer(const std::string& endpoint) : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    ~Peer() { ::close(fd_); }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // As much as the kernel takes now.
    std::size_t write(std::string_view bytes) const {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void shake_hands() const {
        const auto greeting = greeting_of(Mechanism::kNull);
        std::string bytes{reinterpret_cast<const char*>(greeting.data()), greeting.size()};
        const std::string type{"\xbSocket-Type\0\0\0\6DEALER", 22};
        append_command(bytes, "READY", std::as_bytes(std::span{type}));
        write(bytes);
    }
    // The bytes received so far.
    [[nodiscard]] std::string read() const {
        std::string bytes(1U << 16, '\0');
        const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
        bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return bytes;
    }
    [[nodiscard]] bool is_closed() const {
        char byte = 0;
        const ssize_t got = ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
        return got == 0 || (got < 0 && errno != EAGAIN);
    }

private:
    int fd_;
};

std::string message(std::string_view payload, std::uint8_t flags = 0) {
    std::string frame;
    append_frame_header(frame, flags, payload.size());
    return frame + std::string{payload};
}

class ZmtpServer : public testing::Test {
protected:
    void open(const ServerLimits& limits = {}) {
        auto server = Server::open(limits, std::nullopt, sink_, {});
        ASSERT_TRUE(server.ok());
        server_ = std::move(*server);
        auto listener = Listener::open("--listen", "tcp://127.0.0.1:*");
        ASSERT_TRUE(listener.ok()) << listener.error().message;
        endpoint_ = listener->endpoint();
        server_->listen_at(std::move(*listener), false);
    }
    template <class Condition>
    void run_until(Condition is_met) {
        bool was_met = is_met();
        for (int i = 0; i < kRunsMax && !was_met; ++i) {
            server_->run_once(1'000'000);
            was_met = is_met();
        }
        ASSERT_TRUE(was_met);
    }
    void run_until_taken(std::size_t count) {
        run_until([&] { return sink_.taken.size() == count; });
    }

    Sink sink_;
    std::unique_ptr<Server> server_;
    std::string endpoint_;
};

TEST_F(ZmtpServer, TakesMessagesHoweverTheirBytesCome) {
    open();
    const Peer peer{endpoint_};
    peer.shake_hands();
    const std::string large(100'000, 'L');
    std::string bytes = message("first") + message("") + message(large) + message("last");
    while (!bytes.empty()) {
        bytes.erase(0, peer.write(std::string_view{bytes}.substr(0, 1'000)));
        server_->run_once(0);
    }
    run_until_taken(4);
    EXPECT_EQ(sink_.taken, (std::vector<std::string>{"first", "", large, "last"}));
    EXPECT_EQ(server_->buffered_size_bytes(), 0U);
}

TEST_F(ZmtpServer, AnswersThoseThatAreThere) {
    open();
    {
        const Peer peer{endpoint_};
        peer.shake_hands();
        peer.write(message("hello"));
        run_until_taken(1);
        (void)peer.read();
        const std::string reply = "welcome";
        EXPECT_EQ(server_->send(sink_.last, std::as_bytes(std::span{reply})), Server::Sent::kDone);
        EXPECT_EQ(peer.read(), message("welcome"));
        peer.write(std::string{"\4\x9\4PING\0\1ab", 11});
        run_until([&] { return peer.read() == std::string{"\4\7\4PONGab", 9}; });
    }
    run_until([&] { return server_->counts().connections_now == 0; });
    EXPECT_EQ(server_->send(sink_.last, {}), Server::Sent::kPeerGone);
}

TEST_F(ZmtpServer, APeerThatReadsSlowlyGetsTheNextReplyWhenAnEarlierOneIsGone) {
    ServerLimits limits;
    limits.replies_waiting_max = 4;
    limits.replies_waiting_size_bytes_max = 8U << 20;
    open(limits);
    const Peer peer{endpoint_};
    peer.shake_hands();
    peer.write(message("ask"));
    run_until_taken(1);
    const std::string reply(1U << 20, 'r');
    const auto bytes = std::as_bytes(std::span{reply});
    int sent = 0;
    while (server_->send(sink_.last, bytes) == Server::Sent::kDone) {
        ASSERT_LT(++sent, 100);
    }
    EXPECT_GE(server_->buffered_size_bytes(), 3U << 20);
    // It reads on, and never has read all.
    for (int i = 0; i < 20; ++i) {
        run_until([&] {
            (void)peer.read();
            return server_->send(sink_.last, bytes) == Server::Sent::kDone;
        });
        EXPECT_GT(server_->buffered_size_bytes(), 0U);
    }
}

TEST_F(ZmtpServer, SmallFramesBehindHalfOfOneAreReadTogether) {
    constexpr std::size_t kMessages = 200;
    open();
    const Peer peer{endpoint_};
    peer.shake_hands();
    std::string bytes;
    for (std::size_t i = 0; i < kMessages; ++i) {
        bytes += message("");
    }
    peer.write(bytes.substr(0, 1));
    run_until([&] { return server_->buffered_size_bytes() > 0; });
    peer.write(std::string_view{bytes}.substr(1));
    int turns = 0;
    run_until([&] {
        ++turns;
        return sink_.taken.size() == kMessages;
    });
    EXPECT_LT(turns, 10);
}

TEST_F(ZmtpServer, ItsSinkMayAnswerAndCut) {
    open();
    const Peer peer{endpoint_};
    peer.shake_hands();
    peer.write(message("answer") + message("cut") + message("too late"));
    sink_.on_take = [&](const Server::Message& one) {
        if (one.frame.size() == 3) {
            server_->cut(one.from);
        } else {
            EXPECT_EQ(server_->send(one.from, one.frame), Server::Sent::kDone);
        }
    };
    run_until([&] { return server_->counts().connections_now == 0 && server_->counts().refused_abuse_limit == 1; });
    EXPECT_EQ(sink_.taken, (std::vector<std::string>{"answer", "cut"}));
    EXPECT_NE(peer.read().find(message("answer")), std::string::npos);
}

TEST_F(ZmtpServer, AMessageOfPartsEndsItsConnectionAtTheFirst) {
    open();
    const Peer peer{endpoint_};
    peer.shake_hands();
    peer.write(message("", kMore));
    run_until([&] { return server_->counts().refused_unfinished_message == 1; });
    (void)peer.read();
    EXPECT_TRUE(peer.is_closed());
    EXPECT_TRUE(sink_.taken.empty());
}

TEST_F(ZmtpServer, WhoFindsNoSpaceWaitsAndLosesNothing) {
    open();
    sink_.space = 3;
    const Peer peer{endpoint_};
    peer.shake_hands();
    std::string bytes;
    for (char letter = 'a'; letter <= 'h'; ++letter) {
        bytes += message(std::string(1, letter));
    }
    peer.write(bytes);
    run_until([&] { return server_->is_any_paused(); });
    const Peer other{endpoint_};
    other.shake_hands();
    for (int i = 0; i < 20; ++i) {
        server_->run_once(1'000'000);
    }
    EXPECT_EQ(sink_.offered_count, 4U) << "it isn't asked again before resume()";
    server_->resume();
    EXPECT_EQ(sink_.offered_count, 5U);
    EXPECT_TRUE(server_->is_any_paused());
    sink_.space = 100;
    server_->resume();
    run_until_taken(8);
    std::string letters;
    for (const std::string& each : sink_.taken) {
        letters += each;
    }
    EXPECT_EQ(letters, "abcdefgh");
    EXPECT_EQ(server_->counts().connections_now, 2U);
    EXPECT_EQ(server_->buffered_size_bytes(), 0U);
}

TEST_F(ZmtpServer, UnfinishedMessagesAreBoundedWhoHoldsMostForLongestGoes) {
    ServerLimits limits;
    limits.buffered_size_bytes_max = 256U << 10;
    open(limits);
    const Peer honest{endpoint_};
    honest.shake_hands();
    const std::string half = message(std::string(1'000, 'h'));
    honest.write(half.substr(0, 500));
    std::vector<std::unique_ptr<Peer>> hoarders;
    const std::string unfinished = message(std::string(60'000, 'x')).substr(0, 59'000);
    for (int i = 0; i < 20; ++i) {
        hoarders.push_back(std::make_unique<Peer>(endpoint_));
        hoarders.back()->shake_hands();
        hoarders.back()->write(unfinished);
        for (int run = 0; run < 20; ++run) {
            server_->run_once(100'000);
            ASSERT_LE(server_->buffered_size_bytes(), limits.buffered_size_bytes_max);
        }
    }
    EXPECT_GT(server_->counts().refused_memory_limit, 10U);
    honest.write(half.substr(500));
    run_until_taken(1);
    EXPECT_EQ(sink_.taken.front().size(), 1'000U);
}

TEST_F(ZmtpServer, ASmallMessageDoesNotWaitForLargeOnes) {
    constexpr std::size_t kHoarders = 64;
    constexpr std::size_t kBegun = 60'000;
    constexpr std::size_t kSent = 300'000;
    ServerLimits limits;
    limits.message_size_bytes_max = 4U << 20;
    open(limits);
    const Peer honest{endpoint_};
    honest.shake_hands();
    std::vector<std::unique_ptr<Peer>> hoarders;
    const std::string large = message(std::string(4U << 20, 'x'));
    for (std::size_t i = 0; i < kHoarders; ++i) {
        hoarders.push_back(std::make_unique<Peer>(endpoint_));
        hoarders.back()->shake_hands();
        hoarders.back()->write(large.substr(0, kBegun));
    }
    run_until([&] { return server_->buffered_size_bytes() >= kHoarders * kBegun; });
    for (const auto& hoarder : hoarders) {
        hoarder->write(std::string_view{large}.substr(kBegun, kSent));
    }
    honest.write(message("small"));
    const std::size_t before_bytes = server_->buffered_size_bytes();
    run_until_taken(1);
    EXPECT_LE(server_->buffered_size_bytes() - before_bytes, 2U << 20);
    // Nor are they forgotten if they keep sending.
    run_until([&] { return server_->buffered_size_bytes() >= kHoarders * kSent; });
}

TEST_F(ZmtpServer, RepliesThatNobodyReadsAreBounded) {
    ServerLimits limits;
    limits.replies_waiting_max = 4;
    open(limits);
    const Peer deaf{endpoint_};
    deaf.shake_hands();
    deaf.write(message("x"));
    run_until_taken(1);
    const std::vector<std::byte> reply(64U << 10);
    Server::Sent sent = Server::Sent::kDone;
    for (int i = 0; i < 10'000 && sent == Server::Sent::kDone; ++i) {
        sent = server_->send(sink_.last, reply);
    }
    EXPECT_EQ(sent, Server::Sent::kFull);
    EXPECT_LE(server_->buffered_size_bytes(), 6 * reply.size());
}

TEST_F(ZmtpServer, ClosesWhatIsTooLargeOrNoZmtp) {
    ServerLimits limits;
    limits.message_size_bytes_max = 1'000;
    open(limits);
    const Peer large{endpoint_};
    large.shake_hands();
    large.write(std::string{"\2\0\0\0\0\0\0\3\xe9", 9});
    const Peer strange{endpoint_};
    strange.shake_hands();
    strange.write(std::string{"\x10\0", 2});
    const Peer web{endpoint_};
    web.write("GET / HTTP/1.1\r\n\r\n");
    const Peer floods{endpoint_};
    floods.shake_hands();
    std::string pings;
    for (int i = 0; i < 2'000; ++i) {
        pings += std::string{"\4\7\4PING\0\0", 9};
    }
    floods.write(pings);
    run_until([&] {
        const TransportCounts counts = server_->counts();
        return counts.refused_abuse_limit == 3 && counts.handshakes_malformed == 1 && counts.connections_now == 0;
    });
    EXPECT_TRUE(sink_.taken.empty());
}

TEST_F(ZmtpServer, ConnectionsAreLimited) {
    ServerLimits limits;
    limits.connections_max = 4;
    limits.unheard_max = 2;
    open(limits);
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 8; ++i) {
        peers.push_back(std::make_unique<Peer>(endpoint_));
    }
    run_until([&] { return server_->counts().connections_accepted == 8; });
    const TransportCounts counts = server_->counts();
    EXPECT_LE(counts.connections_now, 2U);
    EXPECT_EQ(counts.refused_unheard_limit + counts.refused_connection_limit, 6U);
}

}  // namespace
}  // namespace perfleet::zmtp
