#include "tools/perfleet/send/otlp_sender.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <fstream>
#include <optional>

#include "schemas/gzip/gzip.h"
#include "schemas/otlp/otlp_message.h"
#include "schemas/pprof/checked_message.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;

constexpr const char* kProfilesPath = "/v1development/profiles";
constexpr const char* kProtobufType = "application/x-protobuf";
constexpr std::size_t kTextSizeBytesMax = 400;  // of a response's body, in messages

std::string shown(std::string_view text) { return printable(text.substr(0, kTextSizeBytesMax)); }

std::string host_text(const OtlpEndpoint& endpoint) {
    const std::string host = endpoint.host.find(':') == std::string::npos ? endpoint.host : "[" + endpoint.host + "]";
    return endpoint.port == (endpoint.has_tls ? "443" : "80") ? host : host + ":" + endpoint.port;
}

// Takes partial_success of a 2xx response.
void read_success(std::string_view body_untrusted, SendOutcome& outcome) {
    CheckedMessage<otlp::Response> response{body_untrusted};
    while (response.next()) {
        if (response.tag() != otlp::Response::kPartialSuccess) {
            response.skip();
            continue;
        }
        CheckedMessage<otlp::PartialSuccess> partial{response.get_text()};
        while (partial.next()) {
            switch (partial.tag()) {
                case otlp::PartialSuccess::kRejectedProfiles:
                    outcome.rejected_profiles =
                        static_cast<std::uint64_t>(std::max<std::int64_t>(partial.get_int64(), 0));
                    break;
                case otlp::PartialSuccess::kErrorMessage: outcome.text = shown(partial.get_text()); break;
                default: partial.skip();
            }
        }
    }
}

// The message of a google.rpc.Status, else the body.
std::string error_text(std::string_view type, std::string_view body_untrusted) {
    if (type == kProtobufType) {
        try {
            CheckedMessage<otlp::Status> status{body_untrusted};
            while (status.next()) {
                if (status.tag() == otlp::Status::kMessage) {
                    return shown(status.get_text());
                }
                status.skip();
            }
        } catch (const protozero::exception&) {
        }
    }
    return shown(body_untrusted);
}

class HttpOtlpSender final : public OtlpSender {
public:
    HttpOtlpSender(OtlpEndpoint endpoint, HttpHeaders headers, int stop_descriptor)
        : endpoint_{std::move(endpoint)}, headers_{std::move(headers)}, stop_{context_, ::dup(stop_descriptor)} {}

    Result<Done> load_authorities(const std::string& file) {
        beast::error_code error;
        tls_.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_sslv2 |
                             net::ssl::context::no_sslv3 | net::ssl::context::no_tlsv1 | net::ssl::context::no_tlsv1_1,
                         error);
        file.empty() ? tls_.set_default_verify_paths(error) : tls_.load_verify_file(file, error);
        return error ? Result<Done>{Error{ErrorCode::kInvalid, "--otlp-ca " + file + ": " + error.message()}} : Done{};
    }

    SendOutcome send(std::string_view message) override {
        SendOutcome outcome;
        beast::error_code error;
        tcp::resolver resolver{context_};
        const auto addresses = resolver.resolve(endpoint_.host, endpoint_.port, error);
        if (error) {
            outcome.text = endpoint_.host + ": " + error.message();
            return outcome;
        }
        beast::tcp_stream plain{context_};
        plain.expires_after(kAttemptTime);
        error = run([&](auto done) { plain.async_connect(addresses, done); }, plain);
        if (error) {
            outcome.text = host_text(endpoint_) + ": " + error.message();
            return outcome;
        }
        if (!endpoint_.has_tls) {
            exchange(plain, plain, message, outcome);
            return outcome;
        }
        net::ssl::stream<beast::tcp_stream&> secure{plain, tls_};
        secure.set_verify_mode(net::ssl::verify_peer);
        secure.set_verify_callback(net::ssl::host_name_verification{endpoint_.host});
        SSL_set_tlsext_host_name(secure.native_handle(), endpoint_.host.c_str());
        error = run([&](auto done) { secure.async_handshake(net::ssl::stream_base::client, done); }, plain);
        if (error) {
            const long verified = SSL_get_verify_result(secure.native_handle());
            outcome.is_final = verified != X509_V_OK || error.message().find("certificate") != std::string::npos;
            outcome.text = host_text(endpoint_) + ": " + error.message() +
                           (verified != X509_V_OK
                                ? std::string{" ("} + X509_verify_cert_error_string(verified) + "; --otlp-ca FILE)"
                                : std::string{});
            return outcome;
        }
        exchange(secure, plain, message, outcome);
        return outcome;
    }

