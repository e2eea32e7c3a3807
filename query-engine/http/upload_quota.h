// Limits the bytes that each client may upload in an hour.
//
// Plain values; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace perfleet {

class UploadQuota {
public:
    static constexpr std::uint64_t kWindowNs = 3'600'000'000'000;

    // 0: the client may go on; else how long its quota is used up. Only clients with a quota are remembered: the file
    // of tokens lists them, which bounds their number.
    [[nodiscard]] std::uint64_t left_ns(const std::string& client, std::uint64_t size_bytes_max, std::uint64_t now_ns) {
        Window& window = windows_[client];
        if (window.size_bytes == 0 || now_ns - window.began_ns >= kWindowNs) {
            window = {now_ns, 0};
        }
        return window.size_bytes < size_bytes_max ? 0 : window.began_ns + kWindowNs - now_ns;
    }
    void count(const std::string& client, std::uint64_t size_bytes) {
        if (const auto window = windows_.find(client); window != windows_.end()) {
            window->second.size_bytes += size_bytes;
        }
    }

private:
    struct Window {
        std::uint64_t began_ns = 0;  // the first upload
        std::uint64_t size_bytes = 0;
    };
    std::map<std::string, Window> windows_;
};

}  // namespace perfleet
