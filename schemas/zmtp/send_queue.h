// Frames on their way to one peer: what the kernel doesn't take at once waits in its order. The owner bounds it, by
// count() and size_bytes(). One thread.
#pragma once

#include <cstddef>
#include <list>
#include <string>

namespace perfleet::zmtp {

class SendQueue {
public:
    // Whole frames: a part of one is never left out.
    void push(std::string frames);
    // As much as `fd` takes now; it doesn't block. False: the peer is gone.
    [[nodiscard]] bool write_to(int fd);

    [[nodiscard]] bool is_empty() const { return waiting_.empty(); }
    [[nodiscard]] std::size_t count() const { return waiting_.size(); }
    // With their places in the list.
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

private:
    std::list<std::string> waiting_;
    std::size_t sent_size_bytes_ = 0;  // of the first one
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet::zmtp
