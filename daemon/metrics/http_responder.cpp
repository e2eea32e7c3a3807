#include "daemon/metrics/http_responder.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr int kAcceptedAtOnceMax = 64;
constexpr int kLookEveryMs = 100;

std::string response(std::string_view status, std::string_view content_type, std::string_view body) {
    return std::string{"HTTP/1.1 "}
        .append(status)
        .append("\r\nContent-Type: ")
        .append(content_type)
        .append("\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n")
        .append(body);
}

}  // namespace

HttpResponder::HttpResponder(FileDescriptor listening_fd, Handler handler)
    : listening_fd_{std::move(listening_fd)}, handler_{std::move(handler)} {
    thread_ = std::thread{[this] { run(); }};
}

HttpResponder::~HttpResponder() {
    stop_event_.signal();
    thread_.join();
}

void HttpResponder::run() {
    std::vector<pollfd> items;
    while (true) {
        items = {{stop_event_.fd(), POLLIN, 0}, {listening_fd_.get(), POLLIN, 0}};
        for (const Connection& connection : connections_) {
            items.push_back({connection.fd.get(), static_cast<short>(connection.answer.empty() ? POLLIN : POLLOUT), 0});
        }
        (void)::poll(items.data(), items.size(), connections_.empty() ? -1 : kLookEveryMs);
        if (items[0].revents != 0) {
            return;
        }
        const std::uint64_t now_ns = monotonic_now_ns();
        for (std::size_t i = connections_.size(); i > 0; --i) {
            Connection& connection = connections_[i - 1];
            if (items[i + 1].revents != 0 && serve(connection)) {
                connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i - 1));
            } else if (now_ns - connection.accepted_ns > kRequestNsMax) {
                drop(i - 1);
            }
        }
        if (items[1].revents != 0) {
            accept();
        }
    }
}

void HttpResponder::accept() {
    for (int i = 0; i < kAcceptedAtOnceMax; ++i) {
        Connection connection;
        connection.fd.reset(::accept4(listening_fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!connection.fd) {
            return;
        }
        connection.accepted_ns = monotonic_now_ns();
        // A complete request is answered at once, so its connection doesn't have to wait.
        if (serve(connection)) {
            continue;
        }
        if (connections_.size() >= kConnectionsMax) {
            // xorshift64: guessing it gains nothing.
            drop(random_() % connections_.size());
        }
        connections_.push_back(std::move(connection));
    }
}

void HttpResponder::drop(std::size_t index) {
    ++dropped_count_;
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(index));
}

bool HttpResponder::serve(Connection& connection) {
    char bytes[kRequestSizeBytesMax];
    while (connection.answer.empty()) {
        const ssize_t got = ::recv(connection.fd.get(), bytes, sizeof bytes - connection.request.size(), 0);
        if (got <= 0) {
            const bool is_over = got == 0 || (errno != EAGAIN && errno != EINTR);
            dropped_count_ += is_over ? 1 : 0;
            return is_over;
        }
        connection.request.append(bytes, static_cast<std::size_t>(got));
        if (connection.request.find("\r\n\r\n") != std::string::npos) {
            connection.answer = answer_to(connection.request);
            connection.request = {};
        } else if (connection.request.size() == kRequestSizeBytesMax) {
            ++dropped_count_;
            return true;
        }
    }
    while (connection.sent < connection.answer.size()) {
        const ssize_t sent = ::send(connection.fd.get(), connection.answer.data() + connection.sent,
                                    connection.answer.size() - connection.sent, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno != EAGAIN && errno != EINTR;
        }
        connection.sent += static_cast<std::size_t>(sent);
    }
    return true;
}

std::string HttpResponder::answer_to(std::string_view request) const {
    constexpr std::string_view kGet = "GET ";
    const std::string_view line = request.substr(0, request.find("\r\n"));
    const std::size_t end = line.rfind(" HTTP/1.");
    if (end == std::string_view::npos || end < kGet.size()) {
        return response("400 Bad Request", "text/plain", "not an HTTP/1 request\n");
    }
    if (!line.starts_with(kGet)) {
        return response("405 Method Not Allowed", "text/plain", "GET alone\n");
    }
    const std::string_view target = line.substr(kGet.size(), end - kGet.size());
    const Answer answer = handler_(target.substr(0, target.find('?')));
    return answer.status == 200 ? response("200 OK", answer.content_type, answer.body)
                                : response("404 Not Found", "text/plain", "not found; try /metrics\n");
}

}  // namespace perfleet
