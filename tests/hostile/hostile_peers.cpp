// Peers that break the rules, each type on a thread and a connection of its own, until the time has passed. `run`
// starts it against a gateway beside honest ones.
//
//   hostile_peers --gateway ENDPOINT [--seconds N] [--seed N] [--only TYPE [--connections N]]
//
// Prints how many messages each type sent. With --only there are N connections (1) of that sort alone. They have no
// keys, as a local user or an enrolled peer could be.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/wire/protocol.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

constexpr SessionId kSession{0xbad, 1};
constexpr auto kPause = std::chrono::milliseconds{1};
constexpr int kBurst = 32;
constexpr auto kElfType = static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols);

BucketNumber bucket_now() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return bucket_of(UtcNs{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()});
}

AdmittedBatch good_batch(TargetId target, SessionId session, std::uint64_t seq, std::uint64_t row_count = 2) {
    SampleBatch batch{target, session, Seq{seq}, EpochNumber{0}, bucket_now()};
    std::vector<std::uint64_t> ticks;
    for (std::uint64_t row = 0; row < row_count; ++row) {
        ticks.push_back(seq * 100'000 + row * 7);
    }
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, ticks}});
    batch.entry({Kind::kSample, EventNumber{0}}, CountName::kProduced, seq * row_count);
    return batch.build();
}

