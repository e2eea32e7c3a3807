// The dealer against misbehaving servers: a plain socket that sends what the test gives it.
#include "schemas/zeromq/dealer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/zmtp/frame.h"
#include "schemas/zmtp/listener.h"
#include "schemas/zmtp/new_key.h"

namespace perfleet::zeromq::dealer_test {
namespace {

using namespace zmtp;

constexpr int kTurnsMax = 20'000;

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string frame(std::string_view payload, std::uint8_t flags = 0) {
    std::string out;
    append_frame_header(out, flags, payload.size());
    return out + std::string{payload};
}

std::string greeting(Mechanism mechanism = Mechanism::kNull) {
    const auto bytes = greeting_of(mechanism);
    return text_of(bytes);
}

std::string ready(std::string_view type = "ROUTER") {
    std::string out;
    const std::string properties = properties_of(type);
    append_command(out, "READY", std::as_bytes(std::span{properties}));
    return out;
}

// Accepts one connection after the other; each gets the same: a greeting at once, the rest after the dealer's READY, as
// libzmq requires.
class HostileServer {
public:
    explicit HostileServer(std::string says) : says_{std::move(says)} {
        auto listener = Listener::open("--listen", "tcp://127.0.0.1:*");
        EXPECT_TRUE(listener.ok());
        listener_.emplace(std::move(*listener));
    }
    ~HostileServer() { hang_up(); }
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;

