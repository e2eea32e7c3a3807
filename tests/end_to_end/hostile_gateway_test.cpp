// Programs that connect, before a gateway that sends what takes memory: empty parts of a message without end.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "schemas/zmtp/frame.h"
#include "schemas/zmtp/listener.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/raw_connection.h"

namespace perfleet::end_to_end::hostile_gateway_test {
namespace {

constexpr std::size_t kEnoughBytes = 24U << 20;  // libzmq takes 700 MiB for them
constexpr std::size_t kResidentKibMax = 128U << 10;

// Shakes hands with whoever connects, and sends until it is hung up upon.
class HostileGateway {
public:
    HostileGateway() : listener_{std::move(*zmtp::Listener::open("--listen", "tcp://127.0.0.1:*"))} {
        thread_ = std::thread{[this] { run(); }};
    }
    ~HostileGateway() {
        is_over_ = true;
        thread_.join();
    }
    HostileGateway(const HostileGateway&) = delete;
    HostileGateway& operator=(const HostileGateway&) = delete;

    [[nodiscard]] const std::string& endpoint() const { return listener_.endpoint(); }
    // It was hung up upon and connected to again, or everything was taken.
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
    // libzmq closes a connection whose peer goes on before it has spoken.
    void serve(int fd) {
        const auto greeting = zmtp::greeting_of(zmtp::Mechanism::kNull);
        const std::string properties = zmtp::properties_of("ROUTER");
        std::string ready;
        zmtp::append_command(ready, "READY", std::as_bytes(std::span{properties}));
        if (!send(fd, {reinterpret_cast<const char*>(greeting.data()), greeting.size()}) || !wait(fd, POLLIN) ||
            !send(fd, ready)) {
            return;
        }
        std::string parts;
        for (int i = 0; i < 32'768; ++i) {
            parts += std::string_view{"\1\0", 2};
        }
        while (sent_bytes_ < kEnoughBytes && send(fd, parts)) {
            sent_bytes_ += parts.size();
        }
    }
    // False: it is over, or the other side has hung up.
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

    zmtp::Listener listener_;
    std::atomic<bool> is_over_{false};
    std::atomic<std::size_t> sent_bytes_{0};
    std::atomic<int> connection_count_{0};
    std::thread thread_;
};

// Peak of its resident memory.
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
    for (int i = 0; i < kTimeoutS * 100 && !gateway.has_said_all(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
        if (const auto now_kib = resident_kib_max(program.pid())) {  // it may have ended
            peak_kib = now_kib;
        }
    }
    EXPECT_TRUE(gateway.has_said_all()) << program.error_output();
    ASSERT_TRUE(peak_kib.has_value()) << program.error_output();
    EXPECT_LE(*peak_kib, kResidentKibMax);
    program.send_signal(SIGKILL);
    (void)program.wait();
}

TEST(HostileGateway, ACollectorStaysSmall) {
    const HostileGateway gateway;
    Process collector{{program_path("perfleet-collector"), "--gateway", gateway.endpoint(), "-e", "cpu-clock", "-F",
                       "99", "-p", std::to_string(::getpid())}};
    expect_bounded(gateway, collector);
}

TEST(HostileGateway, AQueryClientStaysSmall) {
    const HostileGateway gateway;
    Process client{{program_path("perfleet"), "top", "--gateway", gateway.endpoint()}};
    expect_bounded(gateway, client);
}

TEST(HostileGateway, ARelayStaysSmall) {
    const HostileGateway gateway;
    Process relay{
        {program_path("perfleet"), "relay", "--listen", "tcp://127.0.0.1:*", "--gateway", gateway.endpoint()}};
    const auto ready = relay.wait_for_output("ready ");
    ASSERT_TRUE(ready.has_value()) << relay.error_output();
    const std::size_t begin = ready->find("listen=") + 7;
    // It cuts a target whose gateway has gone.
    std::vector<RawConnection> targets;
    for (int i = 0; i < 3; ++i) {
        targets.emplace_back(ready->substr(begin, ready->find(' ', begin) - begin));
    }
    expect_bounded(gateway, relay);
}

}  // namespace
}  // namespace perfleet::end_to_end::hostile_gateway_test
