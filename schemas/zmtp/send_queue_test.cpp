#include "schemas/zmtp/send_queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace perfleet::zmtp {
namespace {

class ZmtpSendQueue : public testing::Test {
protected:
    ZmtpSendQueue() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds_.data()), 0); }
    ~ZmtpSendQueue() override {
        for (const int fd : fds_) {
            ::close(fd);
        }
    }
    [[nodiscard]] std::string read(std::size_t size_bytes_max) const {
        std::string bytes(size_bytes_max, '\0');
        const ssize_t got = ::recv(fds_[1], bytes.data(), bytes.size(), MSG_DONTWAIT);
        bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return bytes;
    }

    std::array<int, 2> fds_{};
    SendQueue queue_;
};

TEST_F(ZmtpSendQueue, FramesWaitInTheirOrderAndGiveBackTheirSpaceOneByOne) {
    std::string all;
    for (char letter = 'a'; letter <= 'e'; ++letter) {
        queue_.push(std::string(100'000, letter));
        all += std::string(100'000, letter);
    }
    EXPECT_EQ(queue_.count(), 5U);
    EXPECT_GE(queue_.size_bytes(), 500'000U);
    std::string seen;
    std::size_t before_bytes = queue_.size_bytes();
    while (seen.size() < all.size()) {
        ASSERT_TRUE(queue_.write_to(fds_[0]));
        EXPECT_LE(queue_.size_bytes(), before_bytes);
        EXPECT_EQ(queue_.is_empty(), queue_.size_bytes() == 0);
        before_bytes = queue_.size_bytes();
        seen += read(70'000);
    }
    EXPECT_EQ(seen, all);
    EXPECT_TRUE(queue_.is_empty());
}

TEST_F(ZmtpSendQueue, SaysThatThePeerIsGone) {
    ::shutdown(fds_[1], SHUT_RDWR);
    queue_.push("nobody");
    EXPECT_FALSE(queue_.write_to(fds_[0]));
}

}  // namespace
}  // namespace perfleet::zmtp
