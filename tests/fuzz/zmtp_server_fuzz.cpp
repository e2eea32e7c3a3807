// Input of several peers without keys to a ZMTP server, in pieces, over Unix sockets; and the actions of its sink
// meanwhile: takes, has no space, answers, disconnects. The server takes exactly the messages of a peer that a reader
// of a few lines finds in its bytes; it keeps no more than it may; a peer's end frees everything of it.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/server.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr std::size_t kPeersMax = 4;
constexpr std::size_t kMessageSizeBytesMax = 300;
constexpr std::size_t kBufferedSizeBytesMax = 4'096;
// One recv() of each, before the server checks its sum.
constexpr std::size_t kSlackBytes = kPeersMax * (256U << 10);

// The messages in these bytes, as far as they are right: a greeting, READY, then frames of one part.
std::vector<std::string> naive_messages(std::string_view bytes) {
    constexpr std::size_t kGreetingSizeBytes = 64;
    std::vector<std::string> messages;
    bytes.remove_prefix(std::min(bytes.size(), kGreetingSizeBytes));
    for (bool is_ready = false; bytes.size() >= 2;) {
        const auto flags = static_cast<unsigned char>(bytes[0]);
        std::size_t size = static_cast<unsigned char>(bytes[1]);
        std::size_t begin = 2;
        if ((flags & 2U) != 0) {
            if (bytes.size() < 9) {
                break;
            }
            size = 0;
            for (std::size_t i = 1; i < 9; ++i) {
                size = size << 8U | static_cast<unsigned char>(bytes[i]);
            }
            begin = 9;
        }
        if ((flags & ~6U) != 0 || size > bytes.size() - begin || (is_ready && size > kMessageSizeBytesMax)) {
            break;
        }
        if (is_ready && (flags & 4U) == 0) {
            messages.emplace_back(bytes.substr(begin, size));
        }
        is_ready = true;
        bytes.remove_prefix(begin + size);
    }
    return messages;
}

class Sink final : public zmtp::Server::Sink {
public:
    bool take(const zmtp::Server::Message& message) override {
        PERFLEET_ASSERT(message.frame.size() <= kMessageSizeBytesMax && message.peer == nullptr);
        if (has_space) {
            taken[message.from].emplace_back(reinterpret_cast<const char*>(message.frame.data()), message.frame.size());
            if (answers) {
                (void)server->send(message.from, message.frame);
            }
            if (cuts) {
                server->cut(message.from);
            }
        }
        return has_space;
    }
    bool has_space = true;
    bool answers = false;
    bool cuts = false;
    zmtp::Server* server = nullptr;
    std::map<zmtp::ConnectionId, std::vector<std::string>> taken;
};

struct Peer {
    int fd = -1;
    std::string said;
};

// A Unix socket without a file.
struct Address {
    Address() : fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)} {
        sockaddr_un any{};
        any.sun_family = AF_UNIX;
        PERFLEET_ASSERT(fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any.sun_family) == 0 &&
                        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    }
    int fd;
    sockaddr_un address{};
    socklen_t size = sizeof address;
};

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    Sink sink;
    zmtp::ServerLimits limits;
    limits.connections_max = kPeersMax - 1;
    limits.unheard_max = kPeersMax - 1;
    limits.message_size_bytes_max = kMessageSizeBytesMax;
    limits.buffered_size_bytes_max = kBufferedSizeBytesMax;
    limits.replies_waiting_max = 4;
    auto server = zmtp::Server::open(limits, std::nullopt, sink, {});
    PERFLEET_ASSERT(server.ok());
    sink.server = server->get();
    const Address address;
    auto listener = zmtp::Listener::adopt(FileDescriptor{address.fd}, "ipc://");
    PERFLEET_ASSERT(listener.ok());
    (*server)->listen_at(std::move(*listener), false);
    std::array<Peer, kPeersMax> peers;
    std::vector<std::string> all_said;
    while (!input.empty()) {
        const std::uint8_t what = input.byte();
        Peer& peer = peers.at(what % kPeersMax);
        sink.has_space = (what & 0x10U) == 0;
        sink.answers = (what & 0x20U) != 0;
        sink.cuts = (what & 0xc0U) == 0xc0U;
        if (peer.fd < 0) {
            peer.fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            PERFLEET_ASSERT(::connect(peer.fd, reinterpret_cast<const sockaddr*>(&address.address), address.size) == 0);
            if ((what & 4U) != 0) {  // those that are ready
                const auto greeting = zmtp::greeting_of(zmtp::Mechanism::kNull);
                peer.said.assign(reinterpret_cast<const char*>(greeting.data()), greeting.size());
                const std::string properties = zmtp::properties_of("DEALER");
                zmtp::append_command(peer.said, "READY", std::as_bytes(std::span{properties}));
                (void)!::send(peer.fd, peer.said.data(), peer.said.size(), MSG_NOSIGNAL);
            }
        }
        if ((what & 8U) != 0 && input.byte() == 0) {
            ::close(peer.fd);
            all_said.push_back(std::move(peer.said));
            peer = {};
        } else {
            const std::string_view says = input.text(input.byte());
            const ssize_t sent = ::send(peer.fd, says.data(), says.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            peer.said += says.substr(0, sent < 0 ? 0 : static_cast<std::size_t>(sent));
        }
        (*server)->run_once(0);
        if (sink.has_space && (*server)->is_any_paused()) {
            (*server)->resume();
        }
        const TransportCounts counts = (*server)->counts();
        PERFLEET_ASSERT((*server)->buffered_size_bytes() <= kBufferedSizeBytesMax + kSlackBytes);
        PERFLEET_ASSERT(counts.connections_now <= limits.connections_max);
        PERFLEET_ASSERT(counts.connections_accepted == counts.connections_ended + counts.connections_now);
    }
    for (Peer& peer : peers) {
        if (peer.fd >= 0) {
            ::close(peer.fd);
            all_said.push_back(std::move(peer.said));
        }
    }
    sink.has_space = true;
    for (int i = 0; i < 16 && (*server)->counts().connections_now != 0; ++i) {
        (*server)->run_once(0);
        (*server)->resume();
    }
    PERFLEET_ASSERT((*server)->counts().connections_now == 0);
    PERFLEET_ASSERT((*server)->buffered_size_bytes() == 0);
    // Each connection's messages are the first of one peer's.
    for (const auto& [connection, messages] : sink.taken) {
        bool is_found = false;
        for (const std::string& said : all_said) {
            const std::vector<std::string> expected = naive_messages(said);
            is_found = is_found || (messages.size() <= expected.size() &&
                                    std::equal(messages.begin(), messages.end(), expected.begin()));
        }
        PERFLEET_ASSERT(is_found);
    }
    return 0;
}
