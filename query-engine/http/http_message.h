// HTTP requests and replies as plain values. The server (http_server.h) makes and sends them; handlers don't use
// sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Names of headers are in lower case.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// All of it is untrusted; sizes are within HttpServer's limits.
struct HttpRequest {
    std::string method;                                           // "GET"
    std::string path;                                             // decoded, begins with '/'
    std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded, in order
    HttpHeaders headers;                                          // names in lower case
    std::string body;
    std::string client;  // who sent it: a token's name, or a client certificate's common name; empty: no credentials
                         // were required

    // Empty: not there.
    [[nodiscard]] std::string_view header(std::string_view name) const;
    [[nodiscard]] std::string_view parameter(std::string_view name) const;
};

struct HttpResponse {
    int status = 200;
    std::string content_type;
    std::string body;
    HttpHeaders headers{};  // further ones
};

// The receiver of an answer. Used by the thread that runs the handler, which either calls send() once, or begin() and
// then write() any number of times.
class HttpReply {
public:
    virtual ~HttpReply() = default;

    virtual void send(HttpResponse answer) = 0;
    // `head` without a body, whose length isn't known yet.
    virtual void begin(HttpResponse head) = 0;
    // Waits while the client is slow to read. Errors: kCancelled (the client has gone, or is too slow).
    [[nodiscard]] virtual Result<Done> write(std::span<const std::byte> bytes) = 0;
    // The body ends early: the client sees that it isn't whole.
    virtual void abort() = 0;
    // Set when the client has gone.
    [[nodiscard]] virtual const std::atomic<bool>& cancelled() const = 0;
};

// Splits `/a%20b?c=d&e` into path and parameters. Of `http://HOST/a` the host becomes the header `host`. Errors:
// kInvalid (no absolute path, a malformed escape, a control character, too many parameters).
[[nodiscard]] Result<Done> read_target(std::string_view target_untrusted, HttpRequest& request);

// Reads `a=b&c=d`, as in the body of a form.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> read_parameters(std::string_view text_untrusted);

// Whether a list such as `gzip;q=0.5, *;q=0` accepts this coding.
[[nodiscard]] bool accepts(std::string_view list_untrusted, std::string_view coding);

// Whether a Cookie header has this NAME=VALUE. The time that it takes doesn't depend on the value.
[[nodiscard]] bool has_cookie(std::string_view header_untrusted, std::string_view cookie);

}  // namespace perfleet
