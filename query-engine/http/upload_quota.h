// What each client may upload in an hour. Counts are kept in a file, too, so that a restart doesn't reset them:
//
//   NAME BEGAN SIZE     a line a client: time of the window's first upload (ns of UTC), bytes since then
//
// The file is replaced at each upload and not synced: it survives the end of any process, not every loss of power.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

class UploadQuota {
public:
    static constexpr std::int64_t kWindowNs = 3'600 * kNsPerSecond;

    // `file`: empty: counts are in memory only. A file that can't be read or written is logged once.
    UploadQuota(std::string file, LogSink log);

    // 0: the client may go on; else how long its quota is used up. Only clients with a quota are remembered: they stand
    // in the file of tokens, which bounds their number.
    [[nodiscard]] std::int64_t left_ns(const std::string& client, std::uint64_t size_bytes_max, UtcNs now);
    void count(const std::string& client, std::uint64_t size_bytes, UtcNs now);

private:
    struct Window {
        std::int64_t began_ns = 0;  // the first upload
        std::uint64_t size_bytes = 0;
    };

    void load();
    void save();
    void report(const char* what, int error_number);

    std::string file_;
    LogSink log_;
    bool is_reported_ = false;
    std::map<std::string, Window> windows_;
};

}  // namespace perfleet
