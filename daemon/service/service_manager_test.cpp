#include "daemon/service/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace perfleet {
namespace {

TEST(ServiceManager, SaysReadyAndStoppingToTheSocketOfTheEnvironment) {
    const int receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(receiver, 0);
    const std::string name = "@perfleet-service-test-" + std::to_string(getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size() - 1, 1);
    ASSERT_EQ(bind(receiver, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    ASSERT_EQ(setenv("NOTIFY_SOCKET", name.c_str(), 1), 0);
    const ServiceManager manager = ServiceManager::from_environment();
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);  // not for children
    manager.say_ready();
    manager.say_stopping();
    std::array<char, 64> buffer{};
    for (const std::string expected : {"READY=1", "STOPPING=1"}) {
        const ssize_t size = recv(receiver, buffer.data(), buffer.size(), MSG_DONTWAIT);
        ASSERT_GT(size, 0);
        EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(size)), expected);
    }
    close(receiver);
}

TEST(ServiceManager, WithoutOneNothingHappens) {
    unsetenv("NOTIFY_SOCKET");
    ServiceManager::from_environment().say_ready();
    ASSERT_EQ(setenv("NOTIFY_SOCKET", std::string(500, 'x').c_str(), 1), 0);
    ServiceManager::from_environment().say_ready();
    ASSERT_EQ(setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1), 0);
    ServiceManager::from_environment().say_ready();
}

}  // namespace
}  // namespace perfleet
