// Programs that connect, before a gateway that sends what could take memory. Input that can't be bounded, a message of
// endless parts from a trusted gateway, isn't here (docs/decisions/own-zmtp-server.md).
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "schemas/zmtp/frame.h"
#include "schemas/zmtp/listener.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/raw_connection.h"

namespace perfleet::end_to_end::hostile_gateway_test {
namespace {

constexpr std::size_t kEnoughBytes = 24U << 20;  // as empty parts they take 700 MiB
constexpr std::size_t kResidentKibMax = 128U << 10;

enum class Attack : std::uint8_t { kMessages, kGarbage, kHalfHandshakes, kOldVersion, kWrongKey };

// Does so to every peer that connects, until the peer closes the connection.
class HostileGateway {
public:
    explicit HostileGateway(Attack attack)
        : attack_{attack}, listener_{std::move(*zmtp::Listener::open("--listen", "tcp://127.0.0.1:*"))} {
        thread_ = std::thread{[this] { run(); }};
    }
    ~HostileGateway() {
        is_over_ = true;
        thread_.join();
    }
    HostileGateway(const HostileGateway&) = delete;
    HostileGateway& operator=(const HostileGateway&) = delete;

    [[nodiscard]] const std::string& endpoint() const { return listener_.endpoint(); }
    // The peer closed it and connected again, or everything was taken.
    [[nodiscard]] bool has_said_all() const { return connection_count_ >= 2 || sent_bytes_ >= kEnoughBytes; }

private:
    void run() {
        while (!is_over_) {
            pollfd item{listener_.fd(), POLLIN, 0};
            if (::poll(&item, 1, 50) != 1) {
                continue;
            }
            const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) {
                serve(fd);
                ::close(fd);
                ++connection_count_;
            }
        }
    }
    void serve(int fd) {
        const bool has_key = attack_ == Attack::kWrongKey;
        const auto greeting = zmtp::greeting_of(has_key ? zmtp::Mechanism::kCurve : zmtp::Mechanism::kNull);
        const std::string greeting_text{reinterpret_cast<const char*>(greeting.data()), greeting.size()};
        switch (attack_) {
            case Attack::kMessages: return greet_and_flood(fd, greeting_text, ready(), frame_of(std::string(40, 'x')));
            case Attack::kGarbage: return flood(fd, noise());
            case Attack::kHalfHandshakes: return greet_and_flood(fd, greeting_text, ready().substr(0, 12), "");
            // Of ZMTP 1, which has no handshake: a length, flags, and a byte.
            case Attack::kOldVersion: return flood(fd, std::string{"\2\0x", 3});
            case Attack::kWrongKey: return greet_and_flood(fd, greeting_text, welcome(), welcome());
        }
    }
    // libzmq closes a connection whose peer continues before it has sent anything.
    void greet_and_flood(int fd, const std::string& greeting, const std::string& next, const std::string& flood_of) {
        if (send(fd, greeting) && wait(fd, POLLIN) && send(fd, next) && !flood_of.empty()) {
            flood(fd, flood_of);
        }
    }
    void flood(int fd, const std::string& bytes) {
        std::string block;
        while (block.size() < 1U << 16) {
            block += bytes;
        }
        while (sent_bytes_ < kEnoughBytes && send(fd, block)) {
            sent_bytes_ += block.size();
        }
    }
    static std::string frame_of(const std::string& payload) {
        std::string frame;
        zmtp::append_frame_header(frame, 0, payload.size());
        return frame + payload;
    }
    static std::string ready() {
        std::string ready;
        const std::string properties = zmtp::properties_of("ROUTER");
        zmtp::append_command(ready, "READY", std::as_bytes(std::span{properties}));
        return ready;
    }
    // Of the right size; without the key it can't be opened.
    static std::string welcome() {
        std::string welcome;
        const std::string box = noise().substr(0, 160);
        zmtp::append_command(welcome, "WELCOME", std::as_bytes(std::span{box}));
        return welcome;
    }
    static std::string noise() {
        std::minstd_rand random{1};
        std::string bytes(1U << 16, '\0');
        std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
        return bytes;
    }
    // False: the timeout has passed, or the other side has closed the connection.
    [[nodiscard]] bool wait(int fd, short events) const {
        while (!is_over_) {
            pollfd item{fd, events, 0};
            if (::poll(&item, 1, 50) == 1) {
                return (item.revents & (POLLHUP | POLLERR)) == 0;
            }
        }
        return false;
    }
    [[nodiscard]] bool send(int fd, std::string_view bytes) const {
        while (!bytes.empty()) {
            char heard[4'096];
            while (::recv(fd, heard, sizeof heard, MSG_DONTWAIT) > 0) {
            }
            const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && (errno != EAGAIN || !wait(fd, POLLOUT))) {
                return false;
            }
            bytes.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
        }
        return true;
    }

