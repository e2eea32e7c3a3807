// CPU time that the gateway takes per batch, beside the least that any gateway must do: receive the same bytes with
// bare libzmq and put them into a bare RocksDB, both with a synced commit every 20 ms.
//
//   gateway_cost [--batches N] [--targets N] [--rows N] [--rounds N] [--scrapes N] [--folder DIR] [--bin DIR]
//
// A child process seals N batches beforehand (real rows: zipf-distributed stacks, two CPUs, jittered time) and sends
// them over loopback TCP within a window of 64. With --targets they are divided among that many targets, each with a
// connection of its own and one batch on its way at a time: then a group has batches of many sessions. Bare and
// perfleet take turns: the bare receiver is this process, library threads included, perfleet the shipped program, less
// its own use while nothing arrives. With --scrapes a third turn is perfleet while its metrics are read N times a
// second.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>
#include <zmq.h>

#include "collector.capnp.h"
#include "daemon/metrics/testing/scrape.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/checksum.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/batch_builder.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kStackCount = 5'000;  // of all targets
constexpr std::uint32_t kStackCountMin = 20;  // of one

struct Options {
    std::uint64_t batch_count = 1'000;
    std::uint32_t target_count = 1;
    std::uint32_t row_count = 16'000;
    unsigned round_count = 3;
    unsigned scrapes = 0;  // a second
    std::string folder;
    std::string bin;  // where perfleet-gateway is
};

double seconds_of(const rusage& usage) {
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage);
}

std::int64_t utc_now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// --- Sending ---------------------------------------------------------------------------------------------------------

class BatchSource {
public:
    BatchSource(const Options& options, std::uint32_t target)
        : options_{options},
          session_{0x1234, 0x5678 + target},
          target_id_{7 + target},
          random_{1 + target},
          stack_count_{std::max(kStackCountMin, kStackCount / options.target_count)},
          values_(BatchBuilder::values_count(limits::kBatchRowsMax, 6, 4)),
          bytes_(1U << 20) {
        std::vector<double> weights;
        for (std::uint32_t rank = 1; rank <= stack_count_; ++rank) {
            weights.push_back(1.0 / rank);
        }
        stacks_ = std::discrete_distribution<std::uint32_t>(weights.begin(), weights.end());
    }

    std::vector<std::byte> next() {
        const Series samples{Kind::kSample, EventNumber{0}};
        BatchBuilder builder{values_, bytes_, limits::kBatchRowsMax};
        ++seq_;
        std::uint32_t row_count = options_.row_count;
        if (seq_ == 1) {
            define(builder);
            row_count = std::min(row_count, limits::kBatchRowsMax - builder.row_count());
        }
        for (std::uint32_t row = 0; row < row_count; ++row) {
            time_ns_ += 500'000 + random_() % 4'096;
            const std::uint64_t thread = 1'000 + (random_() % 16 == 0 ? random_() % 8 : 0);
            const std::uint64_t values[] = {row % 2, thread, thread, 1 + stacks_(random_), 1'001'001};
            if (!builder.append({samples, Ticks{time_ns_}, values})) {
                std::abort();
            }
        }
        produced_ += row_count;
        const CountEntry counts[] = {{samples, CountName::kProduced, produced_}};
        const BatchHeader header{session_, Seq{seq_}, EpochNumber{0}, bucket_of(UtcNs{start_utc_ns_})};
        std::vector<std::byte> message(builder.sealed_size_bytes_max(1, 0, 0));
        auto size = builder.seal(header, Ticks{time_ns_}, counts, {}, {}, message);
        if (!size.ok()) {
            std::fprintf(stderr, "sealing failed: code %d\n", static_cast<int>(size.error().code));
            std::exit(1);
        }
        message.resize(*size);
        return message;
    }

