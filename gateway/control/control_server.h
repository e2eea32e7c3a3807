// Operators' connections to a gateway: receives their requests and sends the answers. Only root and the gateway's own
// user may connect. A client that sends an invalid message is disconnected.
//
// One thread; no call blocks. Bounded: kOperatorsMax operators, and kUnansweredMax requests of each without an answer;
// further requests stay in the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "gateway/control/request_source.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class ControlServer final : public RequestSource {
public:
    static constexpr std::size_t kOperatorsMax = 16;
    static constexpr std::size_t kUnansweredMax = 128;  // requests of one operator

    // Errors: kIo, kPermission.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> open(const std::string& folder);
    ~ControlServer() override;

    [[nodiscard]] int fd() const override { return epoll_fd_.get(); }
    [[nodiscard]] Incoming take() override;
    void answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason) override;

private:
    struct Operator {
        FileDescriptor fd;
        std::unordered_map<std::uint64_t, std::uint32_t> unanswered;  // ticket to the operator's own request id
        std::deque<std::string> replies;                              // that the socket had no space for
        std::uint32_t watched_for = 0;
    };
    using Operators = std::unordered_map<int, Operator>;  // by descriptor

    ControlServer(std::string folder, FileDescriptor listen_fd, FileDescriptor epoll_fd);
    void accept_operators();
    // False: the operator has disconnected, or must be disconnected.
    [[nodiscard]] bool read_from(Operator& from, Incoming& into);
    [[nodiscard]] bool write_to(Operator& to);
    void watch(Operator& one) const;
    void disconnect(Operators::iterator one, Incoming& into);

    std::string folder_;
    FileDescriptor listen_fd_;
    FileDescriptor epoll_fd_;
    std::uint64_t last_ticket_ = 0;
    Operators operators_;
    std::unordered_map<std::uint64_t, int> owners_;  // ticket to descriptor
};

}  // namespace perfleet
