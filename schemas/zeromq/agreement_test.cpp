// The server against libzmq, by the dealer and bare, with keys and without: an implementation that isn't ours.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "schemas/zeromq/dealer.h"
#include "schemas/zmtp/new_key.h"
#include "schemas/zmtp/server.h"

namespace perfleet::zeromq::agreement_test {
namespace {

using namespace zmtp;

constexpr int kTurnsMax = 20'000;
constexpr std::array<std::size_t, 6> kSizes{0, 1, 255, 256, 8'192, 300'000};

SecretKey new_key(const std::string& name) {
    auto key = make_secret_key(name);
    EXPECT_TRUE(key.ok());
    return std::move(*key);
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A libzmq socket.
class Libzmq {
public:
    explicit Libzmq(int type) : context_{zmq_ctx_new()}, socket_{zmq_socket(context_, type)} {
        const int zero = 0;
        EXPECT_EQ(zmq_setsockopt(socket_, ZMQ_LINGER, &zero, sizeof zero), 0);
    }
    ~Libzmq() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
    }
    Libzmq(const Libzmq&) = delete;
    Libzmq& operator=(const Libzmq&) = delete;

    void set(int option, const std::string& text) {
        EXPECT_EQ(zmq_setsockopt(socket_, option, text.c_str(), text.size() + 1), 0);
    }
    void set(int option, int value) { EXPECT_EQ(zmq_setsockopt(socket_, option, &value, sizeof value), 0); }
    [[nodiscard]] void* socket() const { return socket_; }

    void send(const std::string& bytes, int flags = 0) const {
        EXPECT_GE(zmq_send(socket_, bytes.data(), bytes.size(), flags | ZMQ_DONTWAIT), 0);
    }
    [[nodiscard]] std::optional<std::string> receive() const {
        std::string bytes(1U << 20, '\0');
        const int size = zmq_recv(socket_, bytes.data(), bytes.size(), ZMQ_DONTWAIT);
        if (size < 0) {
            return std::nullopt;
        }
        bytes.resize(static_cast<std::size_t>(size));
        return bytes;
    }

private:
    void* context_;
    void* socket_;
};

class ZeromqAgreement : public testing::TestWithParam<bool>, protected Server::Sink {
protected:
    ZeromqAgreement() : folder_{testing::TempDir() + "zmtp-agreement-" + std::to_string(::getpid())} {
        std::filesystem::create_directories(folder_ + "/allowed");
        write(folder_ + "/server.key", format_secret_key(server_key_));
        ::chmod((folder_ + "/server.key").c_str(), 0600);
        allow(client_key_);
    }
    ~ZeromqAgreement() override { std::filesystem::remove_all(folder_); }

    static void write(const std::string& path, const std::string& text) { std::ofstream{path} << text; }
    void allow(const SecretKey& key) {
        Enrolment enrolment;
        enrolment.name = key.name;
        enrolment.target = target_id_of(key.name);
        enrolment.key = *decode_public_key(key.public_text);
        write(folder_ + "/allowed/" + key.name + ".pub", format_enrolment(enrolment));
    }
    [[nodiscard]] ConnectKeys connect_keys(const SecretKey& own) const {
        return {own, *decode_public_key(server_key_.public_text)};
    }