    [[nodiscard]] const std::string& endpoint() const { return listener_->endpoint(); }
    // Goes on as far as it can.
    void turn() {
        const int next = ::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (next >= 0) {
            hang_up();
            fd_ = next;
            ++accepted;
            heard.clear();
            write(says_.substr(0, kGreetingSizeBytes));
            rest_ = says_.size() > kGreetingSizeBytes ? says_.substr(kGreetingSizeBytes) : "";
        }
        char bytes[4'096];
        while (fd_ >= 0) {
            const ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (got <= 0) {
                break;
            }
            heard.append(bytes, static_cast<std::size_t>(got));
        }
        if (heard.find("READY") != heard.npos) {
            rest_.erase(0, write(rest_));
        }
    }
    // How much the kernel took.
    std::size_t write(std::string_view bytes) const {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    [[nodiscard]] bool has_said_all() const { return rest_.empty(); }
    void hang_up() {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }

    std::string heard;
    int accepted = 0;

private:
    std::string says_;
    std::string rest_;
    std::optional<Listener> listener_;
    int fd_ = -1;
};

class ZeromqDealer : public testing::Test {
protected:
    void connect(const std::string& endpoint, DealerOptions options = {}, const ConnectKeys* keys = nullptr) {
        options.reconnect_after_ns = 1'000'000;
        auto dealer = Dealer::connect(endpoint, keys, options);
        ASSERT_TRUE(dealer.ok()) << dealer.error().message;
        dealer_ = std::move(*dealer);
    }
    template <class Condition>
    void run_until(HostileServer& server, Condition is_met) {
        for (int i = 0; i < kTurnsMax; ++i) {
            server.turn();
            (void)dealer_->reconnected();
            if (is_met()) {
                return;
            }
            dealer_->wait(-1, 1'000'000);
        }
        FAIL() << "nothing happened; trouble: " << dealer_->trouble();
    }
    std::string next_message(HostileServer& server) {
        std::string message;
        run_until(server, [&] {
            const auto received = dealer_->receive();
            message = received.has_value() ? text_of(*received) : "";
            return received.has_value();
        });
        return message;
    }
    std::string trouble_with(std::string says) {
        HostileServer server{std::move(says)};
        connect(server.endpoint());
        run_until(server, [&] { return !dealer_->trouble().empty(); });
        return dealer_->trouble();
    }

    std::unique_ptr<Dealer> dealer_;
};

TEST_F(ZeromqDealer, TakesMessagesThatCameBeforeTheServerHungUp) {
    HostileServer server{greeting() + ready() + frame("one") + frame("") + frame(std::string(100'000, 'x'))};
    connect(server.endpoint());
    EXPECT_EQ(next_message(server), "one");
    run_until(server, [&] { return server.has_said_all(); });
    server.hang_up();
    EXPECT_EQ(next_message(server), "");
    EXPECT_EQ(next_message(server), std::string(100'000, 'x'));
}

TEST_F(ZeromqDealer, GivesUpWhatTheServerSentBeforeItHungUpWhereSomethingIsToBeSent) {
    HostileServer server{greeting() + ready() + frame("one") + frame("two")};
    connect(server.endpoint());
    EXPECT_EQ(next_message(server), "one");
    run_until(server, [&] { return server.has_said_all(); });
    server.hang_up();
    run_until(server, [&] { return dealer_->has_hung_up(); });
    EXPECT_FALSE(dealer_->send({}));
    EXPECT_FALSE(dealer_->has_hung_up());
    EXPECT_EQ(next_message(server), "one");
    EXPECT_EQ(server.accepted, 2);
}

TEST_F(ZeromqDealer, ConnectsAgainWhenTheServerHungUp) {
    HostileServer server{greeting() + ready() + frame("hello")};
    connect(server.endpoint());
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(next_message(server), "hello");
        EXPECT_TRUE(dealer_->is_connected());
        EXPECT_EQ(server.accepted, i);
        server.hang_up();
        run_until(server, [&] { return server.accepted > i; });
    }
}

TEST_F(ZeromqDealer, EndsTheConnectionAtAMessageThatIsTooLarge) {
    HostileServer server{greeting() + ready() + std::string{"\2\xff\xff\xff\xff\xff\xff\xff\xff", 9}};
    connect(server.endpoint());
    run_until(server, [&] {
        EXPECT_FALSE(dealer_->receive().has_value());
        return server.accepted > 1;
    });
}

// Else a handler of the program's would run on them, and a signal that it waits for would be lost.
TEST_F(ZeromqDealer, HasThreadsThatTakeNoSignals) {
    HostileServer server{greeting() + ready() + frame("hello")};
    connect(server.endpoint());
    EXPECT_EQ(next_message(server), "hello");
    std::vector<std::uint64_t> blocked;  // of each; a thread blocks them before it takes its name
    run_until(server, [&] {
        blocked.clear();
        for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
            std::ifstream status{task.path() / "status"};
            std::string text{std::istreambuf_iterator<char>{status}, {}};
            if (text.find("ZMQbg") != text.npos) {
                blocked.push_back(std::stoull(text.substr(text.find("SigBlk:") + 7), nullptr, 16));
            }
        }
        return blocked.size() == 2;
    });
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGWINCH, SIGPIPE, SIGUSR1}) {
        for (const std::uint64_t of_one : blocked) {
            EXPECT_NE(of_one & (1ULL << (signal - 1)), 0U) << signal;
        }
    }
}

TEST_F(ZeromqDealer, HasNoThreadBeforeItIsUsed) {
    const auto tasks = [] { return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {}); };
    const auto before = tasks();
    connect("tcp://127.0.0.1:1");
    EXPECT_EQ(tasks(), before);
    (void)dealer_->reconnected();
    EXPECT_EQ(tasks(), before + 2);
    dealer_.reset();
    EXPECT_EQ(tasks(), before);
}

TEST_F(ZeromqDealer, CarriesNothingOverAConnectionThatItHasNotToldOf) {
    HostileServer server{greeting() + ready() + frame("early")};
    connect(server.endpoint());
    const std::string message = "hello";
    const auto bytes = std::as_bytes(std::span{message});
    bool is_told = false;
    for (int i = 0; i < kTurnsMax && !is_told; ++i) {
        server.turn();
        dealer_->wait(-1, 1'000'000);
        EXPECT_FALSE(dealer_->send(bytes));
        EXPECT_FALSE(dealer_->receive().has_value());
        is_told = dealer_->reconnected();
    }
    EXPECT_TRUE(is_told);
    EXPECT_EQ(next_message(server), "early");
    EXPECT_FALSE(dealer_->reconnected());
    EXPECT_TRUE(dealer_->send(bytes));
    run_until(server, [&] { return server.heard.ends_with(frame("hello")); });
}

TEST_F(ZeromqDealer, TakesNoMoreMessagesThanTheServerReads) {
    HostileServer server{greeting() + ready()};
    connect(server.endpoint());
    run_until(server, [&] { return dealer_->is_connected(); });
    const std::string message(1U << 20, 'm');
    int sent = 0;
    while (dealer_->send(std::as_bytes(std::span{message}))) {
        ASSERT_LT(++sent, 1'000);
    }
    // What was taken arrives whole, and then there is space again.
    const std::size_t size = static_cast<std::size_t>(sent + 1) * frame(message).size();
    run_until(server, [&] {
        (void)dealer_->send(std::as_bytes(std::span{message}));
        return server.heard.size() >= size;
    });
    EXPECT_TRUE(server.heard.substr(server.heard.find("mm") - 9, frame(message).size()) == frame(message));
}

TEST_F(ZeromqDealer, SaysWhyThereIsNoConnection) {
    EXPECT_NE(trouble_with("HTTP/1.1 400 Bad Request\r\n\r\n").find("violates the ZeroMQ protocol"), std::string::npos);
    EXPECT_NE(trouble_with(greeting(Mechanism::kCurve)).find("requires a key"), std::string::npos);
    EXPECT_NE(trouble_with(greeting() + ready("PUB")).find("violates the ZeroMQ protocol"), std::string::npos);
    EXPECT_NE(trouble_with(greeting() + frame("no command")).find("violates the ZeroMQ protocol"), std::string::npos);
    EXPECT_NE(trouble_with(greeting().substr(0, 10) + std::string(54, '\0')).find("violates the ZeroMQ protocol"),
              std::string::npos);  // ZMTP 1, which has no handshake
}

TEST_F(ZeromqDealer, EndsTheConnectionAtAMessageOfSeveralParts) {
    HostileServer server{greeting() + ready() + frame("", kMore) + frame("last")};
    connect(server.endpoint());
    run_until(server, [&] {
        EXPECT_FALSE(dealer_->receive().has_value());
        return !dealer_->trouble().empty();
    });
    EXPECT_NE(dealer_->trouble().find("messages that no gateway sends"), std::string::npos);
}

TEST_F(ZeromqDealer, EndsTheConnectionOfAServerThatFloods) {
    HostileServer server{greeting() + ready()};
    DealerOptions options;
    options.frames_burst = 100;
    options.frames_per_second = 1;
    connect(server.endpoint(), options);
    run_until(server, [&] { return dealer_->is_connected(); });
    std::string flood;
    for (int i = 0; i < 1'000; ++i) {
        flood += frame("ack");
    }
    server.write(flood);
    int taken = 0;
    run_until(server, [&] {
        while (dealer_->receive().has_value()) {
            ++taken;
        }
        return !dealer_->trouble().empty();
    });
    EXPECT_GE(taken, 100);
    EXPECT_LT(taken, 200);
    EXPECT_NE(dealer_->trouble().find("far more than was requested"), std::string::npos);
}

TEST_F(ZeromqDealer, HasOneAnswerForEachMessageItSent) {
    HostileServer server{greeting() + ready()};
    DealerOptions options;
    options.frames_burst = 10;
    options.frames_per_second = 1;
    connect(server.endpoint(), options);
    run_until(server, [&] { return dealer_->is_connected(); });
    for (int i = 0; i < 1'000; ++i) {
        const std::string ask = "ask";
        run_until(server, [&] { return dealer_->send(std::as_bytes(std::span{ask})); });
        server.write(frame("answer"));
        ASSERT_EQ(next_message(server), "answer");
    }
    EXPECT_EQ(server.accepted, 1);
}

TEST_F(ZeromqDealer, ReachesNamesAndUnixSockets) {
    auto listener =
        Listener::open("--listen", "ipc://" + testing::TempDir() + "zeromq-dealer-" + std::to_string(getpid()));
    ASSERT_TRUE(listener.ok());
    connect(listener->endpoint());
    EXPECT_GE(::accept(listener->fd(), nullptr, nullptr), -1);
    HostileServer server{greeting() + ready() + frame("hello")};
    connect("tcp://localhost" + server.endpoint().substr(server.endpoint().rfind(':')));
    EXPECT_EQ(next_message(server), "hello");
    for (const char* endpoint : {"nonsense", "tcp://", "tcp://host:port", "inproc://alone"}) {
        const auto dealer = Dealer::connect(endpoint, nullptr, {});
        ASSERT_FALSE(dealer.ok());
        EXPECT_EQ(dealer.error().code, ErrorCode::kUsage);
        EXPECT_NE(dealer.error().message.find(endpoint), std::string::npos);
    }
}

TEST_F(ZeromqDealer, RefusesAPairOfKeysThatIsNone) {
    auto key = make_secret_key("me");
    const auto other = make_secret_key("other");
    ASSERT_TRUE(key.ok() && other.ok());
    key->public_text = other->public_text;
    const ConnectKeys keys{*key, *decode_public_key(other->public_text)};
    const auto dealer = Dealer::connect("tcp://127.0.0.1:1", &keys, {});
    ASSERT_FALSE(dealer.ok());
    EXPECT_EQ(dealer.error().code, ErrorCode::kInvalid);
    EXPECT_NE(dealer.error().message.find("perfleet keygen"), std::string::npos);
}

}  // namespace
}  // namespace perfleet::zeromq::dealer_test
