// Sends requests of OTLP to a server, over HTTP or HTTPS: one attempt of one request at a time, each on a connection of
// its own, compressed with gzip. The only code beside query-engine/http that uses Boost.Beast and OpenSSL.
//
// With HTTPS the server's certificate and name are checked (TLS 1.2 and 1.3). Limits: kAttemptTime for an attempt,
// kResponseSizeBytesMax of a response. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct OtlpEndpoint {
    bool has_tls = false;
    std::string host;  // without the brackets of IPv6
    std::string port;
    std::string path;  // ends in /v1development/profiles

    // `http[s]://HOST[:PORT][/PATH]`. Errors: kUsage.
    [[nodiscard]] static Result<OtlpEndpoint> parse(const std::string& url);
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// `NAME=VALUE`, or `NAME: VALUE` as files have it. Errors: kUsage; the value isn't in the message.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_header(const std::string& text, char separator);
// One header per line. Errors: kPermission (others may read the file), kUsage, those of reading.
[[nodiscard]] Result<HttpHeaders> read_headers(const std::string& path);

struct SendOutcome {
    unsigned status = 0;                  // of HTTP; 0: no response came
    std::string text;                     // why it isn't accepted
    std::string retry_after;              // the header
    std::uint64_t rejected_profiles = 0;  // by partial_success, whose text is above
    bool is_final = false;                // no response, and further attempts would get none: the certificate is
                                          // invalid
};

class OtlpSender {
public:
    static constexpr std::chrono::seconds kAttemptTime{30};
    static constexpr std::size_t kResponseSizeBytesMax = 64U << 10;

    // `ca_file`: authorities of servers' certificates; empty: the system's. `stop_descriptor`: once it is readable,
    // an attempt has no more than kStopTime. Errors: kInvalid (the file of authorities).
    static constexpr std::chrono::seconds kStopTime{5};
    [[nodiscard]] static Result<std::unique_ptr<OtlpSender>> make(OtlpEndpoint endpoint, HttpHeaders headers,
                                                                  const std::string& ca_file, int stop_descriptor);
    virtual ~OtlpSender() = default;

    [[nodiscard]] virtual SendOutcome send(std::string_view message) = 0;
};

}  // namespace perfleet