    void open_server() {
        std::optional<KeyPlaces> places;
        if (GetParam()) {
            places = {folder_ + "/server.key", "--collectors", folder_ + "/allowed"};
        }
        auto server = Server::open({}, places, *this, {});
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_ = std::move(*server);
        auto listener = Listener::open("--listen", "tcp://127.0.0.1:*");
        ASSERT_TRUE(listener.ok());
        endpoint_ = listener->endpoint();
        server_->listen_at(std::move(*listener), false);
    }
    void connect_dealer(const SecretKey& own) {
        const ConnectKeys keys = connect_keys(own);
        auto dealer = Dealer::connect(endpoint_, GetParam() ? &keys : nullptr, {});
        ASSERT_TRUE(dealer.ok()) << dealer.error().message;
        dealer_ = std::move(*dealer);
    }
    bool take(const Server::Message& message) override {
        taken_.push_back(text_of(message.frame));
        // Back to where it came from.
        EXPECT_EQ(server_->send(message.from, message.frame), Server::Sent::kDone);
        return true;
    }
    template <class Condition>
    void run_until(Condition is_met) {
        for (int i = 0; i < kTurnsMax; ++i) {
            if (server_ != nullptr) {
                server_->run_once(dealer_ == nullptr ? 1'000'000 : 0);
            }
            if (dealer_ != nullptr) {
                (void)dealer_->reconnected();
                dealer_->wait(-1, server_ == nullptr ? 1'000'000 : 100'000);
            }
            if (is_met()) {
                return;
            }
        }
        FAIL() << "nothing happened; trouble: " << (dealer_ == nullptr ? "" : dealer_->trouble());
    }
    // Each size goes there and comes back.
    template <class Send, class Receive>
    void expect_echoes(Send send, Receive receive) {
        for (const std::size_t size : kSizes) {
            const std::string message(size, static_cast<char>('a' + size % 26));
            run_until([&] { return send(message); });
            std::optional<std::string> echo;
            run_until([&] { return (echo = receive()).has_value(); });
            ASSERT_TRUE(echo == message) << "of " << size << " bytes";
        }
    }
    bool send_by_client(const std::string& message) { return dealer_->send(std::as_bytes(std::span{message})); }
    std::optional<std::string> received_by_client() {
        const auto bytes = dealer_->receive();
        return bytes.has_value() ? std::optional{text_of(*bytes)} : std::nullopt;
    }

    SecretKey server_key_ = new_key("server");
    SecretKey client_key_ = new_key("client");
    std::string folder_;
    std::string endpoint_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<Dealer> dealer_;
    std::vector<std::string> taken_;
};

TEST_P(ZeromqAgreement, DealerAndServerAgree) {
    open_server();
    connect_dealer(client_key_);
    expect_echoes([&](const std::string& message) { return send_by_client(message); },
                  [&] { return received_by_client(); });
}

TEST_P(ZeromqAgreement, ServerAgreesWithADealer) {
    open_server();
    Libzmq dealer{ZMQ_DEALER};
    if (GetParam()) {
        dealer.set(ZMQ_CURVE_SERVERKEY, server_key_.public_text);
        dealer.set(ZMQ_CURVE_PUBLICKEY, client_key_.public_text);
        dealer.set(ZMQ_CURVE_SECRETKEY, client_key_.secret_text);
    }
    dealer.set(ZMQ_HEARTBEAT_IVL, 20);
    dealer.set(ZMQ_HEARTBEAT_TIMEOUT, 60'000);
    ASSERT_EQ(zmq_connect(dealer.socket(), endpoint_.c_str()), 0);
    expect_echoes(
        [&](const std::string& message) {
            dealer.send(message);
            return true;
        },
        [&] { return dealer.receive(); });
}

TEST_P(ZeromqAgreement, AStrangerIsToldThatItsKeyIsRefused) {
    if (!GetParam()) {
        GTEST_SKIP() << "without keys there are no strangers";
    }
    open_server();
    connect_dealer(new_key("stranger"));
    run_until([&] { return !dealer_->trouble().empty(); });
    EXPECT_EQ(dealer_->trouble(), "it refuses this key; is stranger.pub in its folder of public keys?");
    EXPECT_GE(server_->counts().handshakes_unknown_key, 1U);
}

TEST_P(ZeromqAgreement, DealerTalksToNobodyButTheServerOfTheKey) {
    if (!GetParam()) {
        GTEST_SKIP() << "without keys anybody answers";
    }
    open_server();
    server_key_ = new_key("elsewhere");
    connect_dealer(client_key_);
    run_until([&] { return !dealer_->trouble().empty(); });
    EXPECT_EQ(dealer_->trouble(), "it ends the handshake; is --gateway-key really its key?");
}

INSTANTIATE_TEST_SUITE_P(Keys, ZeromqAgreement, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "WithKeys" : "WithoutKeys"; });

}  // namespace
}  // namespace perfleet::zeromq::agreement_test
