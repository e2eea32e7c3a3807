#include "query-engine/http/upload_quota.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::size_t kFileSizeBytesMax = 2U << 20;  // more than all clients that a file of tokens can name

}  // namespace

UploadQuota::UploadQuota(std::string file, LogSink log) : file_{std::move(file)}, log_{std::move(log)} { load(); }

std::int64_t UploadQuota::left_ns(const std::string& client, std::uint64_t size_bytes_max, UtcNs now) {
    Window& window = windows_[client];
    if (window.size_bytes == 0 || now.value - window.began_ns >= kWindowNs) {
        window = {now.value, 0};
    }
    window.began_ns = std::min(window.began_ns, now.value);  // else a clock that was set back would extend it
    return window.size_bytes < size_bytes_max ? 0 : window.began_ns + kWindowNs - now.value;
}

void UploadQuota::count(const std::string& client, std::uint64_t size_bytes, UtcNs now) {
    if (const auto window = windows_.find(client); window != windows_.end() && size_bytes > 0) {
        window->second.size_bytes += size_bytes;
        std::erase_if(windows_, [&](const auto& one) { return now.value - one.second.began_ns >= kWindowNs; });
        save();
    }
}

void UploadQuota::load() {
    if (file_.empty()) {
        return;
    }
    const FileDescriptor file{::open(file_.c_str(), O_RDONLY | O_CLOEXEC)};
    const auto text = file ? read_rest(file.get(), kFileSizeBytesMax) : std::nullopt;
    if (!text) {
        return errno == ENOENT ? void() : report("reading", errno);
    }
    for (std::string_view rest = *text; !rest.empty();) {
        std::string_view line = take_part(rest, '\n');
        const std::string_view name = take_part(line, ' ');
        const auto began_ns = number_of<std::int64_t>(take_part(line, ' '));
        if (const auto size_bytes = number_of<std::uint64_t>(line); began_ns && size_bytes && *began_ns >= 0) {
            windows_[std::string{name}] = {*began_ns, *size_bytes};
        }
    }
}

void UploadQuota::save() {
    if (file_.empty()) {
        return;
    }
    std::string text;
    for (const auto& [client, window] : windows_) {
        text += client + ' ' + std::to_string(window.began_ns) + ' ' + std::to_string(window.size_bytes) + '\n';
    }
    const std::string next = file_ + ".new";
    const FileDescriptor file{::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!file || !write_all(file.get(), std::as_bytes(std::span{text})) ||
        std::rename(next.c_str(), file_.c_str()) != 0) {
        return report("writing", errno);
    }
    is_reported_ = false;
}

void UploadQuota::report(const char* what, int error_number) {
    if (!std::exchange(is_reported_, true)) {
        log_({LogLevel::kWarning, "http_quota",
              "quotas of clients are counted from 0 after a restart: " + std::string{what} + " " + file_ + ": " +
                  std::strerror(error_number)});
    }
}

}  // namespace perfleet