class Socket {
public:
    Socket(void* context, const std::string& gateway, int linger_ms) : socket_{zmq_socket(context, ZMQ_DEALER)} {
        const int messages_max = 64;
        zmq_setsockopt(socket_, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
        zmq_setsockopt(socket_, ZMQ_SNDHWM, &messages_max, sizeof messages_max);
        if (zmq_connect(socket_, gateway.c_str()) != 0) {
            std::fprintf(stderr, "hostile_peers: %s: %s\n", gateway.c_str(), zmq_strerror(zmq_errno()));
            std::exit(1);
        }
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { zmq_close(socket_); }

    void send(const sample::Frame& frame, bool more = false) {
        if (zmq_send(socket_, frame.data(), frame.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0) {
            ++sent_;
        }
    }
    void read_all() {
        read_all([](const sample::Reply&) {});
    }
    template <class Visit>
    void read_all(const Visit& visit) {
        std::byte reply[limits::kReplySizeBytesMax];
        for (int size = 0; (size = zmq_recv(socket_, reply, sizeof reply, ZMQ_DONTWAIT)) >= 0;) {
            visit(sample::read_reply(std::span{reply}.first(static_cast<std::size_t>(size))));
        }
    }
    void count_one_sent_otherwise() { ++sent_; }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }

private:
    void* socket_;
    std::uint64_t sent_ = 0;
};

// One kind of mischief: a turn of it.
using Mischief = std::function<void(Socket&, Random&, std::uint64_t turn)>;

void send_noise(Socket& socket, Random& random, std::uint64_t) {
    sample::Frame frame(random() % 20'000);
    for (std::byte& byte : frame) {
        byte = static_cast<std::byte>(random());
    }
    socket.send(frame);
}

void send_broken_messages(Socket& socket, Random& random, std::uint64_t turn) {
    const TargetId target{666};
    sample::Frame frame = turn % 3 == 0   ? sample::hello(sample_session(target, kSession))
                          : turn % 3 == 1 ? sample::batch(good_batch(target, kSession, turn + 1))
                                          : sample::bye(kSession, {Seq{turn}, {}, {}, {}});
    for (std::uint64_t changes = 1 + random() % 8; changes > 0; --changes) {
        frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    frame.resize(frame.size() - (turn % 5 == 0 ? random() % frame.size() : 0));
    socket.send(frame);
}

// A few bytes that would be many if they were believed.
void send_bombs(Socket& socket, Random& random, std::uint64_t turn) {
    std::vector<std::uint64_t> words(2 + random() % 4'000);
    switch (turn % 3) {
        case 0:  // segments without end
            for (std::uint64_t& word : words) {
                word = 0x0000'0001'0000'0001;
            }
            words[0] = 0x0000'0001'0000'0000 | (random() % words.size());
            break;
        case 1:  // pointers to themselves and back
            for (std::size_t i = 1; i < words.size(); ++i) {
                words[i] = 0x0001'0001'0000'0000 | ((0x3fff'ffff - (random() % i)) << 2);
            }
            words[0] = std::uint64_t{words.size() - 1} << 32;
            break;
        default:  // lists that claim half a billion elements of no size
            for (std::size_t i = 1; i < words.size(); ++i) {
                words[i] = 0xffff'fff8'0000'0001;
            }
            words[0] = std::uint64_t{words.size() - 1} << 32;
    }
    sample::Frame frame(words.size() * 8);
    std::memcpy(frame.data(), words.data(), frame.size());
    socket.send(frame);
}

void send_lies(Socket& socket, Random& random, std::uint64_t turn) {
    const TargetId target{667};
    const SessionId session{0xbad, 2};
    if (turn % 64 == 0) {
        socket.send(sample::hello(sample_session(target, session)));
    }
    AdmittedBatch batch = good_batch(target, session, 1 + turn);
    switch (random() % 7) {
        case 0: batch.series[0].row_count = static_cast<std::uint32_t>(random()); break;
        case 1: batch.series[0].row_count = limits::kBatchRowsMax; break;
        case 2: batch.series[0].series.event = EventNumber{static_cast<std::uint16_t>(random())}; break;
        case 3: batch.series[0].series.kind = static_cast<Kind>(random()); break;
        case 4: batch.record.bucket = BucketNumber{4'000'000'000U}; break;
        case 5: batch.record.counts.resize(20'000); break;
        default: batch.series[0].last_ticks = Ticks{random()}; break;
    }
    socket.send(sample::resealed_batch(batch));
    socket.read_all();
}

void send_wild_seqs(Socket& socket, Random& random, std::uint64_t turn) {
    const TargetId target{668};
    const SessionId session{0xbad, 3};
    if (turn % 64 == 0) {
        socket.send(sample::hello(sample_session(target, session), Seq{turn % 128 == 0 ? 1 : random() % 1'000}));
    }
    const std::uint64_t seqs[] = {0, 1, ~0ULL, random(), random() % 100'000, turn};
    AdmittedBatch batch = good_batch(target, session, seqs[random() % 6]);
    batch.record.oldest_retained_seq = random() % 2 == 0 ? 1 : batch.key.seq.value;
    socket.send(sample::batch(batch));
    socket.read_all();
}

// In order, good, and without waiting for anything.
void flood(Socket& socket, TargetId target, SessionId session, std::uint64_t turn, const sample::Frame& large) {
    if (turn % 512 == 0) {
        socket.send(sample::hello(sample_session(target, session)));
    }
    // A session that nobody has opened, at the size of a large batch; or a small one of its own.
    socket.send(turn % 4 == 0 ? large : sample::batch(good_batch(target, session, 1 + turn)));
}

void flood_labels(Socket& socket, Random& random, std::uint64_t turn) {
    SessionRecord record = sample_session(TargetId{669 + turn % 3}, SessionId{random(), random()});
    for (int i = 0; i < 20; ++i) {
        record.labels.emplace_back("key" + std::to_string(i), std::to_string(random()));
    }
    socket.send(sample::hello(record));
    socket.read_all();
}

// Nearly as large as a Hello may be.
sample::Frame large_hello(TargetId target, SessionId session) {
    SessionRecord record = sample_session(target, session);
    EventRecord event = record.events.front();
    event.format = std::string(4'000, 'f');
    for (std::size_t size_bytes = 0; size_bytes < limits::kHelloSizeBytesMax * 15 / 16; size_bytes += 4'200) {
        event.name = "tracepoint:" + std::to_string(record.events.size());
        record.events.push_back(event);
    }
    return sample::hello(record);
}

// One message over a new connection; then nothing more comes from it. -1: the gateway didn't take all.
int send_over_new_connection(std::uint16_t port, std::span<const std::byte> message) {
    using namespace std::string_literals;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string bytes =
        "\377\0\0\0\0\0\0\0\0\177\3\1NULL"s + std::string(48, '\0') + "\4\34\5READY\13Socket-Type\0\0\0\6DEALER\2"s;
    for (int shift = 56; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(message.size() >> shift);
    }
    bytes.append(reinterpret_cast<const char*>(message.data()), message.size());
    bool is_whole = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    for (std::size_t at = 0; is_whole && at < bytes.size();) {
        const ssize_t size = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        is_whole = size > 0;
        at += is_whole ? static_cast<std::size_t>(size) : 0;
    }
    if (!is_whole) {
        close(fd);
        return -1;
    }
    return fd;
}

// Once the gateway has taken everything sent.
void close_politely(int fd) {
    shutdown(fd, SHUT_WR);
    std::byte rest[4'096];
    while (recv(fd, rest, sizeof rest, 0) > 0) {
    }
    close(fd);
}

// A large Hello over a connection of its own each time, of the same session or of another. Some of them stay open.
class NewConnections {
public:
    NewConnections(std::uint16_t port, bool has_new_sessions) : port_{port}, has_new_sessions_{has_new_sessions} {}
    NewConnections(const NewConnections&) = delete;
    NewConnections& operator=(const NewConnections&) = delete;
    ~NewConnections() {
        for (const int fd : open_) {
            close(fd);
        }
    }

    // Whether it was taken.
    bool turn(Random& random) {
        constexpr std::size_t kOpenMax = 16;
        if (hello_.empty() || has_new_sessions_) {
            const SessionId session{random(), random()};
            hello_ = large_hello(TargetId{session.low}, session);
        }
        const int fd = send_over_new_connection(port_, hello_);
        if (fd >= 0) {
            open_.push_back(fd);
        }
        if (open_.size() > kOpenMax) {
            close_politely(open_.front());
            open_.pop_front();
        }
        return fd >= 0;
    }

private:
    std::uint16_t port_;
    bool has_new_sessions_;
    sample::Frame hello_;
    std::deque<int> open_;
};

void never_read(Socket& socket, Random&, std::uint64_t) { socket.send(sample::probe()); }

// Symbols of three frames of 64 MiB: of notes without end in some KB, or as much decompressed data as symbols may have.
std::string symbols_of_much_content(bool is_bomb) {
    constexpr std::size_t kFrameSizeBytes = 64U << 20;
    constexpr std::string_view kNote{"\4\0\0\0\4\0\0\0\3\0\0\0GNU\0same", 20};
    Random random{7};
    std::string bytes{"\177ELF"};
    while (bytes.size() < kFrameSizeBytes) {
        bytes += is_bomb ? kNote : std::string_view{"a name that stands there again and again, and few other bytes "};
    }
    bytes.resize(kFrameSizeBytes);
    for (std::size_t at = 8; !is_bomb && at < bytes.size(); at += 400) {
        bytes[at] = static_cast<char>(random());
    }
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 3));
    return frame + frame + frame;
}

void send_images(Socket& socket, Random& random, std::uint64_t turn, const std::string& content) {
    static thread_local SessionId session;
    if (socket.sent() == 0 || turn % 2'000 == 0) {  // answers in the wrong session are all ignored
        session = {0x1bad, random()};
        std::vector<sample::ImageOffer> offers;
        for (std::size_t i = 0; i < hello_limits::kImageOffersMax; ++i) {
            offers.push_back({"b" + std::to_string(random()).substr(0, 18), kElfType, content.size()});
        }
        socket.send(sample::hello(sample_session(TargetId{session.low}, session), Seq{1}, offers));
    }
    socket.read_all([&](const sample::Reply& reply) {
        if (reply.type == sample::ReplyType::kNeedImage && !reply.build_id.empty()) {
            socket.send(sample::image(session, {reply.build_id, kElfType, content.size()}, reply.offset,
                                      std::string_view{content}.substr(reply.offset, limits::kImageChunkSizeBytes)));
        }
    });
    std::this_thread::sleep_for(kPause);
}

void send_in_parts(Socket& socket, Random& random, std::uint64_t turn) {
    if (turn % 200 == 0) {
        socket.send(sample::Frame(2 * limits::kBatchSizeBytesMax));  // too large: ends the connection
        return;
    }
    const sample::Frame part(random() % 200);
    for (std::uint64_t left = random() % 50; left > 0; --left) {
        socket.send(part, true);
    }
    socket.send(part);
}

// libzmq ends the process with an assertion (session_base.cpp, clean_pipes()) when a connection is lost within a
// message of several parts whose socket was closed without waiting: senders of such messages wait until everything is
// sent.
constexpr int kLingerOfPartsMs = 10'000;

struct Type {
    const char* name;
    Mischief turn;
    int linger_ms = 0;
};

std::uint64_t misbehave(void* context, const std::string& gateway, const Type& type, std::uint64_t seed,
                        Clock::time_point end) {
    Random random{seed};
    std::uint64_t sent = 0;
    std::uint64_t turn = 0;
    while (Clock::now() < end) {
        Socket socket{context, gateway, type.linger_ms};
        // A connection for some thousand turns, or until the gateway closes it and libzmq makes another.
        for (const std::uint64_t last = turn + 1'000 + random() % 4'000; turn < last && Clock::now() < end; ++turn) {
            type.turn(socket, random, turn);
            if (turn % kBurst == kBurst - 1) {
                std::this_thread::sleep_for(kPause);
            }
        }
        sent += socket.sent();
    }
    return sent;
}

int run(const std::string& gateway, double seconds, std::uint64_t seed, std::string_view only,
        std::size_t connection_count) {
    // Seconds of work, so only if they are sent.
    const std::string bomb = only.empty() || only == "image_bombs" ? symbols_of_much_content(true) : "";
    const std::string heavy = only.empty() || only == "heavy_images" ? symbols_of_much_content(false) : "";
    const sample::Frame large = sample::batch(good_batch(TargetId{700}, SessionId{0xbad, 99}, 1, 16'000));
    std::vector<Type> types = {{"noise", send_noise},       {"broken", send_broken_messages},
                               {"bombs", send_bombs},       {"lies", send_lies},
                               {"seqs", send_wild_seqs},    {"labels", flood_labels},
                               {"slow_reader", never_read}, {"parts", send_in_parts, kLingerOfPartsMs}};
    for (const auto& [name, content] : {std::pair{"image_bombs", &bomb}, std::pair{"heavy_images", &heavy}}) {
        types.push_back({name, [content = content](Socket& socket, Random& random, std::uint64_t turn) {
                             send_images(socket, random, turn, *content);
                         }});
    }
    for (std::uint64_t number = 0; number < 4; ++number) {
        types.push_back({"flood", [number, &large](Socket& socket, Random&, std::uint64_t turn) {
                             flood(socket, TargetId{700 + number}, SessionId{0xbad, 100 + number}, turn, large);
                         }});
    }
    for (std::uint64_t number = 0; number < 4; ++number) {
        types.push_back({"hellos", [hello = large_hello(TargetId{800 + number}, SessionId{0xbad, 200 + number})](
                                       Socket& socket, Random&, std::uint64_t) {
                             socket.send(hello);
                             socket.read_all();
                         }});
    }
    const auto port = static_cast<std::uint16_t>(std::strtoul(gateway.c_str() + gateway.rfind(':') + 1, nullptr, 10));
    for (const auto& [name, has_new_sessions] :
         {std::pair{"new_connections", false}, std::pair{"new_sessions", true}}) {
        types.push_back({name, [port, has_new_sessions](Socket& socket, Random& random, std::uint64_t) {
                             static thread_local NewConnections connections{port, has_new_sessions};
                             if (connections.turn(random)) {
                                 socket.count_one_sent_otherwise();
                             }
                         }});
    }
    if (!only.empty()) {
        const auto chosen = std::ranges::find_if(types, [&](const Type& type) { return type.name == only; });
        if (chosen == types.end()) {
            std::fprintf(stderr, "hostile_peers: --only %s: there is no such type\n", std::string{only}.c_str());
            return 2;
        }
        types = std::vector<Type>(connection_count, Type{*chosen});
    }
    void* context = zmq_ctx_new();
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<std::uint64_t> sent(types.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < types.size(); ++i) {
        threads.emplace_back([&, i] { sent[i] = misbehave(context, gateway, types[i], seed * 100 + i, end); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    zmq_ctx_term(context);
    std::string text;
    for (std::size_t i = 0; i < types.size(); ++i) {
        text += (text.empty() ? "" : ", ") + std::string{types[i].name} + ' ' + std::to_string(sent[i]);
    }
    std::puts(text.c_str());
    return 0;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    std::string gateway;
    double seconds = 10;
    std::uint64_t seed = 1;
    std::string_view only;
    std::size_t connection_count = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--gateway") {
            gateway = argv[i + 1];
        } else if (name == "--seconds") {
            seconds = std::strtod(argv[i + 1], nullptr);
        } else if (name == "--seed") {
            seed = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (name == "--only") {
            only = argv[i + 1];
        } else if (name == "--connections") {
            connection_count = std::strtoull(argv[i + 1], nullptr, 10);
        } else {
            gateway.clear();
            break;
        }
    }
    if (gateway.empty() || argc % 2 == 0) {
        std::fprintf(
            stderr,
            "usage: hostile_peers --gateway ENDPOINT [--seconds N] [--seed N] [--only TYPE [--connections N]]\n");
        return 2;
    }
    return perfleet::run(gateway, seconds, seed, only, connection_count);
}
