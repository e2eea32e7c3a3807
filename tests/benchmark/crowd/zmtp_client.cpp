#include "tests/benchmark/crowd/zmtp_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace perfleet {
namespace {

constexpr std::size_t kGreetingSize = 64;
constexpr unsigned char kLongFlag = 2;
constexpr unsigned char kCommandFlag = 4;
constexpr unsigned char kCommandInBox = 2;
constexpr std::size_t kFrameSizeMax = 1U << 20;  // of a server's message
constexpr std::size_t kMessageHeaderSize = 16;   // "\7MESSAGE" and the nonce

constexpr std::string_view kHello{"\5HELLO\1\0", 8};
constexpr std::string_view kWelcome{"\7WELCOME"};
constexpr std::string_view kInitiate{"\x08INITIATE"};
constexpr std::string_view kReady{"\5READY"};
constexpr std::string_view kMessage{"\7MESSAGE"};
constexpr std::string_view kPing{"\4PING\0\0", 7};
constexpr std::string_view kMetadata{"\x0bSocket-Type\0\0\0\6DEALER", 22};

using Nonce = std::array<unsigned char, crypto_box_NONCEBYTES>;

std::span<const unsigned char> bytes_of(std::string_view text) {
    return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

template <class Bytes>
bool begins_with(const Bytes& bytes, std::string_view text) {
    return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

void put_u64(unsigned char* at, std::uint64_t value) {
    for (int i = 7; i >= 0; --i, value >>= 8U) {
        at[i] = static_cast<unsigned char>(value);
    }
}

std::uint64_t get_u64(const unsigned char* at) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        value = value << 8U | at[i];
    }
    return value;
}

Nonce nonce_of(std::string_view prefix, std::uint64_t counter) {
    Nonce nonce{};
    std::memcpy(nonce.data(), prefix.data(), 16);
    put_u64(nonce.data() + 16, counter);
    return nonce;
}

void append(std::vector<unsigned char>& to, std::span<const unsigned char> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// The flags and size of a frame.
std::span<const unsigned char> frame_header(std::array<unsigned char, 9>& header, std::size_t size,
                                            unsigned char flags) {
    if (size <= 255) {
        header[0] = flags;
        header[1] = static_cast<unsigned char>(size);
        return std::span{header}.first(2);
    }
    header[0] = static_cast<unsigned char>(flags | kLongFlag);
    put_u64(&header[1], size);
    return header;
}

}  // namespace

struct ZmtpClient::Handshake {
    CurveKey public_key{};  // for this connection alone
    CurveKey secret_key{};
};

std::optional<sockaddr_in> ZmtpClient::parse_endpoint(std::string_view endpoint) {
    constexpr std::string_view kScheme = "tcp://";
    const std::size_t colon = endpoint.rfind(':');
    if (!endpoint.starts_with(kScheme) || colon <= kScheme.size()) {
        return std::nullopt;
    }
    const std::string host{endpoint.substr(kScheme.size(), colon - kScheme.size())};
    const std::string_view port_text = endpoint.substr(colon + 1);
    std::uint16_t port = 0;
    const auto read = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (read.ec != std::errc{} || inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
        return std::nullopt;
    }
    return address;
}

ZmtpClient::ZmtpClient(const sockaddr_in& address, const CurveClientKeys* keys)
    : keys_{keys}, descriptor_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)} {
    const int yes = 1;
    if (descriptor_ < 0 || ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno != EINPROGRESS)) {
        return;
    }
    state_ = State::kConnecting;
    std::array<unsigned char, kGreetingSize> greeting{};
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[11] = 1;
    const std::string_view mechanism = keys_ != nullptr ? "CURVE" : "NULL";
    std::memcpy(&greeting[12], mechanism.data(), mechanism.size());
    unsent_.assign(greeting.begin(), greeting.end());
}

ZmtpClient::~ZmtpClient() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

void ZmtpClient::end() { state_ = State::kEnded; }

void ZmtpClient::advance(const FrameVisitor& visitor) {
    if (state_ != State::kEnded && !unsent_.empty()) {
        flush();
    }
    if (state_ != State::kEnded) {
        receive(visitor);
    }
}

// -- receiving
// ---------------------------------------------------------------------------------------------------------

void ZmtpClient::receive(const FrameVisitor& visitor) {
    std::array<unsigned char, 16'384> buffer;  // not filled: it is about to be
    while (state_ != State::kEnded) {
        const ssize_t size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (size <= 0) {
            if (size == 0 || (errno != EAGAIN && errno != EINTR && errno != ENOTCONN)) {
                end();
            }
            return;
        }
        std::span<unsigned char> bytes = std::span{buffer}.first(static_cast<std::size_t>(size));
        if (!unread_.empty()) {
            append(unread_, bytes);
            bytes = unread_;
        }
        const std::size_t taken = take(bytes, visitor);
        std::vector<unsigned char> rest{bytes.begin() + static_cast<std::ptrdiff_t>(taken), bytes.end()};
        unread_ = std::move(rest);
    }
}

