// Simulated targets, each on a connection of its own, as collectors at a low frequency are: a batch every interval,
// kept until it is acknowledged, sent again when it isn't, Bye when all are. One thread for all of them.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "target-collector/message/reply_reader.h"
#include "tests/benchmark/crowd/crowd_fixture.h"
#include "tests/benchmark/crowd/figures.h"
#include "tests/benchmark/crowd/plan.h"
#include "tests/benchmark/crowd/zmtp_client.h"

namespace perfleet {

class Crowd {
public:
    // `keys`: one pair for each target of the plan, in their order; empty: without CURVE.
    Crowd(const CrowdPlan& plan, const sockaddr_in& gateway, std::vector<CurveClientKeys> keys);
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd();

    // Until every target's Bye is acknowledged, or the plan's timeout has passed.
    [[nodiscard]] CrowdFigures run();

private:
    struct Target;

    static void print_unfinished(const Target& target, std::uint64_t now);

    // A target has one next turn, the earliest of those requested.
    void schedule(Target& target, std::uint64_t when_ns);
    void take_turns(std::uint64_t now);
    void turn(Target& target, std::uint64_t now);
    void connect(Target& target, std::uint64_t now);
    void disconnect(Target& target, std::uint64_t now);
    void listen_to_heart(Target& target, std::uint64_t now);
    void advance(Target& target);
    void seal_due(Target& target, std::uint64_t now);
    bool send(Target& target, std::span<const std::byte> message);
    void say_hello(Target& target, std::uint64_t now);
    void send_batches(Target& target, std::uint64_t now);
    void say_bye(Target& target, std::uint64_t now);
    void take(Target& target, std::span<const std::byte> frame);
    void take_reply(Target& target, const Reply& reply, std::uint64_t now);
    void acknowledge(Target& target, std::uint64_t prefix, std::uint64_t now);

    CrowdPlan plan_;
    sockaddr_in gateway_;
    std::vector<CurveClientKeys> keys_;
    CrowdFixture fixture_;
    std::vector<std::unique_ptr<Target>> targets_;
    int epoll_ = -1;
    using Due = std::pair<std::uint64_t, std::uint64_t>;  // when, and the target's index
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    CrowdFigures figures_;
};

}  // namespace perfleet
