#include "query-engine/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "query-engine/http/upload_quota.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/abuse_limiter.h"

namespace perfleet {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Stream = beast::basic_stream<net::generic::stream_protocol>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadSizeBytes = 16U << 10;
constexpr auto kWatchAgainAfter = std::chrono::milliseconds{200};
constexpr auto kAcceptAgainAfter = std::chrono::milliseconds{100};  // where descriptors are short
constexpr auto kGoodbyeTimeout = std::chrono::seconds{2};

HttpResponse plain_answer(http::status status, const std::string& text) {
    return {static_cast<int>(status), "text/plain; charset=utf-8", text + "\n"};
}

// The head of a response; a body of unknown size is chunked.
std::string head_of(const HttpResponse& answer, unsigned version, bool keeps_alive, std::optional<std::size_t> size) {
    http::response<http::empty_body> response{static_cast<http::status>(answer.status), version};
    if (!answer.content_type.empty()) {
        response.set(http::field::content_type, answer.content_type);
    }
    response.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : answer.headers) {
        response.set(name, value);
    }
    response.keep_alive(keeps_alive);
    if (size) {
        response.content_length(*size);
    } else if (version >= 11) {
        response.chunked(true);
    }
    std::ostringstream text;
    text << response.base();
    return text.str();
}

HttpResponse busy_answer(const std::string& text) {
    HttpResponse busy = plain_answer(http::status::service_unavailable, text + "; try again");
    busy.headers.emplace_back("Retry-After", "1");
    return busy;
}

// A client's connection, with TLS or without.
class ClientStream {
public:
    using executor_type = Stream::executor_type;

    ClientStream(Stream stream, const std::shared_ptr<net::ssl::context>& tls)
        : plain_{std::move(stream)}, context_{tls} {
        if (tls != nullptr) {
            tls_.emplace(plain_, *tls);
        }
    }
    [[nodiscard]] executor_type get_executor() { return plain_.get_executor(); }
    [[nodiscard]] Stream& plain() { return plain_; }
    [[nodiscard]] auto& socket() { return plain_.socket(); }
    // Null: without TLS.
    [[nodiscard]] auto* tls() { return tls_ ? &*tls_ : nullptr; }
    [[nodiscard]] const auto& context() const { return context_; }
    void expires_after(std::uint64_t time_ns) { plain_.expires_after(std::chrono::nanoseconds{time_ns}); }

    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler&& handler) {
        tls_ ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
             : plain_.async_read_some(buffers, std::forward<Handler>(handler));
    }
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        tls_ ? tls_->async_write_some(buffers, std::forward<Handler>(handler))
             : plain_.async_write_some(buffers, std::forward<Handler>(handler));
    }

private:
    Stream plain_;
    std::shared_ptr<net::ssl::context> context_;
    std::optional<net::ssl::stream<Stream&>> tls_;
};

// The address of a client; the same for all of a Unix socket.
std::string address_of(const Stream::socket_type& socket) {
    beast::error_code error;
    const auto endpoint = socket.remote_endpoint(error);
    std::array<char, INET_ADDRSTRLEN> text{};
    sockaddr_in place{};
    if (error || endpoint.protocol().family() != AF_INET || endpoint.size() < sizeof place) {
        return "this machine";
    }
    std::memcpy(&place, endpoint.data(), sizeof place);
    return inet_ntop(AF_INET, &place.sin_addr, text.data(), text.size()) == nullptr ? "" : text.data();
}

class Connection;

// The answer to one request: filled by a handler's thread, sent by the server's.
class Reply final : public HttpReply {
public:
    Reply(HttpRequest request, unsigned version, bool keeps_alive, const std::atomic<std::size_t>& waiting_count,
          std::function<void()> flush)
        : request_{std::move(request)},
          waiting_count_{waiting_count},
          is_head_{request_.method == "HEAD"},
          version_{version},
          keeps_alive_{keeps_alive},
          flush_{std::move(flush)} {}

    [[nodiscard]] const HttpRequest& request() const { return request_; }

