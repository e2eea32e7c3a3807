// chaos_replay --capture FILE --gateway ENDPOINT --seed N [--key FILE --gateway-key FILE]: a peer that sends again, in
// another order and twice, what a source has sent: late duplicates, as a network and old processes may bring them.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/patch.h"
#include "target-collector/wire/socket_driver.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::chaos {
namespace {

constexpr std::chrono::seconds kTimeout{3};
constexpr std::uint64_t kTurnNs = 20'000'000;
constexpr SessionId kLastSession{77, 77};

// The whole frames of a file that may have been cut short.
std::vector<Frame> read_capture(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::vector<Frame> frames;
    std::uint32_t size = 0;
    while (file.read(reinterpret_cast<char*>(&size), sizeof size) && size <= limits::kBatchSizeBytesMax) {
        Frame frame(size);
        if (!file.read(reinterpret_cast<char*>(frame.data()), size)) {
            break;
        }
        frames.push_back(std::move(frame));
    }
    return frames;
}

class Replay {
public:
    explicit Replay(std::unique_ptr<SocketDriver> driver) : driver_{std::move(driver)} {}

    // False: the timeout has passed.
    bool send(const Frame& frame) {
        while (std::chrono::steady_clock::now() < deadline_) {
            if (driver_->reconnected() && !hello_.empty()) {
                (void)driver_->send(hello_);
            }
            if (driver_->send(frame)) {
                return true;
            }
            driver_->wait(-1, kTurnNs);
        }
        return false;
    }

    // Everything that was sent has been taken, unless the connection broke.
    void wait_until_heard() {
        std::vector<std::byte> buffer(limits::kReplySizeBytesMax);
        while (std::chrono::steady_clock::now() < deadline_) {
            const auto size = driver_->receive(buffer);
            if (size.ok() && *size > 0 && is_answer(sample::read_reply(std::span{buffer}.first(*size)))) {
                return;
            }
            if (driver_->reconnected()) {
                (void)driver_->send(last_);
            }
            driver_->wait(-1, kTurnNs);
        }
    }

    void set_hello(Frame hello) {
        last_ = hello;
        PERFLEET_ASSERT(set_hello_state(last_, kLastSession, Seq{1}).ok());
        hello_ = std::move(hello);
    }

    // A Hello of a session that nothing else names: its Welcome shows that everything before it was taken.
    [[nodiscard]] const Frame& last() const { return last_; }

private:
    static bool is_answer(const sample::Reply& reply) {
        return reply.type == sample::ReplyType::kWelcome && reply.session == kLastSession;
    }

    std::unique_ptr<SocketDriver> driver_;
    Frame hello_;
    Frame last_;
    std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + kTimeout;
};

int run(int argc, char** argv) {
    std::string capture;
    std::string gateway;
    std::string key;
    std::string gateway_key;
    std::uint64_t seed = 0;
    CLI::App app{"Says again what a source has said, for tests/chaos/run", "chaos_replay"};
    app.add_option("--capture", capture)->required();
    app.add_option("--gateway", gateway)->required();
    app.add_option("--key", key);
    app.add_option("--gateway-key", gateway_key);
    app.add_option("--seed", seed);
    CLI11_PARSE(app, argc, argv);
    std::vector<Frame> frames = read_capture(capture);
    const auto keys = load_connect_keys(key, gateway_key);
    if (!keys.ok()) {
        return 1;
    }
    auto driver = SocketDriver::connect(gateway, keys->has_value() ? &**keys : nullptr);
    if (!driver.ok() || frames.empty()) {
        return driver.ok() ? 0 : 1;
    }
    Replay replay{std::move(*driver)};
    replay.set_hello(frames.front());
    std::mt19937_64 random{seed};
    for (int round = 0; round < 2; ++round) {
        std::shuffle(frames.begin(), frames.end(), random);
        for (const Frame& frame : frames) {
            if (!replay.send(frame)) {
                return 0;
            }
        }
    }
    if (replay.send(replay.last())) {
        replay.wait_until_heard();
    }
    std::printf("replayed %zu frames twice\n", frames.size());
    return 0;
}

}  // namespace
}  // namespace perfleet::chaos

int main(int argc, char** argv) { return perfleet::chaos::run(argc, argv); }
