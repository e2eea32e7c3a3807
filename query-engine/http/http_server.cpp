#include "query-engine/http/http_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
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

class Connection;

// The answer to one request: filled by a handler's thread, sent by the server's.
class Reply final : public HttpReply {
public:
    Reply(HttpRequest request, unsigned version, bool keeps_alive, std::function<void()> flush)
        : request_{std::move(request)},
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
            pending_ = head_of(answer, version_, keeps_alive_, answer.body.size());
            pending_ += is_head_ ? "" : answer.body;
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
            drained_.wait(lock, [&] { return cancelled_ || pending_.size() < HttpServer::kReplyAheadBytes; });
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

private:
    enum class State : std::uint8_t { kNew, kStreaming, kFinished };

    HttpRequest request_;
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

// Runs handlers on kHandlersMax threads.
class Handlers {
public:
    explicit Handlers(HttpHandler handler) : handler_{std::move(handler)} {
        for (std::size_t i = 0; i < HttpServer::kHandlersMax; ++i) {
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
            if (waiting_.size() == HttpServer::kWaitingMax) {
                return false;
            }
            waiting_.push_back(std::move(reply));
        }
        changed_.notify_one();
        return true;
    }

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
            lock.unlock();
            if (!reply->cancelled()) {
                handler_(reply->request(), *reply);
            }
            reply->finish();
        }
    }

    HttpHandler handler_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Reply>> waiting_;
    bool is_stopping_ = false;
    std::vector<std::thread> threads_;
};

struct Shared {
    std::string host;  // that the server listens at
    std::string upload_path;
    std::size_t upload_count = 0;  // that are being received or answered; of the server's thread
    Handlers* handlers = nullptr;
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> busy = 0;
    std::atomic<std::uint64_t> connections = 0;
    std::atomic<std::uint64_t> dropped = 0;
    std::atomic<std::size_t> body_size_bytes = 0;  // of bodies that are being read

