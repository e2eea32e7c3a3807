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
        std::unordered_map<std::uint64_t, std::uint32_t> unanswered;  // ticket to the operator's own id
        std::deque<std::string> replies;                              // that found no room in the socket
        std::uint32_t watched_for = 0;
    };
    using Operators = std::unordered_map<int, Operator>;  // by descriptor

    ControlServer(std::string folder, FileDescriptor listen_fd, FileDescriptor epoll_fd);
    void let_in();
    // False: it is gone, or has to go.
    [[nodiscard]] bool read_from(Operator& from, Incoming& into);
    [[nodiscard]] bool write_to(Operator& to);
    void watch(Operator& one) const;
    void show_out(Operators::iterator one, Incoming& into);

    std::string folder_;
    FileDescriptor listen_fd_;
    FileDescriptor epoll_fd_;
    std::uint64_t last_ticket_ = 0;
    Operators operators_;
    std::unordered_map<std::uint64_t, int> owners_;  // ticket to descriptor
};

}  // namespace perfleet
