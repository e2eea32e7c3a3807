#include "tools/perfleet/session/control_line.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "gateway/control/control_server.h"
#include "gateway/control/control_socket.h"
#include "schemas/host/file_descriptor.h"
#include "storage/engine/request_box.h"
#include "storage/key/domain.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"

namespace perfleet {
namespace {

// The gateway answers within the operator's timeout; this much later, it must be stuck or stopped.
constexpr int kGatewayTimeoutMs = 10'000;

Error hung_up(std::size_t answered, std::size_t asked) {
    return {ErrorCode::kUnavailable, "the gateway has ended, or has too many operators; " + std::to_string(answered) +
                                         " of " + std::to_string(asked) +
                                         " sessions have answered, the others may have done it: perfleet "
                                         "sessions shows their state"};
}

class SocketLine final : public ControlLine {
public:
    explicit SocketLine(FileDescriptor fd) : fd_{std::move(fd)} {}

    Result<std::vector<Answered>> ask(const std::vector<SessionRecord>& sessions, OperatorCommand order) override;

private:
    FileDescriptor fd_;
};

Result<std::vector<Answered>> SocketLine::ask(const std::vector<SessionRecord>& sessions, OperatorCommand order) {
    std::vector<Answered> answers;
    std::size_t sent = 0;
    const int timeout_ms = static_cast<int>(order.timeout_ns / 1'000'000) + kGatewayTimeoutMs;
    while (answers.size() < sessions.size()) {
        if (sent < sessions.size() && sent - answers.size() < ControlServer::kUnansweredMax) {
            order.session = sessions[sent].session;
            const std::string line = encode_operator_request({static_cast<std::uint32_t>(sent), order});
            if (::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) {
                return hung_up(answers.size(), sessions.size());
            }
            ++sent;
            continue;
        }
        pollfd waiting{fd_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, timeout_ms) <= 0) {
            return Error{ErrorCode::kUnavailable, "the gateway doesn't answer"};
        }
        std::array<char, kOperatorMessageSizeBytesMax> line{};
        const ssize_t size = ::recv(fd_.get(), line.data(), line.size(), 0);
        if (size <= 0) {
            return hung_up(answers.size(), sessions.size());
        }
        auto reply = PERFLEET_TRY(decode_operator_reply({line.data(), static_cast<std::size_t>(size)}));
        if (reply.id >= sent) {
            return Error{ErrorCode::kInvalid, "the gateway sent an answer without a request"};
        }
        answers.push_back({sessions[reply.id], std::move(reply)});
    }
    return answers;
}

// Sends requests through the store that gateways share.
class SharedLine final : public ControlLine {
public:
    SharedLine(std::unique_ptr<RequestBox> box, ShardCount shards) : box_{std::move(box)}, shards_{shards} {}

    Result<std::vector<Answered>> ask(const std::vector<SessionRecord>& sessions, OperatorCommand order) override {
        const std::chrono::nanoseconds timeout{order.timeout_ns};
        const auto until = std::chrono::steady_clock::now() + timeout + std::chrono::milliseconds{kGatewayTimeoutMs};
        std::vector<Answered> answers;
        std::map<std::string, std::size_t> asked;  // by id
        std::size_t sent = 0;
        while (answers.size() < sessions.size() && std::chrono::steady_clock::now() < until) {
            if (sent < sessions.size() && asked.size() < ControlServer::kUnansweredMax) {
                PERFLEET_TRY(send(sessions, order, sent, asked));
            }
            std::this_thread::sleep_for(kLookAgain);
            auto some = PERFLEET_TRY(box_->take_answers());
            for (const auto& [id, text] : some) {
                const std::size_t index = asked.extract(id).mapped();
                auto reply = PERFLEET_TRY(decode_operator_reply(text));
                answers.push_back({sessions[index], std::move(reply)});
            }
        }
        for (const auto& [id, index] : asked) {
            answers.push_back({sessions[index], {0, RequestOutcome::kNoAnswer, kNobody}});
        }
        for (std::size_t index = sent; index < sessions.size(); ++index) {
            answers.push_back({sessions[index], {0, RequestOutcome::kNoAnswer, "it was not sent in time"}});
        }
        PERFLEET_TRY(box_->withdraw());
        return answers;
    }

private:
    static constexpr std::chrono::milliseconds kLookAgain{200};
    static constexpr const char* kNobody =
        "none of a gateway that holds its target's shard; if one took the request, it may have been applied";

    [[nodiscard]] Result<Done> send(const std::vector<SessionRecord>& sessions, OperatorCommand& order,
                                    std::size_t& sent, std::map<std::string, std::size_t>& asked) {
        const std::size_t count = std::min(ControlServer::kUnansweredMax - asked.size(), sessions.size() - sent);
        std::vector<RequestBox::Request> requests;
        for (std::size_t i = 0; i < count; ++i) {
            const SessionRecord& session = sessions[sent + i];
            order.session = session.session;
            requests.push_back({shard_of(session.target, shards_),
                                encode_operator_request({static_cast<std::uint32_t>(sent + i), order})});
        }
        const auto ids = PERFLEET_TRY(box_->post(requests));
        for (const std::string& id : ids) {
            asked.emplace(id, sent++);
        }
        return Done{};
    }

    std::unique_ptr<RequestBox> box_;
    ShardCount shards_;
};

}  // namespace

Result<std::unique_ptr<ControlLine>> ControlLine::open(const std::string& where) {
    if (is_folder(where)) {
        auto fd = PERFLEET_TRY(connect_control_socket(where));
        return Result<std::unique_ptr<ControlLine>>{std::make_unique<SocketLine>(std::move(fd))};
    }
    const auto store = PERFLEET_TRY(open_store_reader(where));
    auto box = PERFLEET_TRY(open_request_box(where));
    return Result<std::unique_ptr<ControlLine>>{std::make_unique<SharedLine>(std::move(box), store->shards())};
}

Result<std::vector<Answered>> ask_writer(const std::string& where, const std::vector<SessionRecord>& sessions,
                                         const OperatorCommand& order) {
    const auto line = ControlLine::open(where);
    if (!line.ok()) {
        return Error{ErrorCode::kBusy, where +
                                           ": a process that takes no requests writes there; try again when it has "
                                           "ended (" +
                                           line.error().message + ")"};
    }
    return (*line)->ask(sessions, order);
}

}  // namespace perfleet
