// What a daemon tells the service manager that started it (systemd, Type=notify): that it is ready, that it stops.
// Without one ($NOTIFY_SOCKET isn't set) nothing happens.
//
// One thread.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

class ServiceManager {
public:
    // Takes $NOTIFY_SOCKET out of the environment, so that children don't speak for this process.
    [[nodiscard]] static ServiceManager from_environment();

    [[nodiscard]] bool is_there() const { return !socket_.empty(); }
    void say_ready() const { send("READY=1"); }
    void say_stopping() const { send("STOPPING=1"); }

private:
    explicit ServiceManager(std::string socket) : socket_{std::move(socket)} {}
    void send(std::string_view message) const;

    std::string socket_;  // a path, or @ and an abstract name; empty: nobody listens
};

}  // namespace perfleet