    // Words, as libcapnp writes them.
    std::vector<std::byte> hello() const {
        capnp::MallocMessageBuilder builder;
        auto envelope = builder.initRoot<wire::Envelope>();
        envelope.setProtocolVersion(protocol::kVersion);
        auto hello = envelope.initHello();
        auto session = hello.initSession();
        session.setHigh(session_.high);
        session.setLow(session_.low);
        hello.setTargetId(target_id_);
        hello.setTargetName("benchmark");
        hello.setArchitecture("x86_64");
        auto events = hello.initEvents(1);
        events[0].setName("cpu-clock");
        events[0].setKind(static_cast<std::uint8_t>(Kind::kSample));
        events[0].setUnit("ns");
        auto clock = hello.initClock();
        clock.setName("monotonic");
        clock.setTicksPerSecond(1'000'000'000);
        clock.setLinuxClockid(1);
        auto start = hello.initStartPoint();
        start.setTicks(1);
        start.setUtcNs(start_utc_ns_);
        const auto words = capnp::messageToFlatArray(builder);
        const auto bytes = words.asBytes();
        std::vector<std::byte> message(bytes.size());
        std::memcpy(message.data(), bytes.begin(), bytes.size());
        protocol::set_checksum(message);
        return message;
    }

private:
    void define(BatchBuilder& builder) {
        const std::string name = "/usr/bin/benchmark";
        const std::span<const std::byte> bytes[] = {{}, std::as_bytes(std::span{name})};
        const std::uint64_t image[] = {0, 2, 0, 0, 0, name.size()};
        if (!builder.append({{Kind::kImage, kNoEvent}, Ticks{time_ns_}, image, bytes})) {
            std::abort();
        }
        for (std::uint64_t number = 1; number <= stack_count_; ++number) {
            const std::uint64_t node[] = {number, number == 1 ? 0 : 1 + random_() % (number - 1), 0,
                                          16 * (random_() % 100'000)};
            if (!builder.append({{Kind::kStack, kNoEvent}, Ticks{time_ns_}, node})) {
                std::abort();
            }
        }
    }

    Options options_;
    SessionId session_;
    std::uint64_t target_id_;
    std::mt19937_64 random_;
    std::uint32_t stack_count_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::discrete_distribution<std::uint32_t> stacks_;
    std::int64_t start_utc_ns_ = utc_now_ns();
    std::uint64_t seq_ = 0;
    std::uint64_t produced_ = 0;
    std::uint64_t time_ns_ = 1'000'000'000'000;
};

// One target and its messages, words as libcapnp writes them.
struct Target {
    std::vector<std::byte> hello;
    std::vector<std::vector<std::byte>> batches;
};

// Its connection, in the sender's process. `bare` replies are the prefix as 8 bytes.
class Speaker {
public:
    Speaker(void* context, const std::string& endpoint, const Target& target, std::uint64_t window, bool bare)
        : socket_{zmq_socket(context, ZMQ_DEALER)}, target_{&target}, window_{window}, bare_{bare}, is_welcome_{bare} {
        zmq_connect(socket_, endpoint.c_str());
        if (bare) {
            send_more();
        } else {
            zmq_send(socket_, target.hello.data(), target.hello.size(), 0);
        }
    }

    [[nodiscard]] void* socket() const { return socket_; }
    [[nodiscard]] bool is_done() const { return prefix_ >= target_->batches.size(); }

    void take_reply(std::span<capnp::word> reply) {
        const int size = zmq_recv(socket_, reply.data(), reply.size() * sizeof(capnp::word), 0);
        if (size < 0) {
            std::_Exit(1);
        }
        if (bare_) {
            std::memcpy(&prefix_, reply.data(), sizeof prefix_);
        } else {
            understand({reply.data(), static_cast<std::size_t>(size) / sizeof(capnp::word)});
        }
        send_more();
    }

private:
    void understand(std::span<const capnp::word> reply) {
        capnp::FlatArrayMessageReader reader(kj::arrayPtr(reply.data(), reply.size()));
        const auto envelope = reader.getRoot<wire::Envelope>();
        if (envelope.isWelcome()) {
            is_welcome_ = true;
        } else if (envelope.isAck()) {
            prefix_ = std::max(prefix_, envelope.getAck().getPrefixSeq());
        } else if (envelope.isRefused()) {
            std::fprintf(stderr, "refused: seq %lu reason %u %s\n",
                         static_cast<unsigned long>(envelope.getRefused().getSeq()),
                         unsigned{envelope.getRefused().getReason()}, envelope.getRefused().getMessage().cStr());
            std::_Exit(1);
        }
    }

    void send_more() {
        while (is_welcome_ && sent_ < target_->batches.size() && sent_ < prefix_ + window_) {
            zmq_send(socket_, target_->batches[sent_].data(), target_->batches[sent_].size(), 0);
            ++sent_;
        }
    }

    void* socket_;
    const Target* target_;
    std::uint64_t window_;
    bool bare_;
    bool is_welcome_;
    std::uint64_t prefix_ = 0;
    std::uint64_t sent_ = 0;
};

// The sender's process: every batch within the window, until all are acknowledged.
[[noreturn]] void send_all(const std::string& endpoint, const std::vector<Target>& targets, bool bare) {
    void* context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, static_cast<int>(targets.size()) + 1);
    const std::uint64_t window = targets.size() > 1 ? 1 : limits::kSendWindowBatches;
    std::vector<Speaker> speakers;
    std::vector<zmq_pollitem_t> items;
    for (const Target& target : targets) {
        items.push_back({speakers.emplace_back(context, endpoint, target, window, bare).socket(), 0, ZMQ_POLLIN, 0});
    }
    std::vector<capnp::word> reply(limits::kReplySizeBytesMax / sizeof(capnp::word));
    while (!std::all_of(speakers.begin(), speakers.end(), [](const Speaker& one) { return one.is_done(); })) {
        zmq_poll(items.data(), static_cast<int>(items.size()), -1);
        for (std::size_t i = 0; i < items.size(); ++i) {
            if ((items[i].revents & ZMQ_POLLIN) != 0) {
                speakers[i].take_reply(reply);
            }
        }
    }
    std::_Exit(0);
}

pid_t start_sender(const std::string& endpoint, const std::vector<Target>& targets, bool bare) {
    const pid_t child = fork();
    if (child == 0) {
        send_all(endpoint, targets, bare);
    }
    return child;
}

void expect_ended_well(int status) {
    if (status != 0) {
        std::fprintf(stderr, "the sender failed\n");
        std::exit(1);
    }
}

// --- The two receivers -----------------------------------------------------------------------------------------------

// The port is chosen here and handed to the sender, which must be forked before any thread exists.
std::string free_endpoint() {
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_ROUTER);
    zmq_bind(socket, "tcp://127.0.0.1:*");
    char endpoint[128];
    std::size_t size = sizeof endpoint;
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
    zmq_close(socket);
    zmq_ctx_term(context);
    return endpoint;
}

double run_bare(const std::string& folder, const std::vector<Target>& targets, std::uint64_t batch_count) {
    const std::string endpoint = free_endpoint();
    const pid_t sender = start_sender(endpoint, targets, true);
    const double before = cpu_seconds();
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    rocksdb::DB* raw = nullptr;
    if (!rocksdb::DB::Open(options, folder, &raw).ok()) {
        std::exit(1);
    }
    std::unique_ptr<rocksdb::DB> database{raw};
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_ROUTER);
    zmq_bind(socket, endpoint.c_str());
    std::unordered_map<std::string, std::uint64_t> stored_of;  // by peer
    std::set<std::string> peers;                               // of the group
    std::uint64_t stored = 0;
    while (stored < batch_count) {
        const auto deadline = Clock::now() + std::chrono::nanoseconds{limits::kGroupCommitNs};
        rocksdb::WriteBatch group;
        std::uint64_t group_count = 0;
        while (Clock::now() < deadline && stored + group_count < batch_count) {
            zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
            zmq_poll(&item, 1, std::max<long>(left, 0));
            zmq_msg_t identity;
            zmq_msg_init(&identity);
            while (zmq_msg_recv(&identity, socket, ZMQ_DONTWAIT) >= 0) {
                const std::string peer{static_cast<const char*>(zmq_msg_data(&identity)), zmq_msg_size(&identity)};
                ++stored_of[peer];
                peers.insert(peer);
                zmq_msg_t frame;
                zmq_msg_init(&frame);
                zmq_msg_recv(&frame, socket, 0);
                const std::uint64_t key = __builtin_bswap64(stored + ++group_count);
                group.Put(rocksdb::Slice{reinterpret_cast<const char*>(&key), sizeof key},
                          rocksdb::Slice{static_cast<const char*>(zmq_msg_data(&frame)), zmq_msg_size(&frame)});
                zmq_msg_close(&frame);
            }
            zmq_msg_close(&identity);
        }
        if (group_count == 0) {
            continue;
        }
        rocksdb::WriteOptions synced;
        synced.sync = true;
        if (!database->Write(synced, &group).ok()) {
            std::exit(1);
        }
        stored += group_count;
        for (const std::string& peer : peers) {
            zmq_send(socket, peer.data(), peer.size(), ZMQ_SNDMORE);
            zmq_send(socket, &stored_of[peer], sizeof(std::uint64_t), 0);
        }
        peers.clear();
    }
    int status = 0;
    waitpid(sender, &status, 0);
    zmq_close(socket);
    zmq_ctx_term(context);
    database.reset();
    const double after = cpu_seconds();
    expect_ended_well(status);
    return after - before;
}

