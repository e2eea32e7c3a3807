#include "target-collector/relay/relay.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "schemas/host/descriptor_limit.h"
#include "schemas/host/endpoint.h"
#include "schemas/peers/key_file.h"
#include "schemas/zmtp/listener.h"
#include "target-collector/linux/link/gateway_link.h"
#include "target-collector/relay/descriptor_stream.h"
#include "target-collector/relay/relayed_target.h"

namespace perfleet {
namespace {

// On a serial line, only heartbeats show that the other end was restarted.
constexpr ZmtpDriver::Options kLineTimeout{
    .handshake_ns_max = 2'000'000'000, .heartbeat_interval_ns = 1'000'000'000, .heartbeat_timeout_ns = 5'000'000'000};
constexpr std::chrono::seconds kTryLineAgainAfter{1};
constexpr std::chrono::seconds kShortageReportedEvery{60};
constexpr int kShortagePauseMs = 200;                // before the next connection is accepted
constexpr std::chrono::milliseconds kCutPause{100};  // before a line restarts whose gateway or target is gone

bool has_hung_up(int socket) {
    pollfd item{socket, POLLRDHUP, 0};
    return ::poll(&item, 1, 0) > 0 && (item.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// The listener stays readable after such a failure of accept(), and would be retried at once.
bool is_shortage(int number) { return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM; }

// At an address of this machine alone, because targets show no key.
Result<zmtp::Listener> listen_at(const std::string& endpoint) {
    PERFLEET_TRY(check_endpoint("--listen", endpoint, EndpointReach::kThisMachine));
    if (endpoint.starts_with("inproc://")) {
        return Error{ErrorCode::kUsage, "--listen " + endpoint + ": targets come in over tcp:// or ipc://"};
    }
    return zmtp::Listener::open("--listen", endpoint);
}

// False: asked to stop.
bool sleep(const std::stop_token& stop, std::chrono::milliseconds duration) {
    const auto until = std::chrono::steady_clock::now() + duration;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(duration, std::chrono::milliseconds{50}));
    }
    return !stop.stop_requested();
}

}  // namespace

struct Relay::State {
    struct Line {
        std::string path;
        FileDescriptor descriptor;
    };
    struct Thread {
        std::atomic<bool> is_done{false};
        std::jthread thread;
    };

    RelayOptions options;
    std::vector<ConnectKeys> keys;
    RelayCounts counts;
    std::vector<zmtp::Listener> listeners;
    std::vector<std::string> endpoints;
    std::vector<Line> lines;
    std::size_t targets_max = kTargetsMax;
    std::chrono::steady_clock::time_point shortage_reported{};
    std::mutex trouble_mutex;
    std::string trouble_reported;
    std::string connect_trouble_reported;
    std::list<Thread> threads;  // the last member: they end before what they use

    void log(std::string_view text) const {
        if (options.log) {
            options.log(text);
        }
    }

    // Logs why the gateway rejects the connection; once for each reason.
    void log_trouble(const GatewayLink& gateway) {
        const std::scoped_lock lock{trouble_mutex};
        if (gateway.is_connected()) {
            trouble_reported.clear();
        } else if (const std::string trouble = gateway.trouble(); !trouble.empty() && trouble != trouble_reported) {
            trouble_reported = trouble;
            log(gateway.endpoint() + ": " + trouble_reported);
        }
    }

    [[nodiscard]] Result<std::unique_ptr<GatewayLink>> connect() const {
        return GatewayLink::connect({options.gateways, "", keys});
    }

    void relay(ByteStream& stream, RelayedTarget::Options with, const std::stop_token& stop) {
        auto gateway = connect();
        if (!gateway) {
            const std::scoped_lock lock{trouble_mutex};
            if (std::exchange(connect_trouble_reported, gateway.error().message) != gateway.error().message) {
                log(gateway.error().message);
            }
            return;
        }
        with.vouches_for_it = !keys.empty();
        with.is_target_gone = [this, &gateway, is_gone = std::move(with.is_target_gone)](bool is_read) {
            log_trouble(**gateway);
            return is_gone(is_read);
        };
        RelayedTarget{with, stream, **gateway, counts}.run(stop);
    }

    void relay_socket(const FileDescriptor& socket, const std::stop_token& stop) {
        AcceptedStream stream{socket};
        relay(stream,
              {.target = {},
               .descriptor = socket.get(),
               .is_target_gone =
                   [&](bool is_read) { return is_read ? stream.connection() == 0 : has_hung_up(socket.get()); }},
              stop);
    }