    void send(HttpResponse answer) override {
        {
            const std::scoped_lock lock{mutex_};
            if (state_ != State::kNew) {
                return;
            }
            const std::string head = head_of(answer, version_, keeps_alive_, answer.body.size());
            pending_ = is_head_ ? std::string{} : std::move(answer.body);
            pending_.insert(0, head);
            state_ = State::kFinished;
        }
        flush_();
    }

    void begin(HttpResponse head) override {
        {
            const std::scoped_lock lock{mutex_};
            if (state_ != State::kNew) {
                return;
            }
            keeps_alive_ = keeps_alive_ && version_ >= 11;  // else the end of the connection ends the body
            pending_ = head_of(head, version_, keeps_alive_, std::nullopt);
            state_ = State::kStreaming;
        }
        flush_();
    }

    Result<Done> write(std::span<const std::byte> bytes) override {
        {
            std::unique_lock lock{mutex_};
            const auto is_drained = [&] { return cancelled_ || pending_.size() < HttpServer::kReplyAheadBytes; };
            while (!drained_.wait_for(lock, std::chrono::nanoseconds{HttpServer::kStalledNsMax}, is_drained)) {
                if (waiting_count_ != 0) {
                    is_aborted_ = true;
                    return Error{ErrorCode::kCancelled, "the client is too slow, and others wait"};
                }
            }
            if (cancelled_ || state_ != State::kStreaming) {
                return Error{ErrorCode::kCancelled, "the client has gone"};
            }
            if (bytes.empty() || is_head_) {
                return Done{};
            }
            std::ostringstream size;
            size << std::hex << bytes.size() << "\r\n";
            pending_ += version_ >= 11 ? size.str() : "";
            pending_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            pending_ += version_ >= 11 ? "\r\n" : "";
        }
        flush_();
        return Done{};
    }

    void abort() override {
        const std::scoped_lock lock{mutex_};
        is_aborted_ = true;
    }

    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return cancelled_; }

    // To be called when the handler has returned.
    void finish() {
        {
            const std::scoped_lock lock{mutex_};
            if (state_ == State::kNew) {
                const HttpResponse none = plain_answer(http::status::internal_server_error, "no answer");
                pending_ = head_of(none, version_, keeps_alive_, none.body.size()) + (is_head_ ? "" : none.body);
            } else if (state_ == State::kStreaming && !is_aborted_ && !is_head_) {
                pending_ += version_ >= 11 ? "0\r\n\r\n" : "";
            }
            keeps_alive_ = keeps_alive_ && !is_aborted_;
            state_ = State::kFinished;
        }
        flush_();
    }

    // To be called by the server's thread.
    void cancel() {
        cancelled_ = true;
        const std::scoped_lock lock{mutex_};
        drained_.notify_all();
    }
    // Takes what is to be sent; empty: nothing now.
    [[nodiscard]] std::string take() {
        const std::scoped_lock lock{mutex_};
        drained_.notify_all();
        return std::exchange(pending_, {});
    }
    [[nodiscard]] bool is_finished() const {
        const std::scoped_lock lock{mutex_};
        return state_ == State::kFinished && pending_.empty();
    }
    [[nodiscard]] bool keeps_alive() const {
        const std::scoped_lock lock{mutex_};
        return keeps_alive_;
    }
    [[nodiscard]] bool is_aborted() const {
        const std::scoped_lock lock{mutex_};
        return is_aborted_;
    }

private:
    enum class State : std::uint8_t { kNew, kStreaming, kFinished };

    HttpRequest request_;
    const std::atomic<std::size_t>& waiting_count_;
    bool is_head_;
    unsigned version_;  // 10 or 11
    mutable std::mutex mutex_;
    std::condition_variable drained_;
    State state_ = State::kNew;
    bool keeps_alive_;
    bool is_aborted_ = false;
    std::string pending_;
    std::atomic<bool> cancelled_ = false;
    std::function<void()> flush_;
};

