#include "gateway/wire/reception.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "gateway/wire/monotonic_clock.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kIdleNs = 1'000'000'000;

void raise(int fd) {
    const std::uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);  // full: it is raised
}

void lower(int fd) {
    std::uint64_t count = 0;
    (void)!read(fd, &count, sizeof count);
}

}  // namespace

void Reception::Replies::add(std::string_view routing_id, std::span<const std::byte> frame) {
    const auto id = std::as_bytes(std::span{routing_id});
    bytes.insert(bytes.end(), id.begin(), id.end());
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    sizes.emplace_back(static_cast<std::uint32_t>(routing_id.size()), static_cast<std::uint32_t>(frame.size()));
}

void Reception::Replies::clear() {
    bytes.clear();
    sizes.clear();
}

Reception::Reception(std::unique_ptr<Router> router, std::size_t inbox_size_bytes)
    : router_{std::move(router)}, inbox_{inbox_size_bytes} {}

Result<std::unique_ptr<Reception>> Reception::open(std::unique_ptr<Router> router, std::size_t inbox_size_bytes) {
    std::unique_ptr<Reception> reception{new Reception{std::move(router), inbox_size_bytes}};
    reception->door_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    reception->inbox_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reception->door_fd_ < 0 || reception->inbox_fd_ < 0) {
        return error_from_errno(errno, "eventfd");
    }
    reception->thread_ = std::thread{[at = reception.get()] { at->run(); }};
    return reception;
}

Reception::~Reception() {
    if (thread_.joinable()) {
        flush();
        {
            const std::lock_guard lock{mutex_};
            is_over_ = true;
        }
        raise(door_fd_);
        thread_.join();
    }
    for (const int fd : {door_fd_, inbox_fd_}) {
        if (fd >= 0) {
            close(fd);
        }
    }
}

// -- the user's thread
// ------------------------------------------------------------------------------------------------

std::optional<InboxMessage> Reception::take() {
    const std::lock_guard lock{mutex_};
    return inbox_.take();
}

void Reception::send(std::string_view routing_id, std::span<const std::byte> frame) {
    if (replies_gathered_.size_bytes() + frame.size() > kRepliesSizeBytesMax) {
        ++replies_dropped_;
        return;
    }
    replies_gathered_.add(routing_id, frame);
}

void Reception::cut(const InboxMessage& message) {
    router_->cut(message.connection());
    const std::lock_guard lock{mutex_};
    messages_dropped_ += inbox_.forget(message.routing_id());
}

void Reception::flush() {
    if (replies_gathered_.sizes.empty()) {
        return;
    }
    {
        const std::lock_guard lock{mutex_};
        if (replies_due_.sizes.empty()) {
            std::swap(replies_due_, replies_gathered_);
        } else if (replies_due_.size_bytes() + replies_gathered_.size_bytes() <= kRepliesSizeBytesMax) {
            replies_due_.bytes.insert(replies_due_.bytes.end(), replies_gathered_.bytes.begin(),
                                      replies_gathered_.bytes.end());
            replies_due_.sizes.insert(replies_due_.sizes.end(), replies_gathered_.sizes.begin(),
                                      replies_gathered_.sizes.end());
        } else {
            replies_dropped_ += replies_gathered_.sizes.size();
        }
    }
    replies_gathered_.clear();
    raise(door_fd_);
}

std::vector<std::string> Reception::take_gone() {
    const std::lock_guard lock{mutex_};
    return std::exchange(gone_, {});
}

void Reception::wait(int wake_fd, std::uint64_t timeout_ns) {
    {
        const std::lock_guard lock{mutex_};
        if (!inbox_.is_empty()) {
            return;
        }
        is_waited_for_ = true;
    }
    std::array<pollfd, 2> fds{{{inbox_fd_, POLLIN, 0}, {wake_fd, POLLIN, 0}}};
    timespec timeout{};
    timeout.tv_sec = static_cast<std::time_t>(timeout_ns / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
    ppoll(fds.data(), fds.size(), &timeout, nullptr);
    const std::lock_guard lock{mutex_};
    is_waited_for_ = false;
    lower(inbox_fd_);
}

Reception::Counts Reception::counts() const {
    Counts counts;
    counts.messages_dropped = messages_dropped_;
    counts.replies_dropped = replies_dropped_;
    const std::lock_guard lock{mutex_};
    counts.inbox_bytes = inbox_.size_bytes();
    return counts;
}

// -- the door's thread
// ------------------------------------------------------------------------------------------------

void Reception::run() {
    for (;;) {
        const bool more = receive_some();
        bool is_over = false;
        {
            const std::lock_guard lock{mutex_};
            std::swap(replies_due_, replies_going_);
            is_over = is_over_;
        }
        send_replies();
        if (is_over) {
            return;
        }
        if (!more) {
            router_->wait(door_fd_, kIdleNs);
            lower(door_fd_);
        }
    }
}

// True when there may be more.
bool Reception::receive_some() {
    for (int i = 0; i < kMessagesAtOnceMax; ++i) {
        const Router::Message message = router_->receive();
        if (message.sort == Router::Message::Sort::kNothing) {
            return false;
        }
        if (message.sort == Router::Message::Sort::kRefused) {
            continue;
        }
        const bool is_frame = message.sort == Router::Message::Sort::kFrame;
        bool has_room = false;
        {
            const std::lock_guard lock{mutex_};
            has_room = inbox_.has_room(message.routing_id, is_frame ? message.frame.size() : 0);
        }
        if (!has_room) {
            ++messages_dropped_;
            continue;
        }
        // Copied without the lock: the room can only grow meanwhile.
        InboxMessage copy{message.routing_id,
                          is_frame ? std::optional{message.frame} : std::nullopt,
                          {message.peer, message.connection, monotonic_now_ns(), message.is_local}};
        const std::lock_guard lock{mutex_};
        inbox_.put(std::move(copy));
        if (is_waited_for_) {
            is_waited_for_ = false;
            raise(inbox_fd_);
        }
    }
    return true;
}

void Reception::send_replies() {
    const std::byte* at = replies_going_.bytes.data();
    for (const auto& [id_size, frame_size] : replies_going_.sizes) {
        const std::string_view routing_id{reinterpret_cast<const char*>(at), id_size};
        const Router::Sent sent = router_->send(routing_id, {at + id_size, frame_size});
        at += id_size + frame_size;
        if (sent == Router::Sent::kFull) {
            ++replies_dropped_;
        } else if (sent == Router::Sent::kPeerGone) {
            const std::lock_guard lock{mutex_};
            if (gone_.size() < kGoneMax) {
                gone_.emplace_back(routing_id);
            }
        }
    }
    replies_going_.clear();
}

}  // namespace perfleet