private:
    // Runs one asynchronous operation until its end, the stream's time limit, or a stop.
    template <class Start>
    beast::error_code run(const Start& start, beast::tcp_stream& stream) {
        beast::error_code result;
        bool is_done = false;
        stop_.async_wait(net::posix::stream_descriptor::wait_read, [&](beast::error_code cancelled) {
            if (cancelled || is_done) {
                return;
            }
            stop_at_ = stop_at_.value_or(std::chrono::steady_clock::now() + kStopTime);
            stop_timer_.expires_at(*stop_at_);
            stop_timer_.async_wait([&](beast::error_code aborted) {
                if (!aborted && !is_done) {
                    stream.cancel();
                }
            });
        });
        start([&](beast::error_code error, auto&&...) {
            result = error;
            is_done = true;
            stop_.cancel();
            stop_timer_.cancel();
        });
        context_.restart();
        context_.run();
        return result;
    }

    template <class Stream>
    void exchange(Stream& stream, beast::tcp_stream& plain, std::string_view message, SendOutcome& outcome) {
        http::request<http::string_body> request{http::verb::post, endpoint_.path, 11};
        request.set(http::field::host, host_text(endpoint_));
        request.set(http::field::user_agent, "perfleet/" PERFLEET_VERSION);
        for (const auto& [name, value] : headers_) {
            request.set(name, value);
        }
        request.set(http::field::content_type, kProtobufType);
        request.set(http::field::content_encoding, "gzip");
        request.keep_alive(false);
        request.body() = GzipBody{}.add(message, true);
        request.prepare_payload();
        const beast::error_code written = run([&](auto done) { http::async_write(stream, request, done); }, plain);
        // A server that refuses may answer before it has read all.
        http::response_parser<http::string_body> parser;
        parser.body_limit(kResponseSizeBytesMax);
        beast::flat_buffer buffer;
        const beast::error_code read = run([&](auto done) { http::async_read(stream, buffer, parser, done); }, plain);
        if (read && !(parser.is_header_done() && read == http::error::body_limit)) {
            outcome.text = host_text(endpoint_) + ": " + (written ? written : read).message();
            return;
        }
        take_response(parser.get(), outcome);
    }

    static void take_response(const http::response<http::string_body>& response, SendOutcome& outcome) {
        outcome.status = response.result_int();
        const auto text_of = [&](http::field field) {
            const auto value = response[field];
            return std::string{value.data(), value.size()};
        };
        outcome.retry_after = text_of(http::field::retry_after);
        std::string type = text_of(http::field::content_type);
        type = type.substr(0, type.find(';'));
        if (response.result_int() / 100 != 2) {
            const std::string place = text_of(http::field::location);
            outcome.text = "HTTP " + std::to_string(outcome.status);
            const std::string body = place.empty() ? error_text(type, response.body()) : "Location: " + shown(place);
            outcome.text += body.empty() ? "" : ": " + body;
            return;
        }
        try {
            if (!response.body().empty() && type == kProtobufType) {
                read_success(response.body(), outcome);
            } else if (!response.body().empty() && !type.starts_with("application/")) {
                throw protozero::exception{};
            }
        } catch (const protozero::exception&) {
            outcome.text =
                "HTTP " + std::to_string(outcome.status) + ", but the answer isn't OTLP's: " + shown(response.body());
            outcome.status = 415;
        }
    }

    OtlpEndpoint endpoint_;
    HttpHeaders headers_;
    net::io_context context_{1};
    net::ssl::context tls_{net::ssl::context::tls_client};
    net::posix::stream_descriptor stop_;
    net::steady_timer stop_timer_{context_};
    std::optional<std::chrono::steady_clock::time_point> stop_at_;
};

