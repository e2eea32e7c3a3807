// Local sockets that targets come in at.
#pragma once

#include <string>

#include "schemas/vocabulary/error.h"
#include "tools/perfleet/relay/descriptor_stream.h"

namespace perfleet {

class Listener {
public:
    // `tcp://127.0.0.1:PORT`, `tcp://[::1]:PORT` (`*`: a free one) or `ipc://PATH`; nowhere else, for who comes in
    // shows no key. Errors: kUsage, kBusy (another program listens there), and those of errno; all name the endpoint.
    [[nodiscard]] static Result<Listener> bind(const std::string& endpoint);
    Listener(Listener&&) = default;
    Listener& operator=(Listener&&) = delete;
    ~Listener();

    // With the port.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
    [[nodiscard]] int descriptor() const { return socket_.get(); }

    // Of who has come in; with the number -1 nobody, and errno says why.
    [[nodiscard]] FileDescriptor accept() const;

private:
    Listener(FileDescriptor socket, std::string endpoint, std::string path)
        : socket_{std::move(socket)}, endpoint_{std::move(endpoint)}, path_{std::move(path)} {}

    FileDescriptor socket_;
    std::string endpoint_;
    std::string path_;  // of a Unix socket, which is removed at the end
};

}  // namespace perfleet