// Runs handlers on some threads.
class Handlers {
public:
    Handlers(HttpHandler handler, std::size_t thread_count, std::size_t waiting_max)
        : handler_{std::move(handler)}, waiting_max_{waiting_max} {
        for (std::size_t i = 0; i < thread_count; ++i) {
            threads_.emplace_back([this] { run(); });
        }
    }
    // The server's thread must have cancelled all replies.
    ~Handlers() {
        {
            const std::scoped_lock lock{mutex_};
            is_stopping_ = true;
            waiting_.clear();
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }
    Handlers(const Handlers&) = delete;
    Handlers& operator=(const Handlers&) = delete;

    // False: too many wait.
    [[nodiscard]] bool add(std::shared_ptr<Reply> reply) {
        {
            const std::scoped_lock lock{mutex_};
            if (waiting_.size() == waiting_max_) {
                return false;
            }
            waiting_.push_back(std::move(reply));
            waiting_count_ = waiting_.size();
        }
        changed_.notify_one();
        return true;
    }
    [[nodiscard]] const std::atomic<std::size_t>& waiting_count() const { return waiting_count_; }

private:
    void run() {
        for (;;) {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
            if (is_stopping_) {
                return;
            }
            const std::shared_ptr<Reply> reply = std::move(waiting_.front());
            waiting_.pop_front();
            waiting_count_ = waiting_.size();
            lock.unlock();
            if (!reply->cancelled()) {
                handler_(reply->request(), *reply);
            }
            reply->finish();
        }
    }

    HttpHandler handler_;
    std::size_t waiting_max_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Reply>> waiting_;
    std::atomic<std::size_t> waiting_count_ = 0;
    bool is_stopping_ = false;
    std::vector<std::thread> threads_;
};

// Except for counts, only for the server's thread.
struct Shared {
    HttpServerOptions options;
    HttpAccess access;
    std::shared_ptr<net::ssl::context> tls{};  // null: none
    AbuseLimiter failed_tokens{{UINT32_MAX, SIZE_MAX, HttpServer::kFailedAddressesMax}};
    UploadQuota upload_quota{options.quota_file, options.log};
    std::size_t upload_count = 0;  // that are being received or answered
    Handlers* handlers = nullptr;
    Handlers* uploads = nullptr;  // those of requests that need kPush
    std::atomic<std::uint64_t> denied = 0;
    std::atomic<std::uint64_t> unknown_tokens = 0;
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> busy = 0;
    std::atomic<std::uint64_t> connections = 0;
    std::atomic<std::uint64_t> dropped = 0;
    std::atomic<std::size_t> body_size_bytes = 0;  // of bodies that are being read

    // Host names that can't result from DNS rebinding.
    [[nodiscard]] bool is_own_host(std::string_view header) const {
        const std::size_t bracket = header.rfind(']');
        const std::size_t colon = header.rfind(':');
        const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
        const std::string_view name = has_port ? header.substr(0, colon) : header;
        return options.host.empty() || name == "localhost" || name == options.host || name == "[::1]" ||
               (name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos);
    }
};

// A part of kBodiesSizeBytesMax, until it is destroyed.
class CountedBody {
public:
    explicit CountedBody(std::atomic<std::size_t>& all_size_bytes) : all_{all_size_bytes} {}
    ~CountedBody() { reset(); }
    CountedBody(const CountedBody&) = delete;
    CountedBody& operator=(const CountedBody&) = delete;

    // False: there is no space for a body of this size.
    [[nodiscard]] bool is_counted(std::size_t size_bytes) {
        all_ += size_bytes - size_bytes_;
        size_bytes_ = size_bytes;
        return all_ <= HttpServer::kBodiesSizeBytesMax;
    }
    void reset() { (void)is_counted(0); }

private:
    std::atomic<std::size_t>& all_;
    std::size_t size_bytes_ = 0;
};

// One client. On the server's thread, but for flush().
class Connection final : public std::enable_shared_from_this<Connection> {
public:
    Connection(Stream stream, Shared& shared) : stream_{std::move(stream), shared.tls}, shared_{shared} {}

