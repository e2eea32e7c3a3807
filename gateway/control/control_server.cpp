#include "gateway/control/control_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "gateway/control/control_socket.h"

namespace perfleet {

Result<std::unique_ptr<ControlServer>> ControlServer::open(const std::string& folder) {
    FileDescriptor listen_fd = PERFLEET_TRY(listen_control_socket(folder));
    FileDescriptor epoll_fd{::epoll_create1(EPOLL_CLOEXEC)};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = listen_fd.get();
    if (!epoll_fd || ::epoll_ctl(epoll_fd.get(), EPOLL_CTL_ADD, listen_fd.get(), &event) != 0) {
        return error_from_errno(errno, "can't wait for operators");
    }
    return std::unique_ptr<ControlServer>{new ControlServer{folder, std::move(listen_fd), std::move(epoll_fd)}};
}

ControlServer::ControlServer(std::string folder, FileDescriptor listen_fd, FileDescriptor epoll_fd)
    : folder_{std::move(folder)}, listen_fd_{std::move(listen_fd)}, epoll_fd_{std::move(epoll_fd)} {}

ControlServer::~ControlServer() { remove_control_socket(folder_); }

ControlServer::Incoming ControlServer::take() {
    Incoming incoming;
    std::array<epoll_event, kOperatorsMax + 1> events{};
    const int count = ::epoll_wait(epoll_fd_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == listen_fd_.get()) {
            accept_operators();
            continue;
        }
        const auto one = operators_.find(fd);
        if (one == operators_.end()) {
            continue;
        }
        // A client that has hung up gets no answer, whatever it has sent before.
        const bool is_there = (events[static_cast<std::size_t>(i)].events & (EPOLLHUP | EPOLLERR)) == 0;
        if (is_there && write_to(one->second) && read_from(one->second, incoming)) {
            watch(one->second);
        } else {
            disconnect(one, incoming);
        }
    }
    return incoming;
}

void ControlServer::accept_operators() {
    for (;;) {
        FileDescriptor fd{::accept4(listen_fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (!fd) {
            return;
        }
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd.get();
        if (operators_.size() < kOperatorsMax && is_own_peer(fd.get()) &&
            ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0) {
            Operator& one = operators_[fd.get()];
            one.watched_for = event.events;
            one.fd = std::move(fd);
        }
    }
}

bool ControlServer::read_from(Operator& from, Incoming& into) {
    std::array<char, kOperatorMessageSizeBytesMax + 1> line{};
    while (from.unanswered.size() + from.replies.size() < kUnansweredMax) {
        const ssize_t size = ::recv(from.fd.get(), line.data(), line.size(), 0);
        if (size < 0 && errno == EAGAIN) {
            return true;
        }
        if (size <= 0) {
            return false;
        }
        auto request = decode_operator_request({line.data(), static_cast<std::size_t>(size)});
        if (!request.ok()) {
            return false;
        }
        from.unanswered.emplace(++last_ticket_, request->id);
        owners_.emplace(last_ticket_, from.fd.get());
        into.requests.emplace_back(last_ticket_, std::move(request->order));
    }
    return true;
}

void ControlServer::answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason) {
    const auto owner = owners_.find(ticket);
    if (owner == owners_.end()) {
        return;
    }
    Operator& to = operators_.at(owner->second);
    owners_.erase(owner);
    const auto unanswered = to.unanswered.find(ticket);
    to.replies.push_back(encode_operator_reply({unanswered->second, outcome, std::move(reason)}));
    to.unanswered.erase(unanswered);
    if (write_to(to)) {
        watch(to);
    }  // otherwise the next take() notices the lost client
}

bool ControlServer::write_to(Operator& to) {
    while (!to.replies.empty()) {
        const std::string& reply = to.replies.front();
        if (::send(to.fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL) < 0) {
            return errno == EAGAIN;
        }
        to.replies.pop_front();
    }
    return true;
}

// A client with kUnansweredMax requests or unread replies isn't read until it has fewer.
void ControlServer::watch(Operator& one) const {
    const bool has_room = one.unanswered.size() + one.replies.size() < kUnansweredMax;
    const std::uint32_t wanted = (has_room ? EPOLLIN : 0U) | (one.replies.empty() ? 0U : EPOLLOUT);
    if (wanted == one.watched_for) {
        return;
    }
    epoll_event event{};
    event.events = one.watched_for = wanted;
    event.data.fd = one.fd.get();
    ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_MOD, one.fd.get(), &event);
}

void ControlServer::disconnect(Operators::iterator one, Incoming& into) {
    for (const auto& [ticket, id] : one->second.unanswered) {
        into.withdrawn.push_back(ticket);
        owners_.erase(ticket);
    }
    operators_.erase(one);
}

}  // namespace perfleet
