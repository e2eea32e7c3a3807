#include "tests/benchmark/crowd/crowd.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "schemas/wire/delivery_limits.h"
#include "target-collector/message/patch.h"
#include "target-collector/wire/resend_timeout.h"
#include "target-collector/wire/socket_driver.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kHeartbeatIntervalNs = 5'000'000'000;
constexpr std::uint64_t kHeartbeatTimeoutNs = 10'000'000'000;
constexpr std::uint64_t kReconnectAfterNsMin = SocketDriver::kReconnectAfterNs;
constexpr std::uint64_t kReconnectAfterNsMax = SocketDriver::kReconnectAfterNsMax;
constexpr std::uint64_t kHandshakeNsMax = 30'000 * kNsPerMs;
constexpr std::uint64_t kUnfinishedReportedMax = 5;
// If the process falls behind, it first reads everything received, or it would take the gateway for silent.
constexpr int kTurnsAtOnceMax = 1'024;

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

}  // namespace

struct Crowd::Target {
    explicit Target(std::uint64_t target_index, std::uint64_t number) : index{target_index}, sealing{number} {}

    std::uint64_t index;
    Sealing sealing;
    std::uint64_t due_ns = ~0ULL;  // its next turn

    std::unique_ptr<ZmtpClient> connection;
    bool was_ready = false;
    std::uint64_t connect_at_ns = 0;
    std::uint64_t reconnect_after_ns = kReconnectAfterNsMin;
    std::uint64_t next_ping_ns = 0;
    std::uint64_t unanswered_since_ns = 0;  // a PING; 0: none

    bool is_welcomed = false;
    bool is_finished = false;
    std::uint64_t hello_ns = 0;
    std::uint64_t bye_ns = 0;
    std::uint64_t incarnation = 0;
    std::uint64_t prefix = 0;
    std::uint64_t send_limit = 0;
    std::uint64_t sent = 0;  // up to here, since the last Welcome
    std::uint64_t next_batch_ns = 0;
    struct Kept {
        std::uint64_t sealed_ns = 0;
        std::uint64_t sent_ns = 0;
        bool was_repeated = false;
        std::vector<std::byte> message;
    };
    std::deque<Kept> kept;  // from prefix + 1 on
    ResendTimeout timeout;
};

Crowd::Crowd(const CrowdPlan& plan, const sockaddr_in& gateway, std::vector<CurveClientKeys> keys)
    : plan_{plan}, gateway_{gateway}, keys_{std::move(keys)}, fixture_{plan}, epoll_{epoll_create1(EPOLL_CLOEXEC)} {
    for (std::uint64_t index = 0; index < plan.target_count; ++index) {
        targets_.push_back(std::make_unique<Target>(index, plan.first + index));
    }
}

Crowd::~Crowd() { close(epoll_); }

CrowdFigures Crowd::run() {
    const std::uint64_t start_ns = now_ns();
    for (const auto& target : targets_) {
        const double share = static_cast<double>(target->index) / static_cast<double>(targets_.size());
        schedule(*target, start_ns + static_cast<std::uint64_t>(share * plan_.connect_seconds * 1e9));
    }
    const auto run_ns = static_cast<std::uint64_t>((plan_.seconds + plan_.connect_seconds + plan_.timeout_s) * 1e9);
    std::vector<epoll_event> events(1'024);
    std::uint64_t now = start_ns;
    while (figures_.finished < targets_.size() && now - start_ns < run_ns) {
        take_turns(now);
        now = now_ns();
        const std::uint64_t wait_ns = due_.empty() || due_.top().first <= now ? 0 : due_.top().first - now;
        const int wait_ms = static_cast<int>(std::min<std::uint64_t>((wait_ns + kNsPerMs - 1) / kNsPerMs, 100));
        const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms);
        for (int i = 0; i < count; ++i) {
            advance(*targets_[events[static_cast<std::size_t>(i)].data.u64]);
        }
        now = now_ns();
    }
    figures_.target_count = targets_.size();
    std::uint64_t unfinished_count = 0;
    for (const auto& target : targets_) {
        figures_.batches_sealed += target->sealing.sealed;
        figures_.welcomed += target->incarnation != 0 ? 1 : 0;
        if (!target->is_finished && ++unfinished_count <= kUnfinishedReportedMax) {
            print_unfinished(*target, now);
        }
    }
    figures_.duration_ns = now - start_ns;
    return figures_;
}