    void start() {
        if (stream_.tls() == nullptr) {
            return wait_for_request();
        }
        idle_since_ = Clock::now();
        stream_.expires_after(HttpServer::kRequestNsMax);
        stream_.tls()->async_handshake(
            net::ssl::stream_base::server, [self = shared_from_this()](beast::error_code error) {
                if (error) {
                    self->shared_.dropped += self->is_closed_ ? 0 : 1;
                    return self->close();
                }
                self->certificate_name_ = client_name_of(self->stream_.tls()->native_handle());
                self->wait_for_request();
            });
    }

    // The time since which it has waited for a request; none: it has one.
    [[nodiscard]] std::optional<Clock::time_point> idle_since() const { return idle_since_; }
    [[nodiscard]] bool is_closed() const { return is_closed_; }

    // Its certificates were replaced: it ends after its current request.
    void end_if_old() {
        is_old_ = stream_.context() != shared_.tls;
        if (is_old_ && idle_since_) {
            close();
        }
    }

    void close() {
        is_closed_ = true;
        end_upload();
        if (reply_ != nullptr) {
            reply_->cancel();
        }
        beast::error_code ignored;
        stream_.socket().shutdown(net::socket_base::shutdown_both, ignored);
        stream_.plain().close();
    }

private:
    void end_upload() { shared_.upload_count -= std::exchange(is_upload_, false) ? 1 : 0; }

    void wait_for_request() {
        idle_since_ = Clock::now();
        parser_.emplace();
        parser_->header_limit(HttpServer::kHeaderSizeBytesMax);
        parser_->body_limit(HttpServer::kUploadSizeBytesMax);
        if (buffer_.size() != 0) {  // sent before the last answer
            return read_head();
        }
        stream_.expires_after(HttpServer::kIdleNsMax);
        stream_.async_read_some(buffer_.prepare(kReadSizeBytes),
                                [self = shared_from_this()](beast::error_code error, std::size_t size) {
                                    self->buffer_.commit(size);
                                    return error ? self->drop(error) : self->read_head();
                                });
    }

