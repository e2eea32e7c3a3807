// Local sockets to which targets connect.
#pragma once

#include <string>

#include "schemas/vocabulary/error.h"
#include "tools/perfleet/relay/descriptor_stream.h"

namespace perfleet {

class Listener {
public:
    // `tcp://127.0.0.1:PORT`, `tcp://[::1]:PORT` (`*`: a free port) or `ipc://PATH`; no other addresses, because
    // clients show no key. Errors: kUsage, kBusy (another program listens there), and those of errno; all name the
    // endpoint.
    [[nodiscard]] static Result<Listener> bind(const std::string& endpoint);
    Listener(Listener&&) = default;
    Listener& operator=(Listener&&) = delete;
    ~Listener();

    // With the port.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    [[nodiscard]] int descriptor() const { return socket_.get(); }

    // The next connection; descriptor -1 if there is none, and errno says why.
    [[nodiscard]] FileDescriptor accept() const;

private:
    Listener(FileDescriptor socket, std::string endpoint, std::string path)
        : socket_{std::move(socket)}, endpoint_{std::move(endpoint)}, path_{std::move(path)} {}

    FileDescriptor socket_;
    std::string endpoint_;
    std::string path_;  // of a Unix socket; removed by the destructor
};

}  // namespace perfleet
