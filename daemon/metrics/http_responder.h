// Answers `GET PATH` over HTTP/1.1, one request a connection, on a thread of its own.
//
// Bounded: kConnectionsMax connections, each with a request of at most kRequestSizeBytesMax and one answer. A
// connection that hasn't sent its request or read its answer within kRequestNsMax is closed. For one connection more, a
// random one of those that haven't sent their request is closed: a flood mostly hits itself, and a client that sends
// its request at once is served.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class HttpResponder : NonCopyable {
public:
    static constexpr std::size_t kConnectionsMax = 64;
    static constexpr std::size_t kRequestSizeBytesMax = 8U << 10;
    static constexpr std::uint64_t kRequestNsMax = 1'000'000'000;

    struct Answer {
        int status = 404;  // or 200
        std::string content_type;
        std::string body;
    };
    // Called on the thread.
    using Handler = std::function<Answer(std::string_view path)>;

    // `listening_fd` must be bound, listening and non-blocking.
    HttpResponder(FileDescriptor listening_fd, Handler handler);
    ~HttpResponder();

    // Connections that were closed before they got an answer. From any thread.
    [[nodiscard]] std::uint64_t dropped_count() const { return dropped_count_; }

private:
    struct Connection {
        FileDescriptor fd;
        std::uint64_t accepted_ns = 0;
        std::string request;
        std::string answer;  // the unsent rest, from `sent` on; empty: the request is incomplete
        std::size_t sent = 0;
    };

    void run();
    void accept();
    // True: the connection is finished.
    [[nodiscard]] bool serve(Connection& connection);
    void drop(std::size_t index);
    [[nodiscard]] std::string answer_to(std::string_view request) const;

    FileDescriptor listening_fd_;
    WakeEvent stop_event_;
    Handler handler_;
    std::vector<Connection> connections_;
    std::minstd_rand random_{std::random_device{}()};
    std::atomic<std::uint64_t> dropped_count_{0};
    std::thread thread_;
};

}  // namespace perfleet