    Attack attack_;
    zmtp::Listener listener_;
    std::atomic<bool> is_over_{false};
    std::atomic<std::size_t> sent_bytes_{0};
    std::atomic<int> connection_count_{0};
    std::thread thread_;
};

// Its peak resident memory.
std::optional<std::size_t> resident_kib_max(pid_t pid) {
    std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::stoul(line.substr(6));
        }
    }
    return std::nullopt;
}

void expect_bounded(const HostileGateway& gateway, Process& program) {
    std::optional<std::size_t> peak_kib;
    bool has_ended = false;  // a query client does, at an invalid answer
    for (int i = 0; i < kTimeoutS * 100 && !gateway.has_said_all() && !has_ended; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
        const auto now_kib = resident_kib_max(program.pid());
        has_ended = peak_kib.has_value() && !now_kib.has_value();
        peak_kib = now_kib.has_value() ? now_kib : peak_kib;
    }
    EXPECT_TRUE(gateway.has_said_all() || has_ended) << program.error_output();
    ASSERT_TRUE(peak_kib.has_value()) << program.error_output();
    EXPECT_LE(*peak_kib, kResidentKibMax);
    program.send_signal(SIGKILL);
    (void)program.wait();
}

class HostileGatewayTest : public testing::TestWithParam<Attack> {
protected:
    HostileGatewayTest() { keys_.make("own"); }

    std::vector<std::string> with_keys(std::vector<std::string> command) const {
        if (GetParam() == Attack::kWrongKey) {
            command.insert(command.end(), {"--key", keys_.secret("own"), "--gateway-key", keys_.pub("gateway")});
        }
        return command;
    }

    HostileGateway gateway_{GetParam()};
    TestKeys keys_;
};

TEST_P(HostileGatewayTest, ACollectorStaysSmall) {
    auto command = with_keys({program_path("perfleet-collector"), "--gateway", gateway_.endpoint()});
    command.insert(command.end(), {"-e", "cpu-clock", "-F", "99", "-p", std::to_string(::getpid())});
    Process collector{command};
    expect_bounded(gateway_, collector);
}

TEST_P(HostileGatewayTest, AQueryClientStaysSmall) {
    Process client{with_keys({program_path("perfleet"), "top", "--gateway", gateway_.endpoint()})};
    expect_bounded(gateway_, client);
}

TEST_P(HostileGatewayTest, ARelayStaysSmall) {
    Process relay{with_keys(
        {program_path("perfleet"), "relay", "--listen", "tcp://127.0.0.1:*", "--gateway", gateway_.endpoint()})};
    const auto ready = relay.wait_for_output("ready ");
    ASSERT_TRUE(ready.has_value()) << relay.error_output();
    const std::size_t begin = ready->find("listen=") + 7;
    // It closes a target's connection when its gateway is gone.
    std::vector<RawConnection> targets;
    for (int i = 0; i < 3; ++i) {
        targets.emplace_back(ready->substr(begin, ready->find(' ', begin) - begin));
    }
    expect_bounded(gateway_, relay);
}

INSTANTIATE_TEST_SUITE_P(Attacks, HostileGatewayTest,
                         testing::Values(Attack::kMessages, Attack::kGarbage, Attack::kHalfHandshakes,
                                         Attack::kOldVersion, Attack::kWrongKey),
                         [](const auto& parameter) -> std::string {
                             switch (parameter.param) {
                                 case Attack::kMessages: return "Messages";
                                 case Attack::kGarbage: return "Garbage";
                                 case Attack::kHalfHandshakes: return "HalfHandshakes";
                                 case Attack::kOldVersion: return "OldVersion";
                                 case Attack::kWrongKey: return "WrongKey";
                             }
                             return "";
                         });

}  // namespace
}  // namespace perfleet::end_to_end::hostile_gateway_test