    void relay_line(Line& line, const std::stop_token& stop) {
        bool was_reported = false;
        while (!stop.stop_requested()) {
            if (line.descriptor.get() < 0) {
                auto opened = open_line(line.path, options.baud);
                if (!opened) {
                    if (!std::exchange(was_reported, true)) {
                        log(opened.error().message + "; tried again every second");
                    }
                    (void)sleep(stop, kTryLineAgainAfter);
                    continue;
                }
                line.descriptor = std::move(*opened);
                was_reported = false;
            }
            DescriptorPort port{line.descriptor};
            LineStream stream{port, LineStream::End::kHost};
            (void)stream.end_connection();  // bytes before this belong to no connection
            relay(stream,
                  {.target = kLineTimeout,
                   .descriptor = line.descriptor.get(),
                   .is_target_gone = [&](bool /*is_read*/) { return port.is_gone(); }},
                  stop);
            if (port.is_gone()) {
                line.descriptor = FileDescriptor{};
            }
            (void)sleep(stop, kCutPause);
        }
    }

    template <class Work>
    void start(Work work) {
        Thread& thread = threads.emplace_back();
        thread.thread = std::jthread{[&thread, work = std::move(work)](const std::stop_token& stop) mutable {
            work(stop);
            thread.is_done = true;
        }};
    }

    // False: there are no descriptors or no memory for connections now.
    [[nodiscard]] bool take_in(const zmtp::Listener& listener) {
        auto socket = listener.accept();
        if (socket.get() < 0) {
            const int number = errno;
            if (is_shortage(number)) {
                log_shortage(number);
            }
            return !is_shortage(number);
        }
        std::erase_if(threads, [](const Thread& thread) { return thread.is_done.load(); });
        if (threads.size() >= targets_max) {
            if (counts.targets_refused++ == 0) {
                log("more than " + std::to_string(targets_max) + " targets at once: those beyond are turned away" +
                    (targets_max == kTargetsMax ? "" : "; a higher limit of open files (ulimit -n) lets in more"));
            }
            return true;
        }
        start([this, socket = std::move(socket)](const std::stop_token& stop) { relay_socket(socket, stop); });
        return true;
    }

    void log_shortage(int number) {
        const auto now = std::chrono::steady_clock::now();
        if (shortage_reported == std::chrono::steady_clock::time_point{} ||
            now - shortage_reported >= kShortageReportedEvery) {
            shortage_reported = now;
            log(std::string{"cannot accept connections now: "} + std::strerror(number) + "; the relay retries");
        }
    }
};

Relay::Relay(std::unique_ptr<State> state) : state_{std::move(state)} {}
Relay::~Relay() = default;

Result<std::unique_ptr<Relay>> Relay::open(const RelayOptions& options) {
    auto state = std::make_unique<State>();
    state->options = options;
    if (options.listen.empty() && options.lines.empty()) {
        return Error{ErrorCode::kUsage, "no target to relay; give --listen tcp://127.0.0.1:PORT or --serial PATH"};
    }
    state->keys = PERFLEET_TRY(options.load_keys());
    // Reports errors of the endpoint or the keys at once.
    PERFLEET_TRY(state->connect());
    for (const std::string& endpoint : options.listen) {
        auto listener = PERFLEET_TRY(listen_at(endpoint));
        state->endpoints.push_back(listener.endpoint());
        state->listeners.push_back(std::move(listener));
    }
    for (const std::string& path : options.lines) {
        auto line = PERFLEET_TRY(open_line(path, options.baud));
        state->lines.push_back({path, std::move(line)});
    }
    const std::size_t left = descriptors_left();
    state->targets_max =
        std::min(kTargetsMax, state->lines.size() + (left - std::min(left, kDescriptorsKept)) / kDescriptorsOfTarget);
    return std::unique_ptr<Relay>{new Relay{std::move(state)}};
}

const std::vector<std::string>& Relay::endpoints() const { return state_->endpoints; }

void Relay::run(int stop_descriptor) {
    State& state = *state_;
    for (State::Line& line : state.lines) {
        state.start([&state, &line](const std::stop_token& stop) { state.relay_line(line, stop); });
    }
    std::vector<pollfd> items{{stop_descriptor, POLLIN, 0}};
    for (const zmtp::Listener& listener : state.listeners) {
        items.push_back({listener.fd(), POLLIN, 0});
    }
    bool is_short = false;
    while (items.front().revents == 0) {
        const std::size_t count = is_short ? 1 : items.size();
        (void)::poll(items.data(), count, is_short ? kShortagePauseMs : -1);
        is_short = false;
        for (std::size_t i = 1; i < count; ++i) {
            if (items[i].revents != 0) {
                is_short = !state.take_in(state.listeners[i - 1]) || is_short;
            }
        }
    }
    for (State::Thread& thread : state.threads) {
        thread.thread.request_stop();
    }
    state.threads.clear();
}

const RelayCounts& Relay::counts() const { return state_->counts; }

}  // namespace perfleet
