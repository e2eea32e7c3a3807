// An HTTP/1.1 server: connections on one thread, handlers on a few others. The only code that uses Boost.Beast.
//
// Limits: kConnectionsMax connections, of which the idlest is closed for one more; kHeaderSizeBytesMax and
// kBodySizeBytesMax of a request, which must arrive within kRequestNsMax; kBodiesSizeBytesMax of all bodies that are
// being read. kHandlersMax handlers run at once, kWaitingMax further requests wait, others get 503. Requests that need
// kPush have threads of their own: kUploadsMax run at once, as many wait. A reply keeps at most kReplyAheadBytes that
// its client hasn't read. A client that reads nothing for kReplyNsMax is disconnected; while other requests wait, so is
// a client that doesn't read that many bytes within kStalledNsMax. At loopback addresses, requests whose Host isn't
// this server get 421, so that no web page in a browser can reach it by a name of its own (DNS rebinding). No header
// allows other origins.
//
// The sender of a request is authenticated before its body is read. Without credentials it gets 401, without the role
// 403. After kFailedTokensMax unknown tokens from an address in kFailedTokensNs further ones get 429; known tokens
// never do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "query-engine/http/http_access.h"
#include "query-engine/http/http_message.h"
#include "schemas/host/file_descriptor.h"

namespace perfleet {

// Called on several threads at once.
using HttpHandler = std::function<void(const HttpRequest&, HttpReply&)>;

struct HttpCounts {
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;  // answered without a handler: malformed, too large, a foreign host
    std::uint64_t denied = 0;   // answered 401, 403 or 429, also those of unknown tokens
    std::uint64_t unknown_tokens = 0;
    std::uint64_t busy = 0;         // answered 503: too many wait
    std::uint64_t connections = 0;  // that were accepted
    std::uint64_t dropped = 0;      // connections that were closed for another one, for being slow, or without TLS
};

struct HttpServerOptions {
    HttpHandler handler;
    // What a request to this path needs. Those that need kPush may have large bodies.
    std::function<HttpRole(std::string_view path)> role_of{};  // empty: kRead
    // Answers requests that take no time on the server's thread, also while all handlers are busy. False: a handler
    // must answer.
    std::function<bool(const HttpRequest&, HttpReply&)> answer_at_once{};
    std::string host{};  // a loopback address, whose Host is checked; empty: any Host
    HttpAccessFiles access{};
    LogSink log{};
    // NAME=VALUE: only clients with this cookie may read, and none may push. Empty: `access` decides.
    std::string cookie{};
    std::string quota_file{};  // UploadQuota
};

class HttpServer {
public:
    static constexpr std::size_t kConnectionsMax = 1'024;
    static constexpr std::size_t kHeaderSizeBytesMax = 16U << 10;
    static constexpr std::size_t kBodySizeBytesMax = 1U << 20;
    static constexpr std::size_t kBodiesSizeBytesMax = 32U << 20;
    static constexpr std::size_t kUploadSizeBytesMax = 64U << 20;  // of a body that needs kPush, not of all
    static constexpr std::size_t kUploadsMax = 4;                  // at once; others get 503
    static constexpr std::uint64_t kUploadNsMax = 60'000'000'000;
    static constexpr std::uint64_t kRequestNsMax = 10'000'000'000;
    static constexpr std::uint64_t kIdleNsMax = 60'000'000'000;  // between the requests of a connection
    static constexpr std::uint64_t kReplyNsMax = 30'000'000'000;
    static constexpr std::size_t kHandlersMax = 8;
    static constexpr std::size_t kWaitingMax = 64;
    static constexpr std::size_t kReplyAheadBytes = 1U << 20;
    static constexpr std::uint64_t kStalledNsMax = 5'000'000'000;
    static constexpr std::uint32_t kFailedTokensMax = 16;
    static constexpr std::uint64_t kFailedTokensNs = 10'000'000'000;
    static constexpr std::size_t kFailedAddressesMax = 4'096;

    // `listening_fd` must be listening and non-blocking. Errors: those of HttpAccess::load().
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> make(FileDescriptor listening_fd,
                                                                  HttpServerOptions options);

    // Cancels running requests and waits for their handlers.
    virtual ~HttpServer() = default;

    // Serves from now on; to be called once.
    virtual void start() = 0;

    // From any thread.
    [[nodiscard]] virtual HttpCounts counts() const = 0;
};

}  // namespace perfleet