    void read_head() {
        stream_.expires_after(HttpServer::kRequestNsMax);
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](beast::error_code error, std::size_t) {
                                    return error ? self->refuse(error) : self->take_head();
                                });
    }

    void take_head() {
        if (is_closed_) {
            return;
        }
        const auto& head = parser_->get();
        request_ = {};
        request_.method = std::string{head.method_string()};
        for (const auto& field : head) {
            std::string name{field.name_string()};
            std::ranges::transform(name, name.begin(),
                                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
            request_.headers.emplace_back(std::move(name), std::string{field.value()});
        }
        refusal_ = refusal_of_head({head.target().data(), head.target().size()});
        if (refusal_ && !parser_->is_done()) {
            return end_with(*refusal_);
        }
        read_body();
    }

    // Completes the request but for its body. Nothing: it may go on.
    std::optional<HttpResponse> refusal_of_head(std::string_view target) {
        const auto is_host = [](const auto& header) { return header.first == "host"; };
        const bool has_two_hosts = std::ranges::count_if(request_.headers, is_host) > 1;
        const auto read = read_target(target, request_);
        if (has_two_hosts || !read.ok()) {
            ++shared_.refused;
            return plain_answer(http::status::bad_request,
                                has_two_hosts ? "malformed request: it has two hosts" : read.error().message);
        }
        if (const std::string host{request_.header("host")}; !shared_.is_own_host(host)) {
            ++shared_.refused;
            return plain_answer(http::status::misdirected_request,
                                "this server is " + shared_.options.host + ", not " + host.substr(0, 256));
        }
        role_ = shared_.options.role_of ? shared_.options.role_of(request_.path) : HttpRole::kRead;
        auto denial = denial_of_head();
        shared_.denied += denial ? 1 : 0;
        if (denial && role_ == HttpRole::kPush) {
            shared_.options.log({LogLevel::kWarning,
                                 "push_refused",
                                 "a push to " + request_.path + " was refused: " + denial->body.substr(0, 256),
                                 {{"client", request_.client}, {"address", address_of(stream_.socket())}}});
        }
        return denial;
    }

    std::optional<HttpResponse> denial_of_head() {
        if (const std::string& cookie = shared_.options.cookie; !cookie.empty()) {
            return role_ == HttpRole::kNone ||
                           (role_ == HttpRole::kRead && has_cookie(request_.header("cookie"), cookie))
                       ? std::optional<HttpResponse>{}
                       : plain_answer(http::status::unauthorized, "open the link that perfleet web printed");
        }
        if (!shared_.access.asks()) {
            return std::nullopt;
        }
        const auto denied = [](http::status status, const std::string& text, const std::string& code) {
            HttpResponse answer = plain_answer(status, text);
            answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"perfleet\"" + code);
            return answer;
        };
        constexpr std::string_view kScheme = "Bearer ";
        const std::string_view credentials = request_.header("authorization");
        HttpIdentity identity{certificate_name_, certificate_name_.empty() ? std::uint8_t{0} : kAllHttpRoles};
        if (beast::iequals({credentials.data(), std::min(kScheme.size(), credentials.size())},
                           {kScheme.data(), kScheme.size()})) {
            const HttpIdentity* const known = shared_.access.tokens().find(credentials.substr(kScheme.size()));
            if (known == nullptr) {
                return unknown_token(
                    denied(http::status::unauthorized, "this token isn't known", ", error=\"invalid_token\""));
            }
            identity = *known;
        } else if (identity.name.empty() && role_ != HttpRole::kNone) {
            return denied(http::status::unauthorized, "a bearer token is needed", "");
        }
        request_.client = identity.name;
        if (!identity.may(role_)) {
            return denied(http::status::forbidden,
                          std::string{"this token lacks the role "} + (role_ == HttpRole::kPush ? "push" : "read"),
                          ", error=\"insufficient_scope\"");
        }
        const bool has_quota = identity.push_size_bytes_max != HttpIdentity::kNoQuota;
        return role_ == HttpRole::kPush && has_quota ? above_quota(identity) : std::nullopt;
    }

    std::optional<HttpResponse> above_quota(const HttpIdentity& identity) {
        const std::int64_t left_ns =
            shared_.upload_quota.left_ns(identity.name, identity.push_size_bytes_max, utc_now());
        if (left_ns == 0) {
            return std::nullopt;
        }
        HttpResponse later = plain_answer(http::status::too_many_requests,
                                          "the quota of " + identity.name + " is used up: " +
                                              std::to_string(identity.push_size_bytes_max) + " bytes an hour");
        later.headers.emplace_back("Retry-After", std::to_string(left_ns / kNsPerSecond + 1));
        return later;
    }

    HttpResponse unknown_token(HttpResponse denial) {
        ++shared_.unknown_tokens;
        const std::string address = address_of(stream_.socket());
        if (shared_.failed_tokens.count_of(address, 0) >= HttpServer::kFailedTokensMax) {
            HttpResponse later = plain_answer(http::status::too_many_requests, "too many unknown tokens; try later");
            later.headers.emplace_back("Retry-After", std::to_string(HttpServer::kFailedTokensNs / 1'000'000'000));
            return later;
        }
        (void)shared_.failed_tokens.is_enough(address, 0, 0);
        shared_.options.log({LogLevel::kWarning, "http_token", "a request from " + address + " has an unknown token"});
        return denial;
    }

    void read_body() {
        if (role_ == HttpRole::kPush && !refusal_) {
            if (shared_.upload_count == HttpServer::kUploadsMax) {
                ++shared_.busy;
                return end_with(busy_answer("too many uploads"));
            }
            ++shared_.upload_count;
            is_upload_ = true;
            stream_.expires_after(HttpServer::kUploadNsMax);
        } else if (parser_->content_length().value_or(0) > HttpServer::kBodySizeBytesMax) {
            return refuse(http::make_error_code(http::error::body_limit));
        } else {
            parser_->body_limit(HttpServer::kBodySizeBytesMax);
        }
        if (parser_->get()[http::field::expect] == "100-continue") {
            const auto go_on = std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n");
            net::async_write(stream_, net::buffer(*go_on),
                             [self = shared_from_this(), go_on](beast::error_code error, std::size_t) {
                                 return error ? self->drop(error) : self->read_rest();
                             });
            return;
        }
        read_rest();
    }

    void read_rest() {
        if (parser_->is_done()) {
            return take_request();
        }
        parser_->eager(true);
        http::async_read_some(
            stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
                const std::size_t size_bytes = self->is_upload_ ? 0 : self->parser_->get().body().size();
                return error                                ? self->refuse(error)
                       : self->body_.is_counted(size_bytes) ? self->read_rest()
                                                            : self->refuse_body();
            });
    }

    void take_request() {
        if (is_closed_) {  // after its request had come: the handler would not be cancelled
            return;
        }
        idle_since_.reset();
        body_.reset();  // from now on kHandlersMax and kWaitingMax limit it
        ++shared_.requests;
        http::request<http::string_body> message = parser_->release();
        request_.body = std::move(message.body());
        if (is_upload_ && !refusal_) {
            shared_.upload_quota.count(request_.client, request_.body.size(), utc_now());
        }
        reply_ = std::make_shared<Reply>(std::move(request_), message.version(), message.keep_alive() && !is_old_,
                                         shared_.handlers->waiting_count(), [weak = weak_from_this()] {
                                             if (const auto self = weak.lock()) {
                                                 net::post(self->stream_.get_executor(), [self] { self->flush(); });
                                             }
                                         });
        stream_.plain().expires_never();
        watch_for_end();
        if (refusal_) {
            return reply_->send(std::move(*refusal_));
        }
        const auto& at_once = shared_.options.answer_at_once;
        if ((!at_once || !at_once(reply_->request(), *reply_)) &&
            !(is_upload_ ? shared_.uploads : shared_.handlers)->add(reply_)) {
            ++shared_.busy;
            reply_->send(busy_answer("too many requests wait"));
        }
    }

    // Cancels the handler when the client closes its connection.
    void watch_for_end() {
        stream_.socket().async_wait(net::socket_base::wait_read,
                                    [self = shared_from_this(), reply = reply_](beast::error_code error) {
                                        if (error || self->reply_ != reply) {
                                            return;
                                        }
                                        pollfd end{self->stream_.socket().native_handle(), POLLRDHUP, 0};
                                        if (::poll(&end, 1, 0) > 0) {
                                            return self->close();
                                        }
                                        // A next request has come, which would end each further wait at once.
                                        self->watch_again_.expires_after(kWatchAgainAfter);
                                        self->watch_again_.async_wait([self, reply](beast::error_code stopped) {
                                            return stopped || self->reply_ != reply ? void() : self->watch_for_end();
                                        });
                                    });
    }

    void flush() {
        if (is_writing_ || is_closed_ || reply_ == nullptr) {
            return;
        }
        if (sent_ == output_.size()) {
            output_ = reply_->take();
            sent_ = 0;
        }
        if (output_.empty()) {
            return reply_->is_finished() ? end_reply() : void();
        }
        is_writing_ = true;
        stream_.expires_after(HttpServer::kReplyNsMax);
        stream_.async_write_some(net::buffer(output_) + sent_,
                                 [self = shared_from_this()](beast::error_code error, std::size_t size) {
                                     self->is_writing_ = false;
                                     self->sent_ += size;
                                     return error ? self->drop(error) : self->flush();
                                 });
    }

    void end_reply() {
        const bool keeps_alive = reply_->keeps_alive();
        const bool is_whole = !reply_->is_aborted();
        reply_.reset();
        end_upload();
        beast::error_code ignored;
        stream_.socket().cancel(ignored);  // watch_for_end()
        if (keeps_alive && !is_old_) {
            return wait_for_request();
        }
        if (!is_whole || stream_.tls() == nullptr) {
            return close();
        }
        stream_.plain().expires_after(kGoodbyeTimeout);
        stream_.tls()->async_shutdown([self = shared_from_this()](beast::error_code) { self->close(); });
    }

    // Ends a connection whose request can't be read.
    void refuse(beast::error_code error) {
        const bool is_too_large = error == http::error::body_limit || error == http::error::header_limit;
        if (error.category() != http::make_error_code(http::error::bad_method).category() ||
            error == http::error::end_of_stream || error == http::error::partial_message) {
            return drop(error);
        }
        ++shared_.refused;
        end_with(
            error == http::error::header_limit
                ? plain_answer(http::status::request_header_fields_too_large,
                               "more than " + std::to_string(HttpServer::kHeaderSizeBytesMax) + " bytes of headers")
            : is_too_large ? plain_answer(http::status::payload_too_large,
                                          "more than " +
                                              std::to_string(is_upload_ ? HttpServer::kUploadSizeBytesMax
                                                                        : HttpServer::kBodySizeBytesMax) +
                                              " bytes of body")
                           : plain_answer(http::status::bad_request, "malformed request: " + error.message()));
    }

    void refuse_body() {
        ++shared_.refused;
        end_with(busy_answer("too many bodies are being read"));
    }

    void end_with(const HttpResponse& answer) {
        output_ = head_of(answer, 11, false, answer.body.size());
        output_ += request_.method == "HEAD" ? "" : answer.body;
        stream_.expires_after(HttpServer::kReplyNsMax);
        net::async_write(stream_, net::buffer(output_),
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             beast::error_code ignored;
                             self->stream_.socket().shutdown(net::socket_base::shutdown_send, ignored);
                             self->stream_.plain().expires_after(kGoodbyeTimeout);
                             return error ? self->close() : self->discard();
                         });
    }

    // Reads what the client still sends: else the end of the connection might overtake the answer.
    void discard() {
        buffer_.clear();
        stream_.plain().async_read_some(buffer_.prepare(kReadSizeBytes),
                                        [self = shared_from_this()](beast::error_code error, std::size_t) {
                                            return error ? self->close() : self->discard();
                                        });
    }

    void drop(beast::error_code error) {
        if (error == beast::error::timeout) {
            ++shared_.dropped;
        }
        close();
    }

    ClientStream stream_;
    net::steady_timer watch_again_{stream_.get_executor()};
    Shared& shared_;
    beast::flat_buffer buffer_{HttpServer::kHeaderSizeBytesMax + kReadSizeBytes};
    std::optional<http::request_parser<http::string_body>> parser_;
    std::optional<Clock::time_point> idle_since_;
    std::string certificate_name_;
    HttpRequest request_;  // that is being read
    HttpRole role_ = HttpRole::kRead;
    std::optional<HttpResponse> refusal_;  // of this request
    std::shared_ptr<Reply> reply_;
    CountedBody body_{shared_.body_size_bytes};
    std::string output_;
    std::size_t sent_ = 0;
    bool is_writing_ = false;
    bool is_closed_ = false;
    bool is_upload_ = false;  // counts in Shared::upload_count
    bool is_old_ = false;     // end_if_old()
};