void Crowd::print_unfinished(const Target& target, std::uint64_t now) {
    const auto age_ms = [&](std::uint64_t then_ns) { return then_ns == 0 ? 0 : (now - then_ns) / kNsPerMs; };
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long>(value); };
    std::fprintf(
        stderr,
        "crowd_targets: target %lu isn't finished: connection %s, %s, connected %lu ms ago, Hello %lu ms ago, PING "
        "open for %lu ms; acknowledged %lu, sent %lu, limit %lu, sealed %lu, oldest sent %lu ms ago\n",
        number(target.sealing.number),
        target.connection == nullptr ? "none"
        : target.was_ready           ? "ready"
                                     : "in its handshake",
        target.is_welcomed ? "welcomed" : "not welcomed", number(age_ms(target.connect_at_ns)),
        number(age_ms(target.hello_ns)), number(age_ms(target.unanswered_since_ns)), number(target.prefix),
        number(target.sent), number(target.send_limit), number(target.sealing.sealed),
        number(target.kept.empty() ? 0 : age_ms(target.kept.front().sent_ns)));
}

void Crowd::schedule(Target& target, std::uint64_t when_ns) {
    if (when_ns < target.due_ns) {
        target.due_ns = when_ns;
        due_.emplace(when_ns, target.index);
    }
}

void Crowd::take_turns(std::uint64_t now) {
    for (int i = 0; i < kTurnsAtOnceMax && !due_.empty() && due_.top().first <= now; ++i) {
        const auto [due_ns, index] = due_.top();
        due_.pop();
        Target& target = *targets_[index];
        if (due_ns == target.due_ns) {
            figures_.late_ns_max = std::max(figures_.late_ns_max, now - due_ns);
            target.due_ns = ~0ULL;
            turn(target, now);
        }
    }
}

// -- the connection
// ----------------------------------------------------------------------------------------------------

void Crowd::connect(Target& target, std::uint64_t now) {
    target.connect_at_ns = now;
    target.connection = std::make_unique<ZmtpClient>(gateway_, keys_.empty() ? nullptr : &keys_[target.index]);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = target.index;
    if (target.connection->descriptor() < 0 ||
        epoll_ctl(epoll_, EPOLL_CTL_ADD, target.connection->descriptor(), &event) != 0) {
        std::fprintf(stderr, "crowd_targets: no descriptor left for a connection; run fewer targets in one process\n");
        std::exit(1);
    }
    if (target.connection->state() == ZmtpClient::State::kEnded) {
        disconnect(target, now);
    }
}

// As libzmq does: after a delay that grows, with a random part.
void Crowd::disconnect(Target& target, std::uint64_t now) {
    ++(target.was_ready ? figures_.connections_lost : figures_.handshakes_failed);
    target.connection.reset();
    target.was_ready = false;
    target.is_welcomed = false;
    target.unanswered_since_ns = 0;
    target.connect_at_ns = now + target.reconnect_after_ns + target.sealing.random() % kReconnectAfterNsMin;
    target.reconnect_after_ns = std::min(2 * target.reconnect_after_ns, kReconnectAfterNsMax);
    schedule(target, target.connect_at_ns);
}

void Crowd::listen_to_heart(Target& target, std::uint64_t now) {
    if (target.connection->take_was_heard()) {
        target.unanswered_since_ns = 0;
    }
    if (target.unanswered_since_ns != 0 && now - target.unanswered_since_ns >= kHeartbeatTimeoutNs) {
        ++figures_.peer_silent;
        disconnect(target, now);
        return;
    }
    if (now >= target.next_ping_ns && target.connection->send_ping()) {
        target.unanswered_since_ns = target.unanswered_since_ns != 0 ? target.unanswered_since_ns : now;
        target.next_ping_ns = now + kHeartbeatIntervalNs;
    }
}

void Crowd::advance(Target& target) {
    if (target.connection == nullptr) {
        return;
    }
    target.connection->advance([&](std::span<const std::byte> frame) { take(target, frame); });
    const std::uint64_t now = now_ns();
    if (target.connection->state() == ZmtpClient::State::kEnded) {
        disconnect(target, now);
    } else if (target.connection->state() == ZmtpClient::State::kReady && !target.was_ready) {
        target.was_ready = true;
        target.reconnect_after_ns = kReconnectAfterNsMin;
        target.next_ping_ns = now + kHeartbeatIntervalNs;
        say_hello(target, now);
    } else {
        send_batches(target, now);
    }
}

// -- what a target does
// ------------------------------------------------------------------------------------------------

void Crowd::turn(Target& target, std::uint64_t now) {
    if (target.is_finished) {
        return;
    }
    seal_due(target, now);
    if (target.connection == nullptr) {
        if (now >= target.connect_at_ns) {
            connect(target, now);
        }
    } else if (!target.was_ready) {
        if (now - target.connect_at_ns >= kHandshakeNsMax) {
            disconnect(target, now);
        }
    } else {
        listen_to_heart(target, now);
    }
    if (target.was_ready) {
        if (!target.is_welcomed && now - target.hello_ns >= limits::kAckIntervalNs) {
            say_hello(target, now);
        }
        if (!target.kept.empty() && target.kept.front().sent_ns != 0 &&
            now - target.kept.front().sent_ns >= target.timeout.duration_ns()) {
            target.timeout.grow();
            figures_.batches_resent += target.sent - target.prefix;
            target.sent = target.prefix;
        }
        send_batches(target, now);
        say_bye(target, now);
    }
    const bool has_batches = target.next_batch_ns != 0 && target.sealing.sealed < plan_.batch_count();
    const std::uint64_t soon_ns = now + limits::kAckIntervalNs;
    schedule(target, has_batches ? std::min(target.next_batch_ns, soon_ns) : soon_ns);
}

