#include "schemas/peers/local_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace perfleet {
namespace {

class LocalSocketTest : public testing::Test {
protected:
    LocalSocketTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "perfleet-socket-XXXXXX").string();
        top_ = ::mkdtemp(pattern.data());
        folder_ = top_ + "/" + std::string(200, 'f');  // longer than an address has space for
        std::filesystem::create_directory(folder_);
    }
    ~LocalSocketTest() override { std::filesystem::remove_all(top_); }

    static int bind(const LocalSocket& socket) {
        const auto fd = socket.bind(SOCK_STREAM);
        EXPECT_TRUE(fd.ok()) << fd.error().message;
        return *fd;
    }

    std::string top_;
    std::string folder_;
};

TEST_F(LocalSocketTest, IsForItsUserAlone) {
    const auto socket = LocalSocket::in(folder_, "a.sock");
    ASSERT_TRUE(socket.ok()) << socket.error().message;
    const int fd = bind(*socket);
    struct ::stat status {};
    ASSERT_EQ(::stat((folder_ + "/a.sock").c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777U, 0600U);
    ::close(fd);
    socket->remove();
    EXPECT_EQ(socket->connect(SOCK_STREAM), -ENOENT);
}

TEST_F(LocalSocketTest, ReplacesOneThatWasLeft) {
    const auto socket = LocalSocket::in(folder_, "a.sock");
    ASSERT_TRUE(socket.ok());
    ::close(bind(*socket));
    EXPECT_EQ(socket->connect(SOCK_STREAM), -ECONNREFUSED);
    const int fd = bind(*socket);
    ASSERT_EQ(::listen(fd, 1), 0);
    const int client = socket->connect(SOCK_STREAM);
    EXPECT_GE(client, 0);
    ::close(client);
    ::close(fd);
}

TEST_F(LocalSocketTest, NeedsItsFolder) {
    EXPECT_EQ(LocalSocket::in(folder_ + "/none", "a.sock").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet
