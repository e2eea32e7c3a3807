// Downloads files by build-id from the servers in DEBUGINFOD_URLS, by elfutils' libdebuginfod. It keeps them in its
// cache ($DEBUGINFOD_CACHE_PATH) and follows its other variables (DEBUGINFOD_TIMEOUT, ...).
//
// The library is loaded at the first search; without DEBUGINFOD_URLS it is never loaded and no network is used. Servers
// are untrusted: callers check the build-id of each file. Thread-safe, one download at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// Whether DEBUGINFOD_URLS names a server.
[[nodiscard]] bool has_debuginfod_urls();

class Debuginfod : NonCopyable {
public:
    static constexpr std::uint64_t kFileSizeBytesMax = 1U << 30;
    static constexpr std::chrono::seconds kTimeMax{60};  // of all downloads together

    enum class File : std::uint8_t { kDebugInfo, kExecutable };

    explicit Debuginfod(std::chrono::nanoseconds time_max = kTimeMax);
    ~Debuginfod();

    // The file's path in the cache. Errors: kNotFound (no server has it), kTooLarge, kUnavailable (time is up, no
    // server answers, the library can't be loaded); kUnavailable is returned once, then kNotFound.
    [[nodiscard]] Result<std::string> find(File file, std::string_view build_id);

private:
    class Library;

    std::mutex mutex_;
    std::unique_ptr<Library> library_;
    std::chrono::nanoseconds time_left_;
    bool has_given_up_ = false;
};

}  // namespace perfleet