std::size_t ZmtpClient::take(std::span<unsigned char> bytes, const FrameVisitor& visitor) {
    std::size_t taken = 0;
    while (state_ != State::kEnded) {
        const std::span<unsigned char> rest = bytes.subspan(taken);
        if (!has_greeting_) {
            if (rest.size() < kGreetingSize) {
                break;
            }
            take_greeting(rest.first(kGreetingSize));
            taken += kGreetingSize;
            continue;
        }
        const bool is_long = !rest.empty() && (rest[0] & kLongFlag) != 0;
        const std::size_t header_size = is_long ? 9 : 2;
        if (rest.size() < header_size) {
            break;
        }
        const std::uint64_t size = is_long ? get_u64(&rest[1]) : rest[1];
        if (size > kFrameSizeMax) {
            end();
            break;
        }
        if (rest.size() - header_size < size) {
            break;
        }
        const std::span<unsigned char> body = rest.subspan(header_size, size);
        taken += header_size + size;
        if (state_ == State::kConnecting) {
            take_handshake_command(body);
        } else {
            take_traffic(body, (rest[0] & kCommandFlag) != 0, visitor);
        }
    }
    return taken;
}

void ZmtpClient::take_greeting(Bytes greeting) {
    has_greeting_ = true;
    if (greeting[0] != 0xff || greeting[9] != 0x7f || greeting[10] < 3) {
        end();
    } else if (keys_ != nullptr) {
        say_hello();
    } else {
        std::vector<unsigned char> ready;
        append(ready, bytes_of(kReady));
        append(ready, bytes_of(kMetadata));
        write_command(ready);
    }
}

void ZmtpClient::take_handshake_command(Bytes body) {
    if (keys_ != nullptr && begins_with(body, kWelcome) && body.size() == 168) {
        say_initiate(body);
    } else if (begins_with(body, kReady)) {
        // The server's own metadata there isn't needed.
        handshake_.reset();
        state_ = State::kReady;
        was_heard_ = true;
    } else {
        end();
    }
}

void ZmtpClient::take_traffic(std::span<unsigned char> body, bool is_command, const FrameVisitor& visitor) {
    alignas(8) std::array<unsigned char, 16'384> plain;  // not filled: it is about to be
    was_heard_ = true;
    std::size_t size = body.size();
    std::size_t flags_size = 0;
    if (keys_ != nullptr) {
        constexpr std::size_t kOverhead = kMessageHeaderSize + crypto_box_MACBYTES + 1;
        if (!begins_with(body, kMessage) || size < kOverhead || size - kOverhead >= plain.size() - 8) {
            end();
            return;
        }
        const Nonce nonce = nonce_of("CurveZMQMESSAGES", get_u64(&body[kMessage.size()]));
        // So that what follows the flags is aligned.
        unsigned char* const box = plain.data() + 7;
        if (crypto_box_open_easy_afternm(box, &body[kMessageHeaderSize], size - kMessageHeaderSize, nonce.data(),
                                         shared_.data()) != 0) {
            end();
            return;
        }
        is_command = (box[0] & kCommandInBox) != 0;
        size -= kOverhead;
        flags_size = 8;
    } else if (size > plain.size()) {
        end();
        return;
    } else {
        std::memcpy(plain.data(), body.data(), size);
    }
    if (!is_command) {  // a command is the answer to a PING
        visitor({reinterpret_cast<const std::byte*>(plain.data() + flags_size), size});
    }
}

// -- sending
// -----------------------------------------------------------------------------------------------------------

void ZmtpClient::say_hello() {
    handshake_ = std::make_unique<Handshake>();
    crypto_box_keypair(handshake_->public_key.data(), handshake_->secret_key.data());
    std::vector<unsigned char> hello;
    append(hello, bytes_of(kHello));
    hello.resize(hello.size() + 72);
    append(hello, handshake_->public_key);
    const Nonce nonce = nonce_of("CurveZMQHELLO---", nonce_++);
    append(hello, std::span{nonce}.subspan(16));
    const std::array<unsigned char, 64> zeros{};
    std::array<unsigned char, zeros.size() + crypto_box_MACBYTES> box{};
    if (crypto_box_easy(box.data(), zeros.data(), zeros.size(), nonce.data(), keys_->server_public.data(),
                        handshake_->secret_key.data()) != 0) {
        end();
        return;
    }
    append(hello, box);
    write_command(hello);
}

