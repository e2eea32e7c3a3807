#include "tools/perfleet/control_line.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "gateway/control/control_server.h"

namespace perfleet {
namespace {

// The gateway answers within the operator's timeout; longer than this beyond it, it is stuck or stopped.
constexpr int kGatewayTimeoutMs = 10'000;

Error hung_up(std::size_t answered, std::size_t asked) {
    return {ErrorCode::kUnavailable, "the gateway has ended, or has too many operators; " + std::to_string(answered) +
                                         " of " + std::to_string(asked) +
                                         " sessions have answered, the others may have done it: perfleet "
                                         "sessions shows their state"};
}

}  // namespace

ControlLine::~ControlLine() { ::close(fd_); }

Result<std::vector<Answered>> ControlLine::ask(const std::vector<SessionRecord>& sessions, OperatorCommand order) {
    std::vector<Answered> answers;
    std::size_t sent = 0;
    const int timeout_ms = static_cast<int>(order.timeout_ns / 1'000'000) + kGatewayTimeoutMs;
    while (answers.size() < sessions.size()) {
        if (sent < sessions.size() && sent - answers.size() < ControlServer::kUnansweredMax) {
            order.session = sessions[sent].session;
            const std::string line = encode_operator_request({static_cast<std::uint32_t>(sent), order});
            if (::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) < 0) {
                return hung_up(answers.size(), sessions.size());
            }
            ++sent;
            continue;
        }
        pollfd waiting{fd_, POLLIN, 0};
        if (::poll(&waiting, 1, timeout_ms) <= 0) {
            return Error{ErrorCode::kUnavailable, "the gateway doesn't answer"};
        }
        std::array<char, kOperatorMessageSizeBytesMax> line{};
        const ssize_t size = ::recv(fd_, line.data(), line.size(), 0);
        if (size <= 0) {
            return hung_up(answers.size(), sessions.size());
        }
        auto reply = PERFLEET_TRY(decode_operator_reply({line.data(), static_cast<std::size_t>(size)}));
        if (reply.id >= sent) {
            return Error{ErrorCode::kInvalid, "the gateway answers what it wasn't asked"};
        }
        answers.push_back({sessions[reply.id], std::move(reply)});
    }
    return answers;
}

}  // namespace perfleet
