// Notifies the service manager that started a daemon (systemd, Type=notify) when it is ready and when it stops. Does
// nothing if there is none ($NOTIFY_SOCKET isn't set).
//
// One thread.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

class ServiceManager {
public:
    // Removes $NOTIFY_SOCKET from the environment, so that child processes don't notify for this process.
    [[nodiscard]] static ServiceManager from_environment();

    [[nodiscard]] bool is_there() const { return !socket_.empty(); }
    void say_ready() const { send("READY=1"); }
    void say_stopping() const { send("STOPPING=1"); }

private:
    explicit ServiceManager(std::string socket) : socket_{std::move(socket)} {}
    void send(std::string_view message) const;

    std::string socket_;  // a path, or @ and an abstract name; empty: none
};

}  // namespace perfleet
