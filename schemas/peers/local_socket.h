// A Unix socket in a folder, for processes of the folder's user. The folder's path may be too long for a socket
// address, so the socket is reached through the folder's descriptor.
//
// Holds the folder open: path() and endpoint() are valid in this process while it lives.
#pragma once

#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// The socket on which a store's writer receives recordings of other processes on this machine.
inline constexpr std::string_view kGatewaySocketName = "gateway.sock";

class LocalSocket {
public:
    // Errors name the folder: kNotFound, kPermission.
    [[nodiscard]] static Result<LocalSocket> in(const std::string& folder, std::string_view name);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string endpoint() const { return "ipc://" + path_; }

    // Binds a socket of mode 0600 that doesn't listen yet, so that nobody connects before the mode is set. Replaces the
    // socket of a killed process: the caller must hold the store's lock. `type` as of socket(2); close-on-exec.
    [[nodiscard]] Result<FileDescriptor> bind(int type) const;
    // Empty: errno says why.
    [[nodiscard]] FileDescriptor connect(int type) const;
    void remove() const;

private:
    LocalSocket(FileDescriptor folder, std::string named, std::string_view name);

    FileDescriptor folder_;
    std::string named_;  // the path that the user knows
    std::string path_;
};

}  // namespace perfleet
