#include "schemas/peers/local_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

    static FileDescriptor bind(const LocalSocket& socket) {
        auto fd = socket.bind(SOCK_STREAM);
        EXPECT_TRUE(fd.ok()) << fd.error().message;
        return std::move(*fd);
    }
    static int connect_error(const LocalSocket& socket) { return socket.connect(SOCK_STREAM) ? 0 : errno; }

    std::string top_;
    std::string folder_;
};

TEST_F(LocalSocketTest, IsForItsUserAlone) {
    const auto socket = LocalSocket::in(folder_, "a.sock");
    ASSERT_TRUE(socket.ok()) << socket.error().message;
    FileDescriptor fd = bind(*socket);
    struct ::stat status {};
    ASSERT_EQ(::stat((folder_ + "/a.sock").c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777U, 0600U);
    fd.reset();
    socket->remove();
    EXPECT_EQ(connect_error(*socket), ENOENT);
}

TEST_F(LocalSocketTest, ReplacesOneThatWasLeft) {
    const auto socket = LocalSocket::in(folder_, "a.sock");
    ASSERT_TRUE(socket.ok());
    bind(*socket).reset();
    EXPECT_EQ(connect_error(*socket), ECONNREFUSED);
    const FileDescriptor fd = bind(*socket);
    ASSERT_EQ(::listen(fd.get(), 1), 0);
    EXPECT_EQ(connect_error(*socket), 0);
}

TEST_F(LocalSocketTest, NeedsItsFolder) {
    EXPECT_EQ(LocalSocket::in(folder_ + "/none", "a.sock").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet
