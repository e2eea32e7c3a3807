// A Unix socket in a folder, for processes of the folder's user: the name of a folder may be longer than an address has
// space for, so the socket is reached through the folder's descriptor.
//
// A resource: holds the folder open, and path() and endpoint() are good in this process as long as it lives.
#pragma once

#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Where the process that writes to a store takes what other processes of this machine record into it.
inline constexpr std::string_view kGatewaySocketName = "gateway.sock";

class LocalSocket {
public:
    // Errors name the folder: kNotFound, kPermission.
    [[nodiscard]] static Result<LocalSocket> in(const std::string& folder, std::string_view name);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string endpoint() const { return "ipc://" + path_; }

    // A socket of mode 0600 that doesn't listen yet, so nobody connects before the mode is set. It replaces what a
    // killed process has left: only for whoever has the store for itself. `type` as of socket(2); close-on-exec.
    [[nodiscard]] Result<FileDescriptor> bind(int type) const;
    // Empty: errno says why.
    [[nodiscard]] FileDescriptor connect(int type) const;
    void remove() const;

private:
    LocalSocket(FileDescriptor folder, std::string named, std::string_view name);

    FileDescriptor folder_;
    std::string named_;  // as the user knows it
    std::string path_;
};

}  // namespace perfleet
