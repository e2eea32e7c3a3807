// An HTTP/1.1 server: connections on one thread, handlers on a few others. The only place that knows Boost.Beast.
//
// Limits: kConnectionsMax connections (the idlest is closed for one more), kHeaderSizeBytesMax and kBodySizeBytesMax of
// a request, which must have come within kRequestNsMax, kBodiesSizeBytesMax of all bodies that are being read;
// kHandlersMax handlers at once, kWaitingMax further requests wait, others get 503. A reply keeps at most
// kReplyAheadBytes that its client hasn't read; a client that reads nothing for kReplyNsMax is disconnected. Requests
// whose Host isn't this server get 421, so that no web page that a browser shows can reach it by a name of its own (DNS
// rebinding). No header allows other origins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "query-engine/http/http_message.h"
#include "schemas/host/file_descriptor.h"

namespace perfleet {

// Called on several threads at once.
using HttpHandler = std::function<void(const HttpRequest&, HttpReply&)>;

struct HttpCounts {
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;      // answered without a handler: malformed, too large, a foreign host
    std::uint64_t busy = 0;         // answered 503: too many wait
    std::uint64_t connections = 0;  // that were accepted
    std::uint64_t dropped = 0;      // connections that were closed for another one, or for being slow
};

class HttpServer {
public:
    static constexpr std::size_t kConnectionsMax = 1'024;
    static constexpr std::size_t kHeaderSizeBytesMax = 16U << 10;
    static constexpr std::size_t kBodySizeBytesMax = 1U << 20;
    static constexpr std::size_t kBodiesSizeBytesMax = 32U << 20;
    static constexpr std::size_t kUploadSizeBytesMax = 64U << 20;  // of a body to the upload path, not of all
    static constexpr std::size_t kUploadsMax = 4;                  // at once; others get 503
    static constexpr std::uint64_t kUploadNsMax = 60'000'000'000;
    static constexpr std::uint64_t kRequestNsMax = 10'000'000'000;
    static constexpr std::uint64_t kIdleNsMax = 60'000'000'000;  // between the requests of a connection
    static constexpr std::uint64_t kReplyNsMax = 30'000'000'000;
    static constexpr std::size_t kHandlersMax = 8;
    static constexpr std::size_t kWaitingMax = 64;
    static constexpr std::size_t kReplyAheadBytes = 1U << 20;

    // `listening_fd` must be listening and non-blocking, at `host`, an IPv4 address. Requests to `upload_path` may have
    // large bodies.
    [[nodiscard]] static std::unique_ptr<HttpServer> make(FileDescriptor listening_fd, std::string host,
                                                          HttpHandler handler, std::string upload_path = "");

    // Cancels running requests and waits for their handlers.
    virtual ~HttpServer() = default;

    // Serves from now on; to be called once.
    virtual void start() = 0;

    // From any thread.
    [[nodiscard]] virtual HttpCounts counts() const = 0;
};

}  // namespace perfleet