void Crowd::seal_due(Target& target, std::uint64_t now) {
    // From its first Welcome on, one interval after the other: a late target doesn't send less.
    while (target.incarnation != 0 && target.sealing.sealed < plan_.batch_count() && now >= target.next_batch_ns) {
        target.kept.push_back({now, 0, false, fixture_.seal_next(target.sealing)});
        target.next_batch_ns = (target.next_batch_ns == 0 ? now : target.next_batch_ns) + plan_.interval_ms * kNsPerMs;
        figures_.kept_max = std::max<std::uint64_t>(figures_.kept_max, target.kept.size());
    }
}

bool Crowd::send(Target& target, std::span<const std::byte> message) {
    if (!target.connection->send(message)) {
        ++figures_.sends_failed;
        return false;
    }
    figures_.bytes_sent += message.size();
    return true;
}

void Crowd::say_hello(Target& target, std::uint64_t now) {
    if (send(target, fixture_.hello(target.sealing.number, Seq{target.prefix + 1}))) {
        target.hello_ns = now;
    }
}

void Crowd::send_batches(Target& target, std::uint64_t now) {
    while (target.is_welcomed && target.sent < target.sealing.sealed && target.sent < target.send_limit) {
        Target::Kept& kept = target.kept[target.sent - target.prefix];
        if (!set_oldest_retained_seq(kept.message, Seq{target.prefix + 1}).ok() || !send(target, kept.message)) {
            return;
        }
        kept.was_repeated = kept.sent_ns != 0;
        kept.sent_ns = now;
        ++target.sent;
    }
}

void Crowd::say_bye(Target& target, std::uint64_t now) {
    if (target.is_welcomed && !target.is_finished && target.prefix == plan_.batch_count() &&
        now - target.bye_ns >= limits::kAckIntervalNs && send(target, fixture_.bye(target.sealing))) {
        target.bye_ns = now;
    }
}

// -- replies ---------------------------------------------------------------------------------------------------------

void Crowd::take(Target& target, std::span<const std::byte> frame) {
    if (const auto reply = read_reply(frame); reply.ok()) {
        take_reply(target, *reply, now_ns());
    }
}

void Crowd::take_reply(Target& target, const Reply& reply, std::uint64_t now) {
    switch (reply.type) {
        case Reply::Type::kWelcome:
            if (target.incarnation == 0) {
                schedule(target, now);  // its first batch
            }
            target.is_welcomed = true;
            target.incarnation = reply.incarnation;
            target.send_limit = reply.send_limit.value;
            acknowledge(target, reply.prefix.value, now);
            target.sent = target.prefix;
            target.timeout.forget();
            break;
        case Reply::Type::kHelloAgain:
            ++figures_.hello_again;
            if (target.is_welcomed) {
                target.is_welcomed = false;
                say_hello(target, now);
            }
            break;
        case Reply::Type::kAck:
            if (reply.incarnation != target.incarnation) {
                break;
            }
            target.send_limit = std::max(target.send_limit, reply.send_limit.value);
            acknowledge(target, reply.prefix.value, now);
            say_bye(target, now);
            if (reply.is_finished && !target.is_finished) {
                target.is_finished = true;
                ++figures_.finished;
            }
            break;
        case Reply::Type::kRefused:
            if (++figures_.refused <= 5) {
                std::fprintf(stderr, "crowd_targets: target %lu, seq %lu was refused: %.*s\n",
                             static_cast<unsigned long>(target.sealing.number),
                             static_cast<unsigned long>(reply.seq.value), static_cast<int>(reply.message.size()),
                             reply.message.data());
            }
            break;
        default: break;
    }
}

void Crowd::acknowledge(Target& target, std::uint64_t prefix, std::uint64_t now) {
    while (target.prefix < prefix && !target.kept.empty()) {
        figures_.latency_us.add((now - target.kept.front().sealed_ns) / 1'000);
        if (!target.kept.front().was_repeated && target.kept.front().sent_ns != 0) {
            target.timeout.learn(now - target.kept.front().sent_ns);
        }
        target.kept.pop_front();
        ++target.prefix;
        ++figures_.batches_acknowledged;
    }
    target.sent = std::max(target.sent, target.prefix);
}

}  // namespace perfleet