bool is_token(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
    });
}

}  // namespace

Result<OtlpEndpoint> OtlpEndpoint::parse(const std::string& url) {
    const auto wrong = [&](const std::string& why) {
        return Error{ErrorCode::kUsage, "--otlp " + url + ": " + why + "; http[s]://HOST[:PORT][/PATH]"};
    };
    OtlpEndpoint endpoint;
    endpoint.has_tls = url.starts_with("https://");
    if (!endpoint.has_tls && !url.starts_with("http://")) {
        return wrong("neither http:// nor https://");
    }
    std::string_view rest{url};
    rest.remove_prefix(endpoint.has_tls ? 8 : 7);
    const std::string_view place = rest.substr(0, rest.find('/'));
    endpoint.path = rest.substr(place.size());
    if (url.find_first_of("?#@ ") != std::string::npos ||
        std::ranges::any_of(url, [](char c) { return c < ' ' || c > '~'; })) {
        return wrong("names of users (--otlp-header), queries, fragments and spaces don't belong in it");
    }
    const std::size_t colon = place.rfind(':');
    const bool has_port = colon != std::string_view::npos && place.find(']', colon) == std::string_view::npos;
    std::string_view host = place.substr(0, has_port ? colon : place.size());
    endpoint.port = has_port ? place.substr(colon + 1) : endpoint.has_tls ? "443" : "80";
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return wrong("an address of IPv6 stands in brackets");
    }
    endpoint.host = host;
    const bool is_number = std::ranges::all_of(endpoint.port, [](char c) { return c >= '0' && c <= '9'; });
    if (host.empty() || endpoint.port.empty() || endpoint.port.size() > 5 || !is_number) {
        return wrong(host.empty() ? "no host" : "no port");
    }
    while (endpoint.path.ends_with('/')) {
        endpoint.path.pop_back();
    }
    endpoint.path += endpoint.path.ends_with(kProfilesPath) ? "" : kProfilesPath;
    return endpoint;
}

Result<std::pair<std::string, std::string>> parse_header(const std::string& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string name = text.substr(0, at);
    std::string value = at == std::string::npos ? std::string{} : text.substr(at + 1);
    value.erase(0, value.find_first_not_of(" \t"));
    value.erase(value.find_last_not_of(" \t\r") + 1);
    if (!is_token(name) || value.empty() ||
        std::ranges::any_of(value, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; })) {
        return Error{ErrorCode::kUsage,
                     std::string{"a header is NAME"} + separator + "VALUE, without control characters"};
    }
    return std::pair{name, value};
}

Result<HttpHeaders> read_headers(const std::string& path) {
    const std::string what = "--otlp-header-file " + path;
    struct stat status {};
    std::ifstream file{path};
    if (::stat(path.c_str(), &status) != 0 || !file) {
        return error_from_errno(errno, what);
    }
    if ((status.st_mode & S_IRWXO) != 0) {
        return Error{ErrorCode::kPermission, what + ": others can read this file; chmod o-rwx " + path};
    }
    HttpHeaders headers;
    for (std::string line; std::getline(file, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos || line.starts_with('#')) {
            continue;
        }
        auto header = parse_header(line, ':');
        if (!header.ok()) {
            return Error{ErrorCode::kUsage, what + ": " + header.error().message};
        }
        headers.push_back(*std::move(header));
    }
    return headers;
}

Result<std::unique_ptr<OtlpSender>> OtlpSender::make(OtlpEndpoint endpoint, HttpHeaders headers,
                                                     const std::string& ca_file, int stop_descriptor) {
    auto sender = std::make_unique<HttpOtlpSender>(std::move(endpoint), std::move(headers), stop_descriptor);
    PERFLEET_TRY(sender->load_authorities(ca_file));
    return std::unique_ptr<OtlpSender>{std::move(sender)};
}

}  // namespace perfleet
