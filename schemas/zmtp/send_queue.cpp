#include "schemas/zmtp/send_queue.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace perfleet::zmtp {
namespace {

std::size_t size_of(const std::string& frames) {
    constexpr std::size_t kPlaceSizeBytes = 64;
    return frames.capacity() + kPlaceSizeBytes;
}

}  // namespace

void SendQueue::push(std::string frames) {
    size_bytes_ += size_of(frames);
    waiting_.push_back(std::move(frames));
}

bool SendQueue::write_to(int fd) {
    while (!waiting_.empty()) {
        const std::string& first = waiting_.front();
        const ssize_t sent =
            ::send(fd, first.data() + sent_size_bytes_, first.size() - sent_size_bytes_, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return errno == EAGAIN;
        }
        sent_size_bytes_ += static_cast<std::size_t>(sent);
        if (sent_size_bytes_ == first.size()) {
            size_bytes_ -= size_of(first);
            sent_size_bytes_ = 0;
            waiting_.pop_front();
        }
    }
    return true;
}

}  // namespace perfleet::zmtp