// Another process, as Prometheus is, so that its own cost isn't counted. To be made before any thread; it waits for the
// address on a pipe and ends when the pipe is closed.
class Scraper {
public:
    explicit Scraper(unsigned per_second) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0 || (pid_ = fork()) < 0) {
            std::exit(1);
        }
        if (pid_ == 0) {
            close(ends[1]);
            char address[64] = {};
            if (read(ends[0], address, sizeof address - 1) <= 0) {
                _exit(1);
            }
            pollfd end{ends[0], POLLIN, 0};
            do {
                if (http_get(address, "/metrics").status != 200) {
                    _exit(1);
                }
            } while (poll(&end, 1, static_cast<int>(1'000 / per_second)) == 0);
            _exit(0);
        }
        close(ends[0]);
        pipe_ = ends[1];
    }
    Scraper(const Scraper&) = delete;
    Scraper& operator=(const Scraper&) = delete;
    ~Scraper() {
        close(pipe_);
        int status = 0;
        waitpid(pid_, &status, 0);
        expect_ended_well(status);
    }

    void begin(const std::string& address) const {
        if (write(pipe_, address.data(), address.size()) < 0) {
            std::exit(1);
        }
    }

private:
    pid_t pid_ = -1;
    int pipe_ = -1;
};

// The shipped program, until it is stopped.
class GatewayProgram {
public:
    GatewayProgram(const std::string& program, const std::string& folder, const std::string& endpoint,
                   bool has_metrics) {
        std::vector<const char*> command{program.c_str(), "--data", folder.c_str(), "--listen", endpoint.c_str(),
                                         "--query",       "none",   "--log-level",  "error"};
        if (has_metrics) {
            command.insert(command.end(), {"--metrics", "127.0.0.1:0"});
        }
        command.push_back(nullptr);
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0 || (pid_ = fork()) < 0) {
            std::exit(1);
        }
        if (pid_ == 0) {
            dup2(ends[1], STDOUT_FILENO);
            execv(command[0], const_cast<char* const*>(command.data()));
            _exit(127);
        }
        close(ends[1]);
        for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) {
            ready_ += c;
        }
        close(ends[0]);
        if (!ready_.starts_with("ready ")) {
            std::fprintf(stderr, "%s doesn't serve; where it is says --bin\n", program.c_str());
            std::exit(1);
        }
    }

    [[nodiscard]] std::string metrics_address() const { return ready_.substr(ready_.rfind('=') + 1); }

    // Stops it. Its CPU time, start and end included.
    double cpu_seconds_when_ended() const {
        kill(pid_, SIGTERM);
        int status = 0;
        rusage usage{};
        if (wait4(pid_, &status, 0, &usage) != pid_ || status != 0) {
            std::fprintf(stderr, "the gateway failed\n");
            std::exit(1);
        }
        return seconds_of(usage);
    }

