// Bytes of a connection to the HTTP server, by a real socket: requests one after another, cut, or none. Whatever comes,
// handlers see requests within the server's limits, and every answer is one of HTTP.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>

#include "query-engine/http/http_server.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet::http_connection_fuzz {
namespace {

void answer(const HttpRequest& request, HttpReply& reply) {
    PERFLEET_ASSERT(request.path.starts_with('/') && !request.method.empty());
    PERFLEET_ASSERT(request.body.size() <= HttpServer::kUploadSizeBytesMax);
    std::size_t size_bytes = 0;
    for (const auto& [name, value] : request.headers) {
        PERFLEET_ASSERT(!name.empty() && std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }));
        PERFLEET_ASSERT(value.find('\n') == std::string::npos);
        size_bytes += name.size() + value.size();
    }
    PERFLEET_ASSERT(size_bytes <= HttpServer::kHeaderSizeBytesMax);
    if (request.parameter("stream").empty()) {
        return reply.send({200, "text/plain", request.body});
    }
    reply.begin({200, "text/plain", {}});
    (void)reply.write(std::as_bytes(std::span{request.body}));
}

class Server {
public:
    Server() {
        FileDescriptor listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        PERFLEET_ASSERT(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address_), size) == 0 &&
                        ::listen(listening.get(), 64) == 0 &&
                        ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address_), &size) == 0);
        HttpServerOptions options;
        options.handler = answer;
        options.role_of = [](std::string_view path) {
            return path.starts_with("/push") ? HttpRole::kPush : HttpRole::kRead;
        };
        options.host = "127.0.0.1";
        server_ = std::move(*HttpServer::make(std::move(listening), std::move(options)));
        server_->start();
    }

    // All that is answered to these bytes and their end.
    [[nodiscard]] std::string answers(std::string_view bytes) const {
        const FileDescriptor client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        PERFLEET_ASSERT(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0);
        (void)!::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        ::shutdown(client.get(), SHUT_WR);
        std::string text;
        std::array<char, 16'384> piece{};
        for (ssize_t size = 0; (size = ::recv(client.get(), piece.data(), piece.size(), 0)) > 0;) {
            text.append(piece.data(), static_cast<std::size_t>(size));
        }
        return text;
    }

private:
    sockaddr_in address_{};
    std::unique_ptr<HttpServer> server_;
};

}  // namespace
}  // namespace perfleet::http_connection_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static const http_connection_fuzz::Server kServer;
    const std::string text = kServer.answers({reinterpret_cast<const char*>(data), size_bytes});
    PERFLEET_ASSERT(text.empty() || text.starts_with("HTTP/1."));
    return 0;
}
