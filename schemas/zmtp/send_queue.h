// Frames on their way to one peer: holds, in order, those that the kernel hasn't accepted yet. The owner bounds it, by
// count() and size_bytes(). One thread.
#pragma once

#include <cstddef>
#include <list>
#include <string>

namespace perfleet::zmtp {

class SendQueue {
public:
    // Adds whole frames: a part of one is never dropped.
    void push(std::string frames);
    // Writes as much as `fd` accepts now, without blocking. False: the peer has disconnected.
    [[nodiscard]] bool write_to(int fd);

    [[nodiscard]] bool is_empty() const { return waiting_.empty(); }
    [[nodiscard]] std::size_t count() const { return waiting_.size(); }
    // Includes the list's overhead.
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

private:
    std::list<std::string> waiting_;
    std::size_t sent_size_bytes_ = 0;  // of the first entry: bytes already sent
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet::zmtp