private:
    pid_t pid_ = -1;
    std::string ready_;
};

// `scrapes` a second of its metrics; 0: without any.
double run_perfleet(const std::string& program, const std::string& folder, const std::vector<Target>& targets,
                    unsigned scrapes) {
    std::optional<Scraper> scraper;
    if (scrapes > 0) {
        scraper.emplace(scrapes);
    }
    const std::string endpoint = free_endpoint();
    const GatewayProgram gateway{program, folder, endpoint, scrapes > 0};
    if (scraper) {
        scraper->begin(gateway.metrics_address());
    }
    int status = 0;
    waitpid(start_sender(endpoint, targets, false), &status, 0);
    expect_ended_well(status);
    scraper.reset();
    return gateway.cpu_seconds_when_ended();
}

int measure(const Options& options) {
    std::vector<Target> targets;
    std::size_t size_bytes = 0;
    std::uint64_t batch_count = 0;
    for (std::uint32_t i = 0; i < options.target_count; ++i) {
        BatchSource source{options, i};
        Target& target = targets.emplace_back(Target{source.hello(), {}});
        while (target.batches.size() < options.batch_count / options.target_count) {
            target.batches.push_back(source.next());
            size_bytes += target.batches.back().size();
            ++batch_count;
        }
    }
    std::printf("%lu batches of %u rows of %u targets, %.0f B each, %.2f B a row\n",
                static_cast<unsigned long>(batch_count), options.row_count, options.target_count,
                static_cast<double>(size_bytes) / static_cast<double>(batch_count),
                static_cast<double>(size_bytes) / static_cast<double>(batch_count) / options.row_count);
    std::vector<double> bare;
    std::vector<double> perfleet;
    std::vector<double> scraped;
    const auto per_batch_us = [&](double seconds) { return seconds * 1e6 / static_cast<double>(batch_count); };
    for (unsigned round = 0; round < options.round_count; ++round) {
        const auto measured = [&](auto run) {
            const std::string folder = options.folder + "/gateway_cost";
            std::filesystem::remove_all(folder);
            const double seconds = run(folder);
            std::filesystem::remove_all(folder);
            return seconds;
        };
        bare.push_back(measured([&](const std::string& folder) { return run_bare(folder, targets, batch_count); }));
        const auto with = [&](const std::vector<Target>& some, unsigned scrapes) {
            return [&options, &some, scrapes](const std::string& folder) {
                return run_perfleet(options.bin + "/perfleet-gateway", folder, some, scrapes);
            };
        };
        // Without the cost of its start and its end.
        const double idle = measured(with({}, 0));
        perfleet.push_back(measured(with(targets, 0)) - idle);
        std::printf("round %u: bare %.1f us a batch, perfleet %.1f us a batch (%.1f M rows/s a core)\n", round + 1,
                    per_batch_us(bare.back()), per_batch_us(perfleet.back()),
                    static_cast<double>(batch_count) * options.row_count / perfleet.back() / 1e6);
        if (options.scrapes > 0) {
            scraped.push_back(measured(with(targets, options.scrapes)) - idle);
            std::printf("round %u: scraped %u times a second %.1f us a batch\n", round + 1, options.scrapes,
                        per_batch_us(scraped.back()));
        }
        std::fflush(stdout);
    }
    std::sort(bare.begin(), bare.end());
    std::sort(perfleet.begin(), perfleet.end());
    std::printf("ratio of medians: %.2f\n", perfleet[perfleet.size() / 2] / bare[bare.size() / 2]);
    if (!scraped.empty()) {
        std::sort(scraped.begin(), scraped.end());
        std::printf("scraped against not: %.3f\n", scraped[scraped.size() / 2] / perfleet[perfleet.size() / 2]);
    }
    return 0;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    perfleet::Options options;
    options.folder = std::filesystem::temp_directory_path();
    options.bin = std::filesystem::path{argv[0]}.parent_path() / "../bin";
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--batches") {
            options.batch_count = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (name == "--targets") {
            options.target_count =
                static_cast<std::uint32_t>(std::clamp(std::strtoul(argv[i + 1], nullptr, 10), 1UL, 5'000UL));
        } else if (name == "--rows") {
            options.row_count = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
        } else if (name == "--rounds") {
            options.round_count = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
        } else if (name == "--scrapes") {
            options.scrapes = static_cast<unsigned>(std::clamp(std::strtoul(argv[i + 1], nullptr, 10), 1UL, 1'000UL));
        } else if (name == "--folder") {
            options.folder = argv[i + 1];
        } else if (name == "--bin") {
            options.bin = argv[i + 1];
        } else {
            std::fprintf(stderr,
                         "usage: gateway_cost [--batches N] [--targets N] [--rows N] [--rounds N] [--scrapes N] "
                         "[--folder DIR] [--bin DIR]\n");
            return 2;
        }
    }
    if (!std::filesystem::is_directory(options.folder)) {
        std::fprintf(stderr, "gateway_cost: --folder %s is no folder\n", options.folder.c_str());
        return 2;
    }
    return perfleet::measure(options);
}
