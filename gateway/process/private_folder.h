// A folder that only this user can enter, for the socket between a gateway and its query process where the store has no
// folder. Removed with its object; a killed gateway leaves it empty but for a socket.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class PrivateFolder : NonCopyable {
public:
    // In the service's RuntimeDirectory, else in TMPDIR or /tmp. Errors: those of mkdtemp(3).
    [[nodiscard]] static Result<std::unique_ptr<PrivateFolder>> make() {
        std::string path = "/tmp";
        for (const char* const name : {"TMPDIR", "RUNTIME_DIRECTORY"}) {
            const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
            path = value == nullptr || *value == '\0' ? path : value;
        }
        path += "/perfleet-gateway-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr) {
            return error_from_errno(errno, path);
        }
        return std::unique_ptr<PrivateFolder>{new PrivateFolder{std::move(path)}};
    }
    ~PrivateFolder() { ::rmdir(path_.c_str()); }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    explicit PrivateFolder(std::string path) : path_{std::move(path)} {}

    std::string path_;
};

}  // namespace perfleet
