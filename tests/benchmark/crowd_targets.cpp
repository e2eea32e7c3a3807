// Many simulated targets, each on a connection of its own, as collectors at a low frequency are: a batch every
// interval, kept until it is acknowledged. crowd.py runs it against a gateway.
//
//   crowd_targets --gateway ENDPOINT [--first N] [--targets N] [--seconds N] [--interval-ms N] [--rows N]
//                 [--connect-seconds N] [--patience N] [--curve-keys FILE]
//   crowd_targets --check DIR [--targets N] [--seconds N] [--interval-ms N] [--rows N]
//
// The first form prints one JSON object. Batches are real ones: rows with jittered times on eight processors, skewed
// stacks, sealed. Each target seals seconds/interval batches, whatever happens to them, and says Bye when all are
// acknowledged. The second form reads the store and compares each target's batches and rows with what it must have
// sealed.
//
// One thread and libzmq's own. Sockets take three descriptors each: more than some thousand targets need several
// processes.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/limits.h"
#include "storage/store/store.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/bye.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/reply_reader.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kSessionHigh = 0x63726f7764000001;
constexpr std::uint32_t kStacksAtStart = 300;
constexpr std::uint32_t kStacksPerBatch = 4;
constexpr std::uint32_t kCpuCount = 8;
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kStacks{Kind::kStack, kNoEvent};
constexpr Series kImages{Kind::kImage, kNoEvent};

// As the collector's own driver has them.
constexpr int kHeartbeatIntervalMs = 1'000;
constexpr int kHeartbeatTimeoutMs = 4'000;
constexpr int kReconnectAfterMs = 100;
constexpr int kReconnectAfterMsMax = 2'000;

struct Options {
    std::string gateway;
    std::string check;
    std::string curve_keys;
    std::uint64_t first = 0;
    std::uint64_t target_count = 100;
    double seconds = 10;
    std::uint64_t interval_ms = 2'000;
    std::uint32_t row_count = 304;
    double connect_seconds = 0;
    double patience_s = 60;

    [[nodiscard]] std::uint64_t batch_count() const {
        return std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(std::llround(seconds * 1e3)) / std::max<std::uint64_t>(1, interval_ms));
    }
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "crowd_targets: %s\n", what.c_str());
    std::exit(1);
}

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

std::int64_t utc_now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

SessionId session_of(std::uint64_t number) { return {kSessionHigh, number}; }
TargetId target_of(std::uint64_t number) { return TargetId{1'000'000 + number}; }

// --- What a target seals ---------------------------------------------------------------------------------------------

class Workshop {
public:
    explicit Workshop(const Options& options)
        : options_{options},
          start_utc_ns_{utc_now_ns()},
          values_(BatchBuilder::values_count(kRowsMax(options), 6, 4)),
          bytes_(1U << 16),
          builder_{values_, bytes_, kRowsMax(options)} {
        double sum = 0;
        for (std::uint32_t rank = 1; rank <= kStacksAtStart; ++rank) {
            sum += 1.0 / rank;
            weights_.push_back(sum);
        }
    }