    // Names by which a browser can't have been led here by somebody's DNS.
    [[nodiscard]] bool is_own_host(std::string_view header) const {
        const std::size_t bracket = header.rfind(']');
        const std::size_t colon = header.rfind(':');
        const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
        const std::string_view name = has_port ? header.substr(0, colon) : header;
        return name == "localhost" || name == host || name == "[::1]" ||
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
    Connection(Stream stream, Shared& shared) : stream_{std::move(stream)}, shared_{shared} {}

    void start() { wait_for_request(); }

    // The time since which it has waited for a request; none: it has one.
    [[nodiscard]] std::optional<Clock::time_point> idle_since() const { return idle_since_; }
    [[nodiscard]] bool is_closed() const { return is_closed_; }

    void close() {
        is_closed_ = true;
        end_upload();
        if (reply_ != nullptr) {
            reply_->cancel();
        }
        beast::error_code ignored;
        stream_.socket().shutdown(net::socket_base::shutdown_both, ignored);
        stream_.close();
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
        stream_.expires_after(std::chrono::nanoseconds{HttpServer::kIdleNsMax});
        stream_.async_read_some(buffer_.prepare(kReadSizeBytes),
                                [self = shared_from_this()](beast::error_code error, std::size_t size) {
                                    self->buffer_.commit(size);
                                    return error ? self->drop(error) : self->read_head();
                                });
    }

    void read_head() {
        stream_.expires_after(std::chrono::nanoseconds{HttpServer::kRequestNsMax});
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](beast::error_code error, std::size_t) {
                                    return error ? self->refuse(error) : self->read_body();
                                });
    }

    [[nodiscard]] bool may_upload() const {
        const std::string_view target{parser_->get().target().data(), parser_->get().target().size()};
        return !shared_.upload_path.empty() && target.substr(0, target.find('?')) == shared_.upload_path;
    }

    void read_body() {
        if (may_upload()) {
            if (shared_.upload_count == HttpServer::kUploadsMax) {
                ++shared_.busy;
                HttpResponse busy = plain_answer(http::status::service_unavailable, "too many uploads; try again");
                busy.headers.emplace_back("Retry-After", "1");
                return end_with(busy);
            }
            ++shared_.upload_count;
            is_upload_ = true;
            stream_.expires_after(std::chrono::nanoseconds{HttpServer::kUploadNsMax});
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
        if (is_closed_) {  // after its request had come: nobody would cancel the handler
            return;
        }
        idle_since_.reset();
        body_.reset();  // from now on kHandlersMax and kWaitingMax limit it
        ++shared_.requests;
        http::request<http::string_body> message = parser_->release();
        HttpRequest request;
        request.method = std::string{message.method_string()};
        for (const auto& field : message) {
            std::string name{field.name_string()};
            std::ranges::transform(name, name.begin(),
                                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
            request.headers.emplace_back(std::move(name), std::string{field.value()});
        }
        const auto target = read_target({message.target().data(), message.target().size()}, request);
        request.body = std::move(message.body());
        const std::string host{request.header("host")};
        reply_ = std::make_shared<Reply>(std::move(request), message.version(), message.keep_alive(),
                                         [weak = weak_from_this()] {
                                             if (const auto self = weak.lock()) {
                                                 net::post(self->stream_.get_executor(), [self] { self->flush(); });
                                             }
                                         });
        stream_.expires_never();
        watch_for_end();
        if (!target.ok()) {
            ++shared_.refused;
            reply_->send(plain_answer(http::status::bad_request, target.error().message));
        } else if (!shared_.is_own_host(host)) {
            ++shared_.refused;
            reply_->send(plain_answer(http::status::misdirected_request,
                                      "this server is " + shared_.host + ", not " + host.substr(0, 256)));
        } else if (!shared_.handlers->add(reply_)) {
            ++shared_.busy;
            HttpResponse busy = plain_answer(http::status::service_unavailable, "too many requests wait; try again");
            busy.headers.emplace_back("Retry-After", "1");
            reply_->send(std::move(busy));
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
        stream_.expires_after(std::chrono::nanoseconds{HttpServer::kReplyNsMax});
        stream_.async_write_some(net::buffer(output_) + sent_,
                                 [self = shared_from_this()](beast::error_code error, std::size_t size) {
                                     self->is_writing_ = false;
                                     self->sent_ += size;
                                     return error ? self->drop(error) : self->flush();
                                 });
    }

    void end_reply() {
        const bool keeps_alive = reply_->keeps_alive();
        reply_.reset();
        end_upload();
        beast::error_code ignored;
        stream_.socket().cancel(ignored);  // watch_for_end()
        if (!keeps_alive) {
            return close();
        }
        wait_for_request();
    }

    // Ends a connection whose request can't be read.
    void refuse(beast::error_code error) {
        const bool is_too_large = error == http::error::body_limit || error == http::error::header_limit;
        if (error.category() != http::make_error_code(http::error::bad_method).category() ||
            error == http::error::end_of_stream || error == http::error::partial_message) {
            return drop(error);
        }
        end_with(
            error == http::error::header_limit
                ? plain_answer(http::status::request_header_fields_too_large,
                               "more than " + std::to_string(HttpServer::kHeaderSizeBytesMax) + " bytes of headers")
            : is_too_large ? plain_answer(http::status::payload_too_large,
                                          "more than " +
                                              std::to_string(may_upload() ? HttpServer::kUploadSizeBytesMax
                                                                          : HttpServer::kBodySizeBytesMax) +
                                              " bytes of body")
                           : plain_answer(http::status::bad_request, "malformed request: " + error.message()));
    }

    void refuse_body() {
        HttpResponse busy =
            plain_answer(http::status::service_unavailable, "too many bodies are being read; try again");
        busy.headers.emplace_back("Retry-After", "1");
        end_with(busy);
    }

    void end_with(const HttpResponse& answer) {
        ++shared_.refused;
        output_ = head_of(answer, 11, false, answer.body.size()) + answer.body;
        stream_.expires_after(std::chrono::nanoseconds{HttpServer::kReplyNsMax});
        net::async_write(stream_, net::buffer(output_),
                         [self = shared_from_this()](beast::error_code, std::size_t) { self->close(); });
    }

    void drop(beast::error_code error) {
        if (error == beast::error::timeout) {
            ++shared_.dropped;
        }
        close();
    }

    Stream stream_;
    net::steady_timer watch_again_{stream_.get_executor()};
    Shared& shared_;
    beast::flat_buffer buffer_{HttpServer::kHeaderSizeBytesMax + kReadSizeBytes};
    std::optional<http::request_parser<http::string_body>> parser_;
    std::optional<Clock::time_point> idle_since_;
    std::shared_ptr<Reply> reply_;
    CountedBody body_{shared_.body_size_bytes};
    std::string output_;
    std::size_t sent_ = 0;
    bool is_writing_ = false;
    bool is_closed_ = false;
    bool is_upload_ = false;  // counts in Shared::upload_count
};

class BeastServer final : public HttpServer {
public:
    BeastServer(FileDescriptor listening, std::string host, HttpHandler handler, std::string upload_path)
        : acceptor_{io_, net::generic::stream_protocol{AF_INET, 0}, listening.release()},
          accept_again_{io_},
          handlers_{std::make_unique<Handlers>(std::move(handler))} {
        shared_.host = std::move(host);
        shared_.upload_path = std::move(upload_path);
        shared_.handlers = handlers_.get();
    }

    void start() override {
        accept();
        thread_ = std::thread{[this] { io_.run(); }};
    }

    ~BeastServer() override {
        std::promise<void> closed;  // from then on nothing is given to the handlers
        net::post(io_, [&] {
            is_stopping_ = true;
            acceptor_.close();
            accept_again_.cancel();
            for (const auto& connection : connections_) {
                connection->close();
            }
            closed.set_value();
        });
        if (thread_.joinable()) {
            closed.get_future().wait();
        }
        handlers_.reset();
        io_.stop();
        if (thread_.joinable()) {
            thread_.join();
        }
        connections_.clear();
    }

    [[nodiscard]] HttpCounts counts() const override {
        return {shared_.requests, shared_.refused, shared_.busy, shared_.connections, shared_.dropped};
    }

private:
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
    std::list<std::shared_ptr<Connection>> connections_;
    bool is_stopping_ = false;
    std::unique_ptr<Handlers> handlers_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<HttpServer> HttpServer::make(FileDescriptor listening_fd, std::string host, HttpHandler handler,
                                             std::string upload_path) {
    return std::make_unique<BeastServer>(std::move(listening_fd), std::move(host), std::move(handler),
                                         std::move(upload_path));
}

}  // namespace perfleet
