// Operators' connections to a gateway: their requests come in, answers go out. Who isn't the gateway's own user or root
// is shown out, and so is who says what isn't understood.
//
// One thread; nothing waits. Bounded: so many operators, and of each so many requests without an answer; more of them
// stay in the socket until there is room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/control/operator_message.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class ControlServer {
public:
    static constexpr std::size_t kOperatorsMax = 16;
    static constexpr std::size_t kUnansweredMax = 128;  // requests of one operator

    // Errors: kIo, kPermission.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> open(const std::string& folder);
    ~ControlServer();
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;

    // Readable when take() has something to do.
    [[nodiscard]] int fd() const { return epoll_fd_; }

    // A request's ticket is never used again.
    struct Incoming {
        std::vector<std::pair<std::uint64_t, OperatorCommand>> requests;
        std::vector<std::uint64_t> withdrawn;  // tickets of operators that are gone
    };
    [[nodiscard]] Incoming take();

    // To a request that was taken. Nothing happens when its operator is gone.
    void answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason);

private:
    struct Operator {
        int fd = -1;
        std::unordered_map<std::uint64_t, std::uint32_t> unanswered;  // ticket to the operator's own id
        std::deque<std::string> replies;                              // that found no room in the socket
        std::uint32_t watched_for = 0;
    };
    using Operators = std::unordered_map<int, Operator>;  // by descriptor

    ControlServer(std::string folder, int listen_fd, int epoll_fd);
    void let_in();
    // False: it is gone, or has to go.
    [[nodiscard]] bool read_from(Operator& from, Incoming& into);
    [[nodiscard]] bool write_to(Operator& to);
    void watch(Operator& one) const;
    void show_out(Operators::iterator one, Incoming& into);

    std::string folder_;
    int listen_fd_;
    int epoll_fd_;
    std::uint64_t last_ticket_ = 0;
    Operators operators_;
    std::unordered_map<std::uint64_t, int> owners_;  // ticket to descriptor
};

}  // namespace perfleet