void ZmtpClient::say_initiate(Bytes welcome) {
    constexpr std::size_t kCookieSize = 96;
    Nonce nonce{};
    std::memcpy(nonce.data(), "WELCOME-", 8);
    std::memcpy(nonce.data() + 8, welcome.data() + 8, 16);
    std::array<unsigned char, 32 + kCookieSize> opened{};  // the server's key for this connection, and its cookie
    if (handshake_ == nullptr ||
        crypto_box_open_easy(opened.data(), welcome.data() + 24, welcome.size() - 24, nonce.data(),
                             keys_->server_public.data(), handshake_->secret_key.data()) != 0 ||
        crypto_box_beforenm(shared_.data(), opened.data(), handshake_->secret_key.data()) != 0) {
        end();
        return;
    }
    std::array<unsigned char, 64> vouched{};
    std::memcpy(vouched.data(), handshake_->public_key.data(), 32);
    std::memcpy(vouched.data() + 32, keys_->server_public.data(), 32);
    Nonce vouch_nonce{};
    std::memcpy(vouch_nonce.data(), "VOUCH---", 8);
    randombytes_buf(vouch_nonce.data() + 8, 16);
    std::array<unsigned char, vouched.size() + crypto_box_MACBYTES> vouch{};
    if (crypto_box_easy(vouch.data(), vouched.data(), vouched.size(), vouch_nonce.data(), opened.data(),
                        keys_->own_secret.data()) != 0) {
        end();
        return;
    }
    std::vector<unsigned char> plain;
    append(plain, keys_->own_public);
    append(plain, std::span{vouch_nonce}.subspan(8));
    append(plain, vouch);
    append(plain, bytes_of(kMetadata));
    std::vector<unsigned char> box(plain.size() + crypto_box_MACBYTES);
    nonce = nonce_of("CurveZMQINITIATE", nonce_++);
    crypto_box_easy_afternm(box.data(), plain.data(), plain.size(), nonce.data(), shared_.data());
    std::vector<unsigned char> initiate;
    append(initiate, bytes_of(kInitiate));
    append(initiate, std::span{opened}.subspan(32));
    append(initiate, std::span{nonce}.subspan(16));
    append(initiate, box);
    write_command(initiate);
}

void ZmtpClient::write_command(Bytes body) {
    std::array<unsigned char, 9> header{};
    std::vector<unsigned char> frame;
    append(frame, frame_header(header, body.size(), kCommandFlag));
    append(frame, body);
    write(frame);
}

bool ZmtpClient::send(std::span<const std::byte> frame) { return write_traffic(frame, false); }

bool ZmtpClient::send_ping() { return write_traffic(std::as_bytes(std::span{kPing}), true); }

bool ZmtpClient::write_traffic(std::span<const std::byte> body, bool is_command) {
    if (state_ != State::kReady || !unsent_.empty()) {
        return false;
    }
    std::vector<unsigned char> frame;
    std::array<unsigned char, 9> header{};
    const auto* const bytes = reinterpret_cast<const unsigned char*>(body.data());
    if (keys_ == nullptr) {
        const auto head = frame_header(header, body.size(), is_command ? kCommandFlag : 0);
        append(frame, head);
        append(frame, {bytes, body.size()});
    } else {
        std::vector<unsigned char> plain;
        plain.reserve(1 + body.size());
        plain.push_back(is_command ? kCommandInBox : 0);
        append(plain, {bytes, body.size()});
        const std::size_t size = kMessageHeaderSize + plain.size() + crypto_box_MACBYTES;
        const auto head = frame_header(header, size, 0);
        const Nonce nonce = nonce_of("CurveZMQMESSAGEC", nonce_++);
        frame.reserve(head.size() + size);
        append(frame, head);
        append(frame, bytes_of(kMessage));
        append(frame, std::span{nonce}.subspan(16));
        frame.resize(head.size() + size);
        crypto_box_easy_afternm(frame.data() + head.size() + kMessageHeaderSize, plain.data(), plain.size(),
                                nonce.data(), shared_.data());
    }
    write(frame);
    return state_ == State::kReady;
}

// Unsent bytes wait.
void ZmtpClient::write(Bytes bytes) {
    if (state_ == State::kEnded) {
        return;
    }
    if (unsent_.empty()) {
        const ssize_t size = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size < 0 && errno != EAGAIN && errno != EINTR) {
            end();
            return;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
    append(unsent_, bytes);
}

void ZmtpClient::flush() {
    const ssize_t size = ::send(descriptor_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (size < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            end();
        }
        return;
    }
    std::vector<unsigned char> rest{unsent_.begin() + size, unsent_.end()};
    unsent_ = std::move(rest);
}

}  // namespace perfleet