    // The next batch of a target: `seq` from 1 on, `stack_count` grows.
    std::vector<std::byte> seal(std::uint64_t number, std::uint64_t seq, std::uint32_t& stack_count,
                                std::uint64_t& ticks, std::minstd_rand& random) {
        builder_.clear();
        if (seq == 1) {
            define_image();
        }
        for (std::uint32_t left = seq == 1 ? kStacksAtStart : kStacksPerBatch; left > 0; --left) {
            ++stack_count;
            append(kStacks, {stack_count, stack_count == 1 ? 0 : 1 + random() % (stack_count - 1), 0,
                             16 * (random() % 100'000)});
        }
        const std::uint64_t step_ns = options_.interval_ms * kNsPerMs / options_.row_count;
        for (std::uint32_t row = 0; row < options_.row_count; ++row) {
            ticks += step_ns - 1'000 + random() % 2'000;
            const double at = weights_.back() * static_cast<double>(random() % 65'536) / 65'536;
            const auto rank = std::lower_bound(weights_.begin(), weights_.end(), at) - weights_.begin();
            const std::uint64_t thread = 1'000 + (random() % 16 == 0 ? random() % 8 : 0);
            append(kSamples,
                   {ticks, row % kCpuCount, thread, thread, 1 + static_cast<std::uint64_t>(rank), 52'631'578});
        }
        const Tally tallies[] = {{kSamples, TallyName::kProduced, seq * options_.row_count},
                                 {kStacks, TallyName::kProduced, stack_count},
                                 {kImages, TallyName::kProduced, 1}};
        const BatchHeader header{session_of(number), Seq{seq}, EpochNumber{0}, bucket_of(UtcNs{start_utc_ns_})};
        std::vector<std::byte> message(builder_.sealed_size_bytes_max(3, 0, 0));
        const auto size = builder_.seal(header, Ticks{ticks}, tallies, {}, {}, message);
        if (!size.ok()) {
            fail("a batch can't be sealed: code " + std::to_string(static_cast<int>(size.error().code)));
        }
        message.resize(*size);
        message.shrink_to_fit();
        return message;
    }

    [[nodiscard]] std::vector<std::byte> hello(std::uint64_t number, std::uint64_t oldest_retained) const {
        const std::string name = "crowd-" + std::to_string(number);
        const LabelDescription labels[] = {{"crowd", "simulated"}, {"rack", name}};
        EventDescription event;
        event.name = "cpu-clock";
        event.unit = "ns";
        event.period = 19;
        event.is_frequency = true;
        HelloDescription hello;
        hello.session = session_of(number);
        hello.target = target_of(number);
        hello.target_name = name;
        hello.architecture = "x86_64";
        hello.labels = labels;
        hello.events = std::span{&event, 1};
        hello.clock = {"monotonic", 1'000'000'000, 1};
        hello.start_point = {Ticks{1}, UtcNs{start_utc_ns_}, 0};
        hello.host.os_release = "6.1.0";
        hello.host.cpus_online = kCpuCount;
        hello.host.cpus_configured = kCpuCount;
        hello.oldest_retained = Seq{oldest_retained};
        std::vector<std::byte> message(hello_size_bytes_max(hello));
        const auto size = write_hello(hello, message);
        if (!size.ok()) {
            fail("a Hello can't be written");
        }
        message.resize(*size);
        return message;
    }

    [[nodiscard]] std::vector<std::byte> bye(std::uint64_t number, std::uint32_t stack_count,
                                             std::uint64_t ticks) const {
        const std::uint64_t batch_count = options_.batch_count();
        const Tally tallies[] = {{kSamples, TallyName::kProduced, batch_count * options_.row_count},
                                 {kStacks, TallyName::kProduced, stack_count},
                                 {kImages, TallyName::kProduced, 1}};
        std::vector<std::byte> message(kByeSizeBytesMax);
        const auto size =
            write_bye({session_of(number), Seq{batch_count}, tallies, {}, {Ticks{ticks}, UtcNs{}, 0}}, message);
        if (!size.ok()) {
            fail("a Bye can't be written");
        }
        message.resize(*size);
        return message;
    }

private:
    static std::uint32_t kRowsMax(const Options& options) { return options.row_count + kStacksAtStart + 1; }

    void append(Series series, std::initializer_list<std::uint64_t> values,
                std::span<const std::span<const std::byte>> bytes = {}) {
        if (!builder_.append(series, std::span{values.begin(), values.size()}, bytes)) {
            fail("a batch has no room for its rows; give fewer --rows");
        }
    }

    void define_image() {
        const std::string name = "/usr/bin/crowd";
        const std::span<const std::byte> bytes[] = {{}, std::as_bytes(std::span{name})};
        append(kImages, {0, 2, 0, 0, 0, name.size()}, bytes);
    }

    Options options_;
    std::int64_t start_utc_ns_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    BatchBuilder builder_;
    std::vector<double> weights_;
};

// --- Targets ---------------------------------------------------------------------------------------------------------

struct Target {
    std::uint64_t number = 0;
    void* socket = nullptr;
    bool is_welcomed = false;
    bool is_finished = false;
    std::uint64_t hello_ns = 0;
    std::uint64_t bye_ns = 0;
    std::uint64_t incarnation = 0;
    std::uint64_t prefix = 0;
    std::uint64_t send_limit = 0;
    std::uint64_t sealed = 0;
    std::uint64_t sent = 0;  // up to here, since the last Welcome
    std::uint32_t stack_count = 0;
    std::uint64_t ticks = 1'000'000'000'000;
    std::minstd_rand random;
    struct Kept {
        std::uint64_t sealed_ns = 0;
        std::uint64_t sent_ns = 0;
        std::vector<std::byte> message;
    };
    std::deque<Kept> kept;  // from prefix + 1 on
};

// Counts of values over some decades, 4 % wide.
class Spread {
public:
    void add(std::uint64_t value) { ++counts_[static_cast<int>(std::log2(static_cast<double>(value) + 1) * 16)]; }
    [[nodiscard]] std::string json() const {
        std::string text = "{";
        for (const auto& [step, count] : counts_) {
            text += (text.size() > 1 ? "," : "") + ("\"" + std::to_string(step) + "\":" + std::to_string(count));
        }
        return text + "}";
    }

private:
    std::map<int, std::uint64_t> counts_;
};

struct Totals {
    std::uint64_t batches_acknowledged = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t batches_resent = 0;
    std::uint64_t sends_failed = 0;
    std::uint64_t refused = 0;
    std::uint64_t hello_again = 0;
    std::uint64_t finished = 0;
    std::uint64_t kept_max = 0;  // of one target
};

class Crowd {
public:
    explicit Crowd(const Options& options) : options_{options}, workshop_{options}, targets_(options.target_count) {
        context_ = zmq_ctx_new();
        zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, static_cast<int>(options.target_count + 16));
        epoll_ = epoll_create1(EPOLL_CLOEXEC);
        if (!options.curve_keys.empty()) {
            std::ifstream file{options.curve_keys};
            if (!(file >> server_key_ >> public_key_ >> secret_key_)) {
                fail(options.curve_keys + ": three keys are wanted: gateway's public, own public, own secret");
            }
        }
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd() {
        for (const Target& target : targets_) {
            if (target.socket != nullptr) {
                zmq_close(target.socket);
            }
        }
        zmq_ctx_term(context_);
        close(epoll_);
    }

    // True when everything was acknowledged.
    bool run() {
        const std::uint64_t start_ns = now_ns();
        const double connect_ns = options_.connect_seconds * 1e9;
        for (std::uint64_t i = 0; i < targets_.size(); ++i) {
            const double share = static_cast<double>(i) / static_cast<double>(targets_.size());
            due_.emplace(start_ns + static_cast<std::uint64_t>(share * connect_ns), i);
        }
        const auto run_ns =
            static_cast<std::uint64_t>((options_.seconds + options_.connect_seconds + options_.patience_s) * 1e9);
        std::vector<epoll_event> events(1'024);
        while (totals_.finished < targets_.size() && now_ns() - start_ns < run_ns) {
            while (!due_.empty() && due_.top().first <= now_ns()) {
                const std::uint64_t index = due_.top().second;
                due_.pop();
                act(targets_[index], index);
            }
            const std::uint64_t now = now_ns();
            const std::uint64_t wait_ns = due_.empty() || due_.top().first <= now ? 0 : due_.top().first - now;
            const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                         static_cast<int>(std::min<std::uint64_t>(wait_ns / kNsPerMs, 100)));
            for (int i = 0; i < count; ++i) {
                drain(targets_[events[static_cast<std::size_t>(i)].data.u64]);
            }
        }
        report(now_ns() - start_ns);
        return totals_.finished == targets_.size() && totals_.refused == 0;
    }

private:
    void connect(Target& target, std::uint64_t index) {
        target.number = options_.first + index;
        target.random.seed(static_cast<std::uint32_t>(target.number + 1));
        target.socket = zmq_socket(context_, ZMQ_DEALER);
        if (target.socket == nullptr) {
            fail(std::string{"a socket: "} + zmq_strerror(zmq_errno()) + "; run fewer targets in one process");
        }
        const auto set = [&](int option, int value) { zmq_setsockopt(target.socket, option, &value, sizeof value); };
        set(ZMQ_LINGER, 0);
        set(ZMQ_SNDHWM, static_cast<int>(limits::kSendWindowBatches));
        set(ZMQ_HEARTBEAT_IVL, kHeartbeatIntervalMs);
        set(ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatTimeoutMs);
        set(ZMQ_RECONNECT_IVL, kReconnectAfterMs);
        set(ZMQ_RECONNECT_IVL_MAX, kReconnectAfterMsMax);
        if (!server_key_.empty()) {
            zmq_setsockopt(target.socket, ZMQ_CURVE_SERVERKEY, server_key_.data(), server_key_.size() + 1);
            zmq_setsockopt(target.socket, ZMQ_CURVE_PUBLICKEY, public_key_.data(), public_key_.size() + 1);
            zmq_setsockopt(target.socket, ZMQ_CURVE_SECRETKEY, secret_key_.data(), secret_key_.size() + 1);
        }
        if (zmq_connect(target.socket, options_.gateway.c_str()) != 0) {
            fail(options_.gateway + ": " + zmq_strerror(zmq_errno()));
        }
        int fd = -1;
        std::size_t size = sizeof fd;
        zmq_getsockopt(target.socket, ZMQ_FD, &fd, &size);
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;
        event.data.u64 = index;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
            fail("epoll_ctl");
        }
    }

    // A target's turn, once an interval: seals, sends, says what has to be said again.
    void act(Target& target, std::uint64_t index) {
        const std::uint64_t now = now_ns();
        if (target.socket == nullptr) {
            connect(target, index);
        }
        if (!target.is_welcomed) {
            if (now - target.hello_ns >= limits::kAckIntervalNs) {
                say_hello(target, now);
            }
        }
        if (target.incarnation != 0 && target.sealed < options_.batch_count()) {
            ++target.sealed;
            target.kept.push_back(
                {now, 0,
                 workshop_.seal(target.number, target.sealed, target.stack_count, target.ticks, target.random)});
            totals_.kept_max = std::max<std::uint64_t>(totals_.kept_max, target.kept.size());
        }
        if (!target.kept.empty() && target.kept.front().sent_ns != 0 &&
            now - target.kept.front().sent_ns >= limits::kResendAfterNs) {
            totals_.batches_resent += target.sent - target.prefix;
            target.sent = target.prefix;
        }
        send_batches(target, now);
        say_bye(target, now);
        drain(target);
        if (!target.is_finished) {
            const bool is_waiting = !target.is_welcomed || target.sealed >= options_.batch_count();
            const std::uint64_t pause_ns = is_waiting ? std::min<std::uint64_t>(options_.interval_ms, 1'000) * kNsPerMs
                                                      : options_.interval_ms * kNsPerMs;
            due_.emplace(now + pause_ns, index);
        }
    }

    bool send(Target& target, std::span<const std::byte> message) {
        if (zmq_send(target.socket, message.data(), message.size(), ZMQ_DONTWAIT) < 0) {
            ++totals_.sends_failed;
            return false;
        }
        totals_.bytes_sent += message.size();
        return true;
    }

    void say_hello(Target& target, std::uint64_t now) {
        if (send(target, workshop_.hello(target.number, target.prefix + 1))) {
            target.hello_ns = now;
        }
    }

    void send_batches(Target& target, std::uint64_t now) {
        while (target.is_welcomed && target.sent < target.sealed && target.sent < target.send_limit) {
            Target::Kept& kept = target.kept[target.sent - target.prefix];
            if (!send(target, kept.message)) {
                return;
            }
            kept.sent_ns = now;
            ++target.sent;
        }
    }

    void say_bye(Target& target, std::uint64_t now) {
        if (target.is_welcomed && !target.is_finished && target.prefix == options_.batch_count() &&
            now - target.bye_ns >= limits::kAckIntervalNs &&
            send(target, workshop_.bye(target.number, target.stack_count, target.ticks))) {
            target.bye_ns = now;
        }
    }

    void drain(Target& target) {
        alignas(8) std::byte buffer[limits::kReplySizeBytesMax];
        for (;;) {
            const int size = zmq_recv(target.socket, buffer, sizeof buffer, ZMQ_DONTWAIT);
            if (size < 0) {
                return;
            }
            const auto reply = read_reply(
                std::span{buffer}.first(std::min<std::size_t>(static_cast<std::size_t>(size), sizeof buffer)));
            if (reply.ok()) {
                take(target, *reply);
            }
        }
    }

    void take(Target& target, const Reply& reply) {
        const std::uint64_t now = now_ns();
        switch (reply.sort) {
            case Reply::Sort::kWelcome:
                target.is_welcomed = true;
                target.incarnation = reply.incarnation;
                target.send_limit = reply.send_limit.value;
                acknowledge(target, reply.prefix.value, now);
                target.sent = target.prefix;
                break;
            case Reply::Sort::kHelloAgain:
                ++totals_.hello_again;
                if (target.is_welcomed || now - target.hello_ns >= limits::kAckIntervalNs) {
                    target.is_welcomed = false;
                    say_hello(target, now);
                }
                return;
            case Reply::Sort::kAck:
                if (reply.incarnation != target.incarnation) {
                    return;
                }
                target.send_limit = std::max(target.send_limit, reply.send_limit.value);
                acknowledge(target, reply.prefix.value, now);
                if (reply.is_finished && !target.is_finished) {
                    target.is_finished = true;
                    ++totals_.finished;
                }
                break;
            case Reply::Sort::kRefused:
                if (++totals_.refused <= 5) {
                    std::fprintf(stderr, "crowd_targets: target %lu, seq %lu was refused: %.*s\n",
                                 static_cast<unsigned long>(target.number), static_cast<unsigned long>(reply.seq.value),
                                 static_cast<int>(reply.message.size()), reply.message.data());
                }
                return;
            default: return;
        }
        send_batches(target, now);
        say_bye(target, now);
    }

    void acknowledge(Target& target, std::uint64_t prefix, std::uint64_t now) {
        while (target.prefix < prefix && !target.kept.empty()) {
            latency_us_.add((now - target.kept.front().sealed_ns) / 1'000);
            target.kept.pop_front();
            ++target.prefix;
            ++totals_.batches_acknowledged;
        }
        target.sent = std::max(target.sent, target.prefix);
    }

    void report(std::uint64_t duration_ns) const {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
        };
        std::uint64_t sealed = 0;
        std::uint64_t welcomed = 0;
        for (const Target& target : targets_) {
            sealed += target.sealed;
            welcomed += target.incarnation != 0 ? 1 : 0;
        }
        const auto number = [](std::uint64_t value) { return std::to_string(value); };
        std::string text =
            "{\"targets\":" + number(targets_.size()) + ",\"welcomed\":" + number(welcomed) +
            ",\"finished\":" + number(totals_.finished) + ",\"batches_sealed\":" + number(sealed) +
            ",\"batches_acknowledged\":" + number(totals_.batches_acknowledged) +
            ",\"batches_resent\":" + number(totals_.batches_resent) +
            ",\"sends_failed\":" + number(totals_.sends_failed) + ",\"refused\":" + number(totals_.refused) +
            ",\"hello_again\":" + number(totals_.hello_again) + ",\"kept_max\":" + number(totals_.kept_max) +
            ",\"bytes_sent\":" + number(totals_.bytes_sent) +
            ",\"seconds\":" + std::to_string(static_cast<double>(duration_ns) * 1e-9) +
            ",\"cpu_seconds\":" + std::to_string(seconds(usage.ru_utime) + seconds(usage.ru_stime)) +
            ",\"latency_us_log2_16ths\":" + latency_us_.json() + "}";
        std::puts(text.c_str());
        std::fflush(stdout);
    }

    Options options_;
    Workshop workshop_;
    std::vector<Target> targets_;
    void* context_ = nullptr;
    int epoll_ = -1;
    std::string server_key_;
    std::string public_key_;
    std::string secret_key_;
    // (when, index): a target's next turn.
    std::priority_queue<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::pair<std::uint64_t, std::uint64_t>>,
                        std::greater<>>
        due_;
    Totals totals_;
    Spread latency_us_;
};

// --- What the store must hold ----------------------------------------------------------------------------------------

bool check(const Options& options) {
    auto reader = open_rocksdb_reader(options.check);
    if (!reader.ok()) {
        fail(reader.error().message);
    }
    const StoreReader& store = **reader;
    const auto partitions = store.partitions();
    if (!partitions.ok()) {
        fail(partitions.error().message);
    }
    const std::uint64_t batch_count = options.batch_count();
    std::uint64_t batches = 0;
    std::uint64_t rows = 0;
    std::uint64_t wrong = 0;
    for (std::uint64_t number = 0; number < options.target_count; ++number) {
        const TargetId target = target_of(number);
        const SessionId session = session_of(number);
        std::uint64_t next_seq = 1;
        std::uint64_t target_rows = 0;
        bool is_in_order = true;
        for (const Partition& partition : *partitions) {
            if (partition.shard != partition_of(target, partition.bucket).shard) {
                continue;
            }
            const auto visited = store.visit_batches(partition, target, session, [&](const BatchRecord& record) {
                is_in_order = is_in_order && record.seq.value == next_seq++;
                for (const BatchRecord::Rows& series : record.rows) {
                    target_rows += series.series == kSamples ? series.row_count : 0;
                }
                return Visit::kContinue;
            });
            if (!visited.ok()) {
                fail(visited.error().message);
            }
        }
        const auto end = store.session_end(target, session);
        const bool is_right = is_in_order && next_seq == batch_count + 1 &&
                              target_rows == batch_count * options.row_count && end.ok() && end->has_value();
        wrong += is_right ? 0 : 1;
        batches += next_seq - 1;
        rows += target_rows;
    }
    std::printf("{\"batches\":%lu,\"rows\":%lu,\"targets_wrong\":%lu}\n", static_cast<unsigned long>(batches),
                static_cast<unsigned long>(rows), static_cast<unsigned long>(wrong));
    return wrong == 0;
}

[[noreturn]] void usage() {
    std::fprintf(stderr,
                 "usage: crowd_targets --gateway ENDPOINT [--first N] [--targets N] [--seconds N] [--interval-ms N]\n"
                 "                     [--rows N] [--connect-seconds N] [--patience N] [--curve-keys FILE]\n"
                 "       crowd_targets --check DIR [--targets N] [--seconds N] [--interval-ms N] [--rows N]\n");
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options options;
    if (argc % 2 == 0) {
        usage();
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const char* value = argv[i + 1];
        if (name == "--gateway") {
            options.gateway = value;
        } else if (name == "--check") {
            options.check = value;
        } else if (name == "--curve-keys") {
            options.curve_keys = value;
        } else if (name == "--first") {
            options.first = std::strtoull(value, nullptr, 10);
        } else if (name == "--targets") {
            options.target_count = std::strtoull(value, nullptr, 10);
        } else if (name == "--seconds") {
            options.seconds = std::strtod(value, nullptr);
        } else if (name == "--interval-ms") {
            options.interval_ms = std::max<std::uint64_t>(1, std::strtoull(value, nullptr, 10));
        } else if (name == "--rows") {
            options.row_count = static_cast<std::uint32_t>(std::max(1UL, std::strtoul(value, nullptr, 10)));
        } else if (name == "--connect-seconds") {
            options.connect_seconds = std::strtod(value, nullptr);
        } else if (name == "--patience") {
            options.patience_s = std::strtod(value, nullptr);
        } else {
            usage();
        }
    }
    if (options.gateway.empty() == options.check.empty() || options.target_count == 0) {
        usage();
    }
    return options;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    const perfleet::Options options = perfleet::parse(argc, argv);
    if (!options.check.empty()) {
        return perfleet::check(options) ? 0 : 1;
    }
    return perfleet::Crowd{options}.run() ? 0 : 1;
}
