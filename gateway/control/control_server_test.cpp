#include "gateway/control/control_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gateway/control/control_socket.h"

namespace perfleet {
namespace {

constexpr int kTimeoutMs = 60'000;

class ControlServerTest : public testing::Test {
protected:
    ControlServerTest() {
        std::string path = (std::filesystem::temp_directory_path() / "perfleet-door-XXXXXX").string();
        // Deeper than a socket's address is long.
        folder_ = std::filesystem::path{mkdtemp(path.data())};
        below_ = folder_ / std::string(100, 'a') / std::string(100, 'b');
        std::filesystem::create_directories(below_);
        open();
    }
    ~ControlServerTest() override { std::filesystem::remove_all(folder_); }

    void open() {
        auto control_server = ControlServer::open(below_.string());
        ASSERT_TRUE(control_server.ok()) << control_server.error().message;
        control_server_ = std::move(*control_server);
    }

    int connect() {
        auto fd = connect_control_socket(below_.string());
        EXPECT_TRUE(fd.ok());
        operators_.push_back(fd.ok() ? std::move(*fd) : FileDescriptor{});
        return operators_.back().get();
    }

    static void say(int fd, const std::string& line) {
        EXPECT_EQ(send(fd, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
    }
    static void order(int fd, std::uint32_t id) {
        say(fd, encode_operator_request({id, {{1, 2}, protocol::ControlCommand::kStop, "", 0, 1}}));
    }

    // What comes in until there are so many requests and withdrawals.
    ControlServer::Incoming take(std::size_t requests, std::size_t withdrawn = 0) {
        ControlServer::Incoming all;
        while (all.requests.size() < requests || all.withdrawn.size() < withdrawn) {
            pollfd waiting{control_server_->fd(), POLLIN, 0};
            if (poll(&waiting, 1, kTimeoutMs) != 1) {
                ADD_FAILURE() << "nothing came";
                break;
            }
            ControlServer::Incoming some = control_server_->take();
            all.requests.insert(all.requests.end(), some.requests.begin(), some.requests.end());
            all.withdrawn.insert(all.withdrawn.end(), some.withdrawn.begin(), some.withdrawn.end());
        }
        return all;
    }

    // The next packet; nothing: the other end has hung up.
    static std::optional<OperatorReply> reply(int fd) {
        std::array<char, kOperatorMessageSizeBytesMax> line{};
        const ssize_t size = recv(fd, line.data(), line.size(), 0);
        if (size <= 0) {
            return std::nullopt;
        }
        const auto read = decode_operator_reply({line.data(), static_cast<std::size_t>(size)});
        EXPECT_TRUE(read.ok());
        return read.ok() ? std::optional{*read} : std::nullopt;
    }

    std::filesystem::path folder_;
    std::filesystem::path below_;
    std::unique_ptr<ControlServer> control_server_;
    std::vector<FileDescriptor> operators_;
};

TEST_F(ControlServerTest, PassesOrdersInAndEachAnswerToItsOperator) {
    const int one = connect();
    const int other = connect();
    order(one, 5);
    order(other, 5);
    const auto incoming = take(2);
    ASSERT_EQ(incoming.requests.size(), 2U);
    EXPECT_NE(incoming.requests[0].first, incoming.requests[1].first);
    EXPECT_EQ(incoming.requests[0].second.session, (SessionId{1, 2}));
    control_server_->answer(incoming.requests[1].first, RequestOutcome::kRefused, "why");
    control_server_->answer(incoming.requests[0].first, RequestOutcome::kApplied, "");
    control_server_->answer(999, RequestOutcome::kApplied, "");
    const auto first = reply(one);
    const auto second = reply(other);
    ASSERT_TRUE(first.has_value() && second.has_value());
    EXPECT_EQ(first->id, 5U);
    EXPECT_NE(first->outcome, second->outcome);
}

TEST_F(ControlServerTest, IsForItsOwnUserAlone) {
    struct stat status {};
    ASSERT_EQ(stat((below_ / kControlSocketName).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    control_server_.reset();
    EXPECT_FALSE(std::filesystem::exists(below_ / kControlSocketName));
    const auto gone = connect_control_socket(below_.string());
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

// As another user of this machine: refused by the file's mode, and by the kernel's credentials when the mode is open.
TEST_F(ControlServerTest, ListensToNobodyElseWhateverTheFilesMode) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "becomes another user, which root alone can";
    }
    constexpr uid_t kNobody = 65'534;
    for (std::filesystem::path part = below_; part != folder_.parent_path(); part = part.parent_path()) {
        std::filesystem::permissions(part, std::filesystem::perms{0755});
    }
    const std::string folder = below_.string();
    const auto try_as_nobody = [&] {
        const pid_t child = fork();
        if (child == 0) {
            if (setresuid(kNobody, kNobody, kNobody) != 0) {
                _exit(9);
            }
            const auto fd = connect_control_socket(folder);
            if (!fd.ok()) {
                _exit(fd.error().code == ErrorCode::kPermission ? 1 : 8);
            }
            alarm(kTimeoutMs / 1'000);  // an accepted client would wait forever
            char byte = 0;
            _exit(recv(fd->get(), &byte, 1, 0) == 0 ? 2 : 3);
        }
        return child;
    };
    const auto status_of = [](pid_t child) {
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    EXPECT_EQ(status_of(try_as_nobody()), 1) << "refused";
    std::filesystem::permissions(below_ / kControlSocketName, std::filesystem::perms{0666});
    const pid_t child = try_as_nobody();
    pollfd waiting{control_server_->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&waiting, 1, kTimeoutMs), 1);
    EXPECT_TRUE(control_server_->take().requests.empty());
    EXPECT_EQ(status_of(child), 2) << "let in by the file, shown out by the door";
}

TEST_F(ControlServerTest, TakesThePlaceOfOneThatWasKilled) {
    // As a kill leaves it: a file without a listener.
    control_server_.reset();
    ASSERT_TRUE(listen_control_socket(below_.string()).ok());
    EXPECT_EQ(connect_control_socket(below_.string()).error().code, ErrorCode::kNotFound);
    open();
    const int fd = connect();
    order(fd, 1);
    EXPECT_EQ(take(1).requests.size(), 1U);
}

TEST_F(ControlServerTest, WithdrawsWhatAnOperatorLeavesBehind) {
    const int fd = connect();
    order(fd, 1);
    order(fd, 2);
    const auto incoming = take(2);
    operators_.pop_back();
    const auto gone = take(0, 2);
    EXPECT_EQ(gone.withdrawn.size(), 2U);
    control_server_->answer(incoming.requests[0].first, RequestOutcome::kApplied, "");  // too late, and no harm
}

TEST_F(ControlServerTest, ShowsOutWhoSaysWhatIsNotUnderstood) {
    const int fd = connect();
    order(fd, 1);
    say(fd, "delete everything");
    const auto incoming = take(1, 1);
    EXPECT_EQ(incoming.withdrawn.size(), 1U);
    EXPECT_FALSE(reply(fd).has_value());
    const int next = connect();
    order(next, 1);
    EXPECT_EQ(take(1).requests.size(), 1U) << "others are served";
}

TEST_F(ControlServerTest, LeavesInTheSocketWhatIsMoreThanOneMayHaveUnderWay) {
    const int fd = connect();
    for (std::uint32_t id = 0; id < ControlServer::kUnansweredMax + 10; ++id) {
        order(fd, id);
    }
    auto incoming = take(ControlServer::kUnansweredMax);
    EXPECT_EQ(incoming.requests.size(), ControlServer::kUnansweredMax);
    EXPECT_TRUE(control_server_->take().requests.empty());
    pollfd waiting{control_server_->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 0), 0) << "it would be looked at again and again";
    for (const auto& [ticket, order] : incoming.requests) {
        control_server_->answer(ticket, RequestOutcome::kApplied, "");
    }
    EXPECT_EQ(take(10).requests.size(), 10U);
    for (std::uint32_t id = 0; id < ControlServer::kUnansweredMax; ++id) {
        EXPECT_EQ(reply(fd)->id, id);
    }
}

TEST_F(ControlServerTest, LetsInNoMoreThanItSays) {
    for (std::size_t i = 0; i < ControlServer::kOperatorsMax; ++i) {
        order(connect(), 1);
        EXPECT_EQ(take(1).requests.size(), 1U);
    }
    const int more = connect();
    (void)control_server_->take();
    EXPECT_FALSE(reply(more).has_value());
}

}  // namespace
}  // namespace perfleet
