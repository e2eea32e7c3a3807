// Files from the servers that DEBUGINFOD_URLS names, by build-id, through elfutils' libdebuginfod: it keeps them in its
// cache ($DEBUGINFOD_CACHE_PATH) and follows its other variables (DEBUGINFOD_TIMEOUT, ...).
//
// The library is loaded when a file is first looked for; where the variable isn't set, never, and no network is used.
// Servers are not trusted: whoever opens the file checks its build-id. Thread-safe, one download at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// DEBUGINFOD_URLS names a server.
[[nodiscard]] bool has_debuginfod_urls();

class Debuginfod {
public:
    static constexpr std::uint64_t kFileSizeBytesMax = 1U << 30;
    static constexpr std::chrono::seconds kTimeMax{60};  // of all downloads together

    enum class File : std::uint8_t { kDebugInfo, kExecutable };

    explicit Debuginfod(std::chrono::nanoseconds time_max = kTimeMax);
    ~Debuginfod();
    Debuginfod(const Debuginfod&) = delete;
    Debuginfod& operator=(const Debuginfod&) = delete;

    // Where the file lies in the cache. Errors: kNotFound (no server has it), kTooLarge, kUnavailable (the time is
    // over, no server answers, the library can't be loaded): once, then kNotFound.
    [[nodiscard]] Result<std::string> find(File file, std::string_view build_id);

private:
    class Library;

    std::mutex mutex_;
    std::unique_ptr<Library> library_;
    std::chrono::nanoseconds time_left_;
    bool has_given_up_ = false;
};

}  // namespace perfleet