class BeastServer final : public HttpServer {
public:
    BeastServer(FileDescriptor listening, HttpServerOptions options, HttpAccess access)
        : shared_{std::move(options), std::move(access)},
          acceptor_{io_, protocol_of(listening.get()), listening.release()},
          accept_again_{io_},
          refresh_{io_},
          handlers_{std::make_unique<Handlers>(shared_.options.handler, kHandlersMax, kWaitingMax)},
          uploads_{std::make_unique<Handlers>(shared_.options.handler, kUploadsMax, kUploadsMax)} {
        shared_.handlers = handlers_.get();
        shared_.uploads = uploads_.get();
        take_tls();
    }

    void start() override {
        accept();
        if (shared_.access.asks() || shared_.tls != nullptr) {
            refresh_later();
        }
        thread_ = std::thread{[this] { io_.run(); }};
    }

    ~BeastServer() override {
        std::promise<void> closed;  // from then on nothing is given to the handlers
        net::post(io_, [&] {
            is_stopping_ = true;
            acceptor_.close();
            accept_again_.cancel();
            refresh_.cancel();
            for (const auto& connection : connections_) {
                connection->close();
            }
            closed.set_value();
        });
        if (thread_.joinable()) {
            closed.get_future().wait();
        }
        handlers_.reset();
        uploads_.reset();
        io_.stop();
        if (thread_.joinable()) {
            thread_.join();
        }
        connections_.clear();
    }

    [[nodiscard]] HttpCounts counts() const override {
        return {shared_.requests, shared_.refused,     shared_.denied, shared_.unknown_tokens,
                shared_.busy,     shared_.connections, shared_.dropped};
    }

private:
    static net::generic::stream_protocol protocol_of(int listening_fd) {
        int family = AF_INET;
        socklen_t size = sizeof family;
        (void)::getsockopt(listening_fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
        return {family, 0};
    }

    void take_tls() {
        SSL_CTX* const context = shared_.access.tls().get();
        if (context != (shared_.tls == nullptr ? nullptr : shared_.tls->native_handle())) {
            SSL_CTX_up_ref(context);
            shared_.tls = std::make_shared<net::ssl::context>(context);
            for (const auto& connection : connections_) {
                connection->end_if_old();
            }
        }
    }

    void refresh_later() {
        refresh_.expires_after(std::chrono::nanoseconds{HttpAccess::kRefreshEveryNs});
        refresh_.async_wait([this](beast::error_code stopped) {
            if (stopped || is_stopping_) {
                return;
            }
            shared_.access.refresh();
            take_tls();
            if (Clock::now() - decayed_at_ >= std::chrono::nanoseconds{HttpServer::kFailedTokensNs}) {
                decayed_at_ = Clock::now();
                shared_.failed_tokens.decay();
            }
            refresh_later();
        });
    }

    void accept() {
        acceptor_.async_accept([this](beast::error_code error, net::generic::stream_protocol::socket socket) {
            if (is_stopping_) {
                return;
            }
            if (error) {
                accept_again_.expires_after(kAcceptAgainAfter);
                accept_again_.async_wait([this](beast::error_code stopped) { return stopped ? void() : accept(); });
                return;
            }
            ++shared_.connections;
            if (make_room()) {
                connections_.push_back(std::make_shared<Connection>(Stream{std::move(socket)}, shared_));
                connections_.back()->start();
            } else {
                ++shared_.dropped;
            }
            accept();
        });
    }

    // Closes the connection that has waited longest without a request, if there are too many.
    bool make_room() {
        std::erase_if(connections_, [](const auto& connection) { return connection->is_closed(); });
        if (connections_.size() < kConnectionsMax) {
            return true;
        }
        const auto idlest = std::ranges::min_element(connections_, {}, [](const auto& connection) {
            return connection->idle_since().value_or(Clock::time_point::max());
        });
        if (!(*idlest)->idle_since()) {
            return false;
        }
        (*idlest)->close();
        connections_.erase(idlest);
        ++shared_.dropped;
        return true;
    }

    Shared shared_;
    net::io_context io_{1};
    net::basic_socket_acceptor<net::generic::stream_protocol> acceptor_;
    net::steady_timer accept_again_;
    net::steady_timer refresh_;
    Clock::time_point decayed_at_ = Clock::now();
    std::list<std::shared_ptr<Connection>> connections_;
    bool is_stopping_ = false;
    std::unique_ptr<Handlers> handlers_;
    std::unique_ptr<Handlers> uploads_;
    std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::make(FileDescriptor listening_fd, HttpServerOptions options) {
    options.log = options.log ? std::move(options.log) : [](const LogEvent&) {};
    auto access = PERFLEET_TRY(HttpAccess::load(options.access, options.log));
    return std::unique_ptr<HttpServer>{
        std::make_unique<BeastServer>(std::move(listening_fd), std::move(options), std::move(access))};
}

}  // namespace perfleet
